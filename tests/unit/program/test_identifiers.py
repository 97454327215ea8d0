"""Names of registers: identifiers in every language, each once whatever the case, the same after a round trip."""

from __future__ import annotations

import keyword
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import integraph
from integraph import Registers, load
from integraph.program.document import Limits, decode
from integraph.program.schema import encode

# C17, Modelica 3.6 and the functions that SBML's infix formulas know, as their standards list them
C = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
""".split()  # noqa: SIM905
MODELICA = """
algorithm and annotation block break class connect connector constant constrainedby der discrete each else elseif
elsewhen encapsulated end enumeration equation expandable extends external false final flow for function if import
impure in initial inner input loop model not operator or outer output package parameter partial protected public
pure record redeclare replaceable return stream then true type when while within
""".split()  # noqa: SIM905
SBML = """
abs acos asin atan ceil cos cosh delay exp floor ln log max min pi piecewise pow sin sqrt tan tanh time
""".split()  # noqa: SIM905
KEYWORDS = {word.lower() for word in [*keyword.kwlist, *C, *MODELICA, *SBML]}

NAMES = st.one_of(
    st.sampled_from(["x", "X", "x1", "x1_1", "x_1", "mu", "Mu", "mu2", "t", "z", "z1", "zb", "p(1+x*y)", "[x*y]"]),
    st.sampled_from(sorted(KEYWORDS)),
    st.text(min_size=1, max_size=20),
    st.from_regex(r"[a-c][a-c0-3]?(_[1-3])?", fullmatch=True),
)  # fmt: skip
SHAPES = st.lists(st.integers(1, 3), max_size=2).map(tuple)


def all_names(registers: Registers) -> list[str]:
    return [registers.name(n) for n in range(registers.width)]


def check(registers: Registers) -> None:
    names = all_names(registers)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) for name in names)
    assert not KEYWORDS.intersection(name.lower() for name in names)
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(NAMES, SHAPES, st.booleans()), max_size=12, unique_by=lambda row: row[0]))
def test_any_names(groups: list[tuple[str, tuple[int, ...], bool]]) -> None:
    registers = Registers()
    for name, shape, numbered in groups:
        letters = re.match("[a-z]{1,3}", name)
        if numbered and letters:
            registers.numbered(letters[0], *shape)
        else:
            registers.new(name, *shape)
    check(registers)
    twice = registers.copy()
    twice.extend(registers)
    check(twice)
    again = Registers()
    for group in registers:
        again.new(group.name, *group.view.shape, label=group.label)
    assert all_names(again) == all_names(registers), "names that were given are kept"
    assert [group.label for group in again] == [group.label for group in registers]


def test_names_are_as_short_as_they_are_meant() -> None:
    r = Registers()
    r.inputs("x", 2)
    r.new("mu", 3)
    r.new("lam", 2, 2)
    r.new("one")
    r.numbered("u", label="sin(x)")
    r.numbered("u", 2)
    r.new("lambda")
    r.new("p(1+x*y)")
    assert all_names(r) == (
        "x1 x2 mu1 mu2 mu3 lam1_1 lam1_2 lam2_1 lam2_2 one u1 u2_1 u2_2 lambda1 p1".split()  # noqa: SIM905
    )
    assert r["p(1+x*y)"] == r["p1"]
    assert r["sin(x)"] == r["u1"]


def test_names_are_endless() -> None:
    one = Registers()
    for name in ("mu", "a_name_of_letters"[:16]):
        one.new(name, 2)
    one.numbered("u", 2)
    r = one.copy()
    for _ in range(999):
        r.extend(one)
    groups = [group.name for group in r]
    assert len(set(groups)) == 3000
    assert max(map(len, groups)) <= 16
    assert groups[:100:33] == ["mu", "mul", "muw", "muah"]
    for array in ("w", "wz", "wzz"):
        r.new(array, 2)
    assert r.name(r.numbered("w").offset) == "wzzz1"
    check(r)


def test_inputs_keep_their_names() -> None:
    assert all_names(integraph.compile("speed*sin(a_1)").registers)[:2] == ["a_1", "speed"]
    assert all_names(integraph.compile("exp(-s*v)", 1e-2, method="lean").registers)[:2] == ["s", "v"]
    named = Registers()
    named.inputs("petal length (cm)")
    named.inputs("t")
    assert [(group.name, group.label) for group in named] == [("x1", "petal length (cm)"), ("t1", "t")]


def test_a_round_trip(path: Path) -> None:
    program = integraph.compile("sin(3*x)*exp(-y)/(1+x*y)")
    program.save(path)
    groups = [(group.name, group.label) for group in program.registers]
    assert groups == [
        ("x", ""), ("y", ""), ("p1", "1+x*y"), ("v1", "sin(3*x)*exp(-y)/(1+x*y)"), ("u1", "sin(3*x)*exp(-y)/(1+x*y)"),
    ]  # fmt: skip
    assert [(group.name, group.label) for group in load(path).registers] == groups
    assert load(path).describe() == program.describe()


def test_long_names_of_old_files_become_labels() -> None:
    """A document as version 0.1 wrote it: pairs of a long name and a shape."""
    program = integraph.compile("sin(3*x)*exp(-y)/(1+x*y)")
    document, tensors = encode(program)
    old = ["x", "y", "p(1+x*y)", "v(sin(3*x)*exp(-y)/(1+x*y))", "[x*y] #2"]
    document["registers"] = [[name, [1]] for name in old]
    loaded = decode(document, tensors, Limits(1000, 1000))
    assert all_names(loaded.registers) == ["x", "y", "p1", "v1", "z1"]
    assert [group.label for group in loaded.registers] == ["", "", *old[2:]]
    assert loaded.digest == program.digest


def test_names_say_which_registers() -> None:
    """Element by element, against numpy's own indices."""
    r = Registers()
    r.inputs("x", 5)
    view = r.new("s", 3, 4, 2)
    for place, index in enumerate(np.ndindex(3, 4, 2)):
        assert r.name(view.offset + place) == "s" + "_".join(str(n + 1) for n in index)
    assert r.names(view) == "s"
    assert r.names(view[1, 2]) == "(s2_3_1, s2_3_2)"
    assert r.names(view[:, 0, 0]) == "(s1_1_1, s2_1_1, s3_1_1)"
    assert r.names(view[0]) == "(s1_1_1, …, s1_4_2)"
    assert r.names(r["x"][None].broadcast((7, 5))) == "x", "read seven times"
    assert math.prod(view.shape) + 5 == r.width
