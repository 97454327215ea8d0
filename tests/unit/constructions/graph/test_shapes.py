"""A shape is part of every value: what is constant on the box and then moved, multiplied or summed, against numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import integraph
from integraph.bounds.ranges.propagation import ranges
from integraph.constructions.graph import forms, rules
from integraph.constructions.graph.forms import GraphForm
from integraph.errors import SpecError
from integraph.targets.graph_builder import Builder
from slow import mostly_slow

RNG = np.random.default_rng(5)
Make = Callable[[Builder, int], int]

CONSTANT: dict[str, Make] = {  # of shape (2, 3), and the same for every x of [0, 1]
    "dead relu": lambda b, x: b.apply("relu", b.apply("sub", x, b.constant(2.0))),
    "dead relu and one": lambda b, x: b.apply("add", CONSTANT["dead relu"](b, x), b.constant(1.0)),
    "x − x": lambda b, x: b.apply("sub", x, x),
    "x · 0": lambda b, x: b.apply("mul", x, b.constant(np.zeros((2, 3)))),
    "max(x, 5)": lambda b, x: b.apply("max", x, b.constant(5.0)),
    "exp(x − x)": lambda b, x: b.apply("exp", b.apply("sub", x, x)),
    "√(x + 1)/√(x + 1)": lambda b, x: b.apply("mul", b.power(_one_more(b, x), 0.5), b.power(_one_more(b, x), -0.5)),
    "x⁰": lambda b, x: b.power(x, 0),
    "norm over an axis of 1": lambda b, x: b.apply("reshape", _norm(b, b.apply("reshape", x, data=((6, 1),))),
                                                   data=((2, 3),)),
}  # fmt: skip
THEN: dict[str, Make] = {
    "nothing": lambda b, c: c,
    "halved": lambda b, c: b.apply("mul", b.constant(0.5), c),
    "times a row": lambda b, c: b.apply("mul", c, b.constant([10.0, 20.0, 30.0])),
    "times equal numbers": lambda b, c: b.apply("mul", c, b.constant(np.full((4, 2, 3), 5.0))),
    "over equal numbers": lambda b, c: b.apply("div", c, b.constant(np.full((2, 1, 3), 4.0))),
    "plus a column": lambda b, c: b.apply("add", c, b.constant([[1.0], [2.0]])),
    "transposed": lambda b, c: b.apply("transpose", c, data=(1, 0)),
    "reshaped": lambda b, c: b.apply("reshape", c, data=((3, 2),)),
    "broadcast": lambda b, c: b.apply("broadcast", c, data=((4, 2, 3),)),
    "broadcast and reshaped": lambda b, c: b.apply("reshape", THEN["broadcast"](b, c), data=((8, 3),)),
    "sliced": lambda b, c: b.apply("slice", c, data=((1, -1, 2), (0, 2, 2))),
    "taken": lambda b, c: b.apply("take", c, data=(1, (2, 2, 0, 1))),
    "summed": lambda b, c: b.apply("sum", c, data=((0,),)),
    "summed whole": lambda b, c: b.apply("sum", c, data=((0, 1),)),
    "times a matrix": lambda b, c: b.apply("matmul", c, b.constant(np.arange(12.0).reshape(3, 4))),
    "times equal matrices": lambda b, c: b.apply("matmul", c, b.constant(np.full((2, 3, 4), 2.0))),
    "beside numbers": lambda b, c: b.apply("concat", c, b.constant(np.full((2, 2), 7.0)), data=(1,)),
    "under exp": lambda b, c: b.apply("exp", c),
    "under tanh": lambda b, c: b.apply("tanh", c),
    "softmax": lambda b, c: b.softmax(c),
}


def _one_more(b: Builder, x: int) -> int:
    return b.apply("add", x, b.constant(1.0))


def _norm(b: Builder, x: int) -> int:
    mean = b.apply("reshape", b.mean(x, (1,)), data=((6, 1),))
    centred = b.apply("sub", x, mean)
    square = b.apply("reshape", b.mean(b.apply("mul", centred, centred), (1,)), data=((6, 1),))
    return b.apply("mul", centred, b.power(b.apply("add", square, b.constant(1e-5)), -0.5))


def _alone(b: Builder, x: int, c: int) -> int:
    return c


def _beside(b: Builder, x: int, c: int) -> int:
    """With something that does depend on x, in every lane."""
    return b.apply("add", c, b.apply("sum", b.apply("sin", x), data=((0, 1),)))


def _along(b: Builder, x: int, c: int) -> int:
    return b.apply("mul", c, b.apply("exp", b.apply("sum", x, data=((0, 1),))))


@mostly_slow("what", CONSTANT, quick=1)
def test_what_is_constant_on_the_box_keeps_its_shape(what: str) -> None:
    x, frees = RNG.uniform(size=(3, 6)), itertools.cycle(["keep", "clean", "decay", "keep", "decay", "clean", "clean"])
    for then, mixed in itertools.product(THEN, (_alone, _beside, _along)):
        b = Builder(f"{what}, {then}")
        given = b.input("x", (2, 3))
        graph = b.graph([mixed(b, given, THEN[then](b, CONSTANT[what](b, given)))])
        program = integraph.compile(graph, method="exact", free=next(frees))
        wanted = graph.values(x)
        assert program.outputs == wanted.shape[1], (what, then)
        assert program.budget is not None
        np.testing.assert_allclose(program(x), wanted, rtol=1e-12, atol=1e-12 + program.budget.total, err_msg=then)


def test_sums_of_products_with_what_is_constant() -> None:
    """y_j = Σ_i (relu(x_ij − 2) + 1)·c_j + Σ_i x_ij."""
    b = Builder()
    x = b.input("x", (2, 2))
    one = b.apply("add", b.apply("relu", b.apply("sub", x, b.constant(2.0))), b.constant(1.0))
    sums = [b.apply("sum", part, data=((0,),)) for part in (b.apply("mul", one, b.constant([10.0, 20.0])), x)]
    program = integraph.compile(b.graph([b.apply("add", *sums)]), method="exact")
    given = RNG.uniform(size=4)
    np.testing.assert_allclose(program(given), given.reshape(2, 2).sum(0) + [20.0, 40.0], rtol=1e-15)


@pytest.mark.parametrize("wrong", ["shape", "lanes", "constant", "register"])
def test_a_rule_that_makes_a_wrong_value_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(f: GraphForm) -> GraphForm:
        good = forms.scaled(f, -1.0)
        if wrong == "shape":
            return forms.sliced(good, (slice(0, 1), slice(None)))
        if wrong == "lanes":
            return GraphForm((3, 2), good.terms, good.b)
        if wrong == "constant":
            return replace(good, b=np.ones(2))
        return replace(good, terms=tuple(replace(term, refs=(replace(term.refs[0], offset=1),)) for term in good.terms))

    monkeypatch.setitem(rules.RULES, "neg", rules._linear(broken))
    b = Builder()
    graph = b.graph([b.apply("neg", b.input("x", (2, 3)))])
    with pytest.raises(SpecError, match="defect of Integraph"):
        rules.lower(graph, ranges(graph, np.zeros(6), np.ones(6)), None)


@pytest.mark.parametrize(
    ("formula", "good", "bad"),
    [
        ("0*ln(x)", 0.5, -0.5),
        ("ln(x) - ln(x)", 0.5, -0.5),
        ("0/x", 0.5, 0.0),
        ("0*sqrt(x)*exp(y)", 0.5, -0.5),
        ("max(asin(2*x), 5) - 5", 0.25, 0.75),
        ("0*atanh(x)", 0.5, -1.0),
        ("0*log1p(2*x)", -0.25, -0.75),
        ("sqrt(x)^0 - 1", 0.5, -0.5),
    ],
)
@pytest.mark.parametrize("engine", ["exact", "taylor", "precise"])
def test_what_cancels_still_needs_a_value(formula: str, good: float, bad: float, engine: str) -> None:
    program = integraph.compile(formula, box=(-1, 1))
    rest = [0.0] * (program.inputs - 1)
    assert program([good, *rest], engine) == 0.0
    with pytest.raises(integraph.errors.FlowError):
        program([bad, *rest], engine)


def test_what_cancels_and_has_a_value_is_not_computed() -> None:
    assert integraph.compile("0*ln(x)", box=(1, 2)).terms == 0
