"""One input without a batch and a `Flow`: the values, shapes and errors of the long way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from integraph import Program, Registers, build, compile, gadgets, segment
from integraph.errors import EscapeError, OverflowedError, UsageError
from integraph.flow.exact import engine
from integraph.flow.exact.engine import EXACT
from integraph.numbers.arrays import Floats
from integraph.program import Options
from networks import random_network

RNG = np.random.default_rng(8)


def net(activation: str) -> tuple[Program, Callable[[Floats], Floats]]:
    network = random_network((3, 40, 40, 2), activation)
    return compile(network, 1e-6), network


def scaled() -> tuple[Program, Callable[[Floats], Floats]]:
    program, network = net("tanh")
    return program.rescale_states(2.0), lambda x: network(2.0 * x)


def formula() -> tuple[Program, Callable[[Floats], Floats]]:
    text = "exp(-x*y)/(1 + z^2)"
    return compile(text, box=[(0, 1)] * 3), lambda x: (np.exp(-x[:, 0] * x[:, 1]) / (1 + x[:, 2] ** 2))[:, None]


PROGRAMS = {"formula": formula, "scaled": scaled} | {name: partial(net, name) for name in ("tanh", "relu", "gelu")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_point_as_in_a_batch(name: str) -> None:
    program, source = PROGRAMS[name]()
    x = RNG.uniform(size=(7, 3))
    values = [program(point) for point in x]
    assert np.abs(np.array(values) - source(x)).max() < 1e-6
    for point, value in zip(x, values, strict=True):
        alone = EXACT.run(program, point[None], Options()).outputs
        assert np.array_equal(value, alone[0])
        assert np.array_equal(program(point[None]), alone)
        assert np.array_equal(program(point.tolist()), value)


def test_shapes() -> None:
    program = compile("x/(2 + x)", box=(0, 1))
    for given, shape in (
        (0.5, (1,)), (np.float64(0.5), (1,)), ([0.5], (1,)), (np.array([0.5]), (1,)), (np.array(0.5), (1,)),
        (np.array([[0.5]]), (1, 1)), ([[0.5]], (1, 1)), ([0.5, 0.5], (2, 1)), (np.array([0.5, 0.5]), (2, 1)),
        (np.array([0.5], np.float32), (1,)), (np.array([0.5], ">f8"), (1,)),
    ):  # fmt: skip
        values = program(given)
        assert values.shape == shape, given
        assert values.ravel()[0] == pytest.approx(0.2)
    assert program(1) == pytest.approx([1 / 3])


@pytest.fixture(params=["tape", "steps"])
def saturated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Program:
    """tanh of every input, which is 1 at ∞."""
    r = Registers()
    x, alpha, lam = r.inputs("x", 3), r.new("alpha", 3), r.new("lam", 3)
    program = build(r, [segment("tanh", gadgets.tanh(alpha, lam, x))], alpha)
    if request.param == "steps":
        monkeypatch.setattr(engine, "trace", lambda plan: None)
    assert (EXACT.prepare(program, False).code is None) == (request.param == "steps")
    return program


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(saturated: Program, bad: float) -> None:
    x = np.array([0.0, 0.5, bad])
    for given in (x, x[None], x.tolist()):
        with pytest.raises(UsageError, match="not finite"):
            saturated(given)
    with pytest.raises(UsageError, match="not finite"):
        compile("1/(1 + x^2)", box=(0, 1))(bad)


def test_a_result_is_not_written_over(saturated: Program) -> None:
    first = saturated(np.full(3, 0.5))
    saturated(np.full(3, -2.0))
    assert first == pytest.approx(np.full(3, np.tanh(0.5)))


def test_options_are_checked_and_failures_named() -> None:
    program = compile("1/x", box=(0.5, 1))
    program([0.7])
    for options in ({"rtol": 2.0}, {"rtol": "small"}, {"threads": 0}, {"threads": 1.0}, {"engine": 0.8}):
        with pytest.raises(UsageError):
            program([0.7], **options)
    with pytest.raises(UsageError, match="shape"):
        program(np.array([[[0.7]]]))
    with pytest.raises(EscapeError):
        program([-0.7])


def test_a_point_that_overflows_on_the_way_is_named() -> None:
    """By a tape, or by steps where there are too many weights for one; without a warning of numpy's."""
    for count in (2, 50):
        r = Registers()
        x, z = r.inputs("x", count), r.new("z", count)
        program = build(r, [segment("sum", gadgets.affine(z, x, w=np.full((count, count), 1e300)))], z)
        assert (EXACT.prepare(program, False).code is None) == (count > 2)
        assert program([2.0] * count) == pytest.approx([2e300 * count] * count)
        with pytest.raises(OverflowedError):
            program([1e10] * count)
