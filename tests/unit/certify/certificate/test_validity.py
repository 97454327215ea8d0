"""Certificates that anyone may have written, under a seal that fits: a verdict or a refusal, never a false proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from command import call
from hostile_certificates import (
    CASES,
    VALUES,
    Case,
    Place,
    changed,
    judge,
    of_network,
    of_theorem_1,
    places,
    sealed,
)
from integraph.certify.certificate import sealed_document, tree, validity
from integraph.certify.certificate.certificate import Certificate, parse
from integraph.certify.certificate.tree import Leaf, Split
from integraph.certify.problem import Box
from integraph.errors import FileError
from law import examples
from slow import mostly_slow


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_field_of_every_kind(case: Callable[[], Case], tmp_path: Path) -> None:
    """Every field with every odd value, and every number of the first nodes."""
    found = case()
    document = found[2]
    judge(found, sealed(document), tmp_path / "proof.json")
    for path in places(document):
        if not path or path[0] == "seal" or (path[0] == "tree" and len(path) > 1 and path[1] > 2):
            continue
        few = VALUES if len(path) == 1 else VALUES[::7]
        for value in few:
            judge(found, sealed(changed(document, path, "is", value)), tmp_path / "proof.json")
        for change in ("lost", "twice", "more", "less", "backwards"):
            judge(found, sealed(changed(document, path, change, None)), tmp_path / "proof.json")


@mostly_slow("case", CASES, quick=1)
def test_several_changes_at_once(case: Callable[[], Case], tmp_path: Path) -> None:
    found = case()
    all_places = [path for path in places(found[2]) if path and path[0] not in ("format", "version", "seal", "assumed")]
    change = st.tuples(
        st.sampled_from(all_places),
        st.sampled_from(["is", "lost", "twice", "more", "less", "more", "less", "backwards"]),
        st.sampled_from(VALUES) | st.tuples(st.integers(-(2**53), 2**53), st.integers(-1100, 1100)).map(list),
    )

    @given(st.lists(change, min_size=1, max_size=4))
    @examples(150)
    def holds(changes: list[tuple[Place, str, Any]]) -> None:
        document = found[2]
        for path, kind, value in changes:
            try:
                document = changed(document, path, kind, value)
            except (KeyError, IndexError, TypeError):  # it is no longer there
                continue
        judge(found, sealed(document), tmp_path / "proof.json")

    holds()


ENDS = [0.0, 1.0, -1.0, 0.5, 2.0, 0.25, -0.3, 0.3, math.nextafter(0.3, 1), 100.0, 1e16, 1e-200, 5e-324, 1e300, -1e308]
BITS = [2, 3, 20, 53, 64, 64, 64, 128, 192, 4096]


def _divided(box: Box, depth: int, scale: float, random: Random) -> tuple[Split | Leaf, ...]:
    axis = random.randrange(len(box.low))
    low, high, share = box.low[axis], box.high[axis], random.random()
    at = low * (1 - share) + high * share
    if depth and random.random() < 0.6 and low < at < high:
        halves = box.split(axis, at)
        return (Split(axis, at), *(node for half in halves for node in _divided(half, depth - 1, scale, random)))
    bounds = [0.0, 1e-300, 0.5 * scale, 0.9 * scale, scale, scale, 2 * scale, 10 * scale, 1.0, math.inf]
    return (Leaf(random.choice(BITS), (random.choice(bounds),)),)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_claims_that_only_computing_can_tell_from_true_ones(case: Callable[[], Case], tmp_path: Path) -> None:
    """Other boxes, other divisions, other bounds, other points, other bits; all of it well formed."""
    found = case()
    upper = math.ldexp(*found[2]["upper"])
    judged = parse(sealed(found[2]))

    @given(st.randoms(use_true_random=False))
    @examples(120)
    def holds(random: Random) -> None:
        ends = [sorted(random.sample(ENDS, 2)) if random.random() < 0.5 else [0.0, 1.0] for _ in judged.box.low]
        box = Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))
        parts = _divided(box, random.randrange(5), upper, random)
        highest = max(node.uppers[0] for node in parts if isinstance(node, Leaf))
        lower = min(highest, random.choice([0.0, 5e-324, 0.1 * upper, judged.lower, 1.0, 1e308]))
        point = None if lower == 0 else random.choice([box.low, box.centre, box.high])
        eps = random.choice([None, 0.0, upper, 1.0, 1e308])
        made = replace(judged, box=box, eps=eps, upper=highest, lower=lower, point=point, tree=parts).sealed()
        judge(found, str(made).encode(), tmp_path / "proof.json")

    holds()


@pytest.mark.parametrize("field", ["low", "high"])
@pytest.mark.parametrize("ends", [[], [[0, 0]], [[0, 0]] * 3, [[0, 0], "infinite"], None])
def test_a_box_with_missing_ends_is_refused_by_the_command(field: str, ends: Any, tmp_path: Path) -> None:
    program, _, document = of_theorem_1()
    file, proof = tmp_path / "wave.integraph", tmp_path / "proof.json"
    program.save(file)
    proof.write_bytes(sealed({**document, field: ends}))
    said = call("check", proof, file)
    assert said.code == 2
    assert "cannot read the certificate" in said.err


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_the_command_has_a_verdict_or_an_error_for_every_assumption(value: Any, tmp_path: Path) -> None:
    program, _, document = of_theorem_1()
    file, proof = tmp_path / "wave.integraph", tmp_path / "proof.json"
    program.save(file)
    proof.write_bytes(sealed({**document, "assumed": [value]}))
    said = call("check", proof, file)
    assert said.code in (1, 2)
    assert "\x1b" not in said.out + said.err
    assert "assumed: " not in said.out


UNUSUAL: dict[str, Callable[[Certificate], Certificate]] = {
    "no box": lambda c: replace(c, box=None),  # type: ignore[arg-type]
    "too few ends": lambda c: replace(c, box=Box(c.box.low, c.box.high[:1])),
    "ends that are no numbers": lambda c: replace(c, box=Box(("0", "1"), c.box.high)),  # type: ignore[arg-type]
    "an end beyond float64": lambda c: replace(c, box=Box(c.box.low, (10**400, 1.0))),  # type: ignore[arg-type]
    "NaN in the box": lambda c: replace(c, box=Box((math.nan, 0.0), c.box.high)),
    "NaN above": lambda c: replace(c, upper=math.nan),
    "NaN below": lambda c: replace(c, lower=math.nan),
    "NaN asked": lambda c: replace(c, eps=math.nan),
    "NaN in a leaf": lambda c: replace(c, tree=(Leaf(64, (math.nan,)),)),
    "NaN in a split": lambda c: replace(c, tree=(Split(0, math.nan), *c.tree)),
    "no point": lambda c: replace(c, point=("a", None)),  # type: ignore[arg-type]
    "no texts": lambda c: replace(c, program=None, assumed=(1,)),  # type: ignore[arg-type]
    "no tree": lambda c: replace(c, tree=None),  # type: ignore[arg-type]
    "a tree of something else": lambda c: replace(c, tree=("leaf",)),  # type: ignore[arg-type]
    "bits that are no number": lambda c: replace(c, tree=(Leaf("64", (1.0,)),)),  # type: ignore[arg-type]
    "absurdly many bits": lambda c: replace(c, tree=(Leaf(10**5000, (1.0,)),)),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_certificate_made_by_hand_has_a_verdict(name: str) -> None:
    program, source, document = of_network()
    found = parse(sealed(document))
    made = UNUSUAL[name](found)
    checked = integraph.check(made, program, source)
    assert not checked
    assert checked.status == "unknown"
    assert checked.reason
    assert repr(checked)
    assert "unknown" in made._repr_html_()


def test_a_tree_too_deep_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "WAITING", 100)
    cuts = [1.0]
    while len(cuts) < 101:
        cuts.append(cuts[-1] / 2)
    deep = (*(Split(0, at) for at in cuts[1:]), *(Leaf(64, (1.0,)) for _ in cuts))
    found = parse(sealed(of_network()[2]))
    made = replace(found, tree=deep, upper=1.0, point=None, lower=0.0)
    assert "divisions deep" in validity.fault(made)
    monkeypatch.undo()
    assert validity.fault(made) == ""


def test_more_than_can_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse(sealed(of_network()[2]))
    found.save(tmp_path / "proof.json")
    monkeypatch.setattr(sealed_document, "LARGEST", 100)
    with pytest.raises(FileError, match="more than the limit of 100"):
        found.save(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()
    with pytest.raises(FileError, match="more than the limit of 100"):
        integraph.Certificate.load(tmp_path / "proof.json")
