"""Closed forms from the lemmas' starts: taken where the start is the lemma's, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Program, View, gadgets, segment
from integraph.flow.closed_forms import trace
from integraph.flow.closed_forms.linear_forms import LinearForms
from integraph.flow.closed_forms.operations import DIFFERENTIABLE
from integraph.flow.closed_forms.recorder import Recorder
from lazy import Lazy, needs
from slow import mostly_slow

jax = Lazy("jax")


def operations(program: Program) -> list[str]:
    return [own.op for own in trace(program, DIFFERENTIABLE).operations]


def decayed_tanh(r: float) -> Program:
    """α and λ start at what decay at rate r leaves of two inputs; the outputs are both ends."""
    registers = integraph.Registers()
    x = registers.inputs("x", 3)
    steps = [
        segment("decay", gadgets.decay(x[:2], r=r)),
        segment("tanh", gadgets.tanh(x[:1], x[1:2], x[2:3])),
    ]
    return integraph.build(registers, steps, x[:2])


def softmax(weight: float) -> Program:
    """a = 1/n, u = weight·s and m = 4·weight·mean(s): the lemma's start if weight = ¼."""
    registers = integraph.Registers()
    s, a, u, m = registers.inputs("s", 4), registers.new("a", 4), registers.new("u", 4), registers.new("m", 1)
    pairs = View(s.offset, (4, 1), (1, 1))
    steps = [
        segment(
            "load",
            gadgets.ramp(a, b=0.25),
            gadgets.affine(u, pairs, w=[weight]),
            gadgets.affine(m, View(s.offset, (1, 4), (0, 1)), w=[weight]),
        ),
        segment("softmax", gadgets.softmax(a, u, m[0], s)),
    ]
    return integraph.build(registers, steps, a)


def gelu(factor: float) -> Program:
    registers = integraph.Registers()
    x, w, h, z = registers.inputs("x", 2), registers.new("w"), registers.new("h"), registers.new("z")
    first, both = View(x.offset, (1, 1), (1, 1)), View(x.offset, (1, 2), (0, 1))
    load = [gadgets.affine(h, both, w=[[0.4, factor]]), gadgets.affine(z, first, w=[0.5])]
    return integraph.build(registers, [segment("load", *load), segment("gelu", gadgets.gelu(w, h, z, x[:1]))], z)


@pytest.mark.parametrize(
    ("made", "given", "mark"),
    [(decayed_tanh, 16.0, "tanhc"), (softmax, 0.25, "held"), (gelu, 0.0, "erf")],
    ids=["tanh", "softmax", "gelu"],
)
def test_the_lemmas_start_is_seen(made: Callable[[float], Program], given: float, mark: str) -> None:
    assert mark in operations(made(given))


@pytest.mark.parametrize(
    ("made", "given", "mark"),
    [(decayed_tanh, 1.0, "tanhc"), (softmax, 0.2501, "held"), (gelu, 1e-9, "erf")],
    ids=["tanh", "softmax", "gelu"],
)
def test_other_starts_are_not(made: Callable[[float], Program], given: float, mark: str) -> None:
    assert mark not in operations(made(given))


@needs("jax")
@mostly_slow(
    ("made", "given"),
    [(decayed_tanh, 16.0), (decayed_tanh, 8.0), (decayed_tanh, 1.0), (softmax, 0.25), (softmax, 0.2501), (gelu, 0.0)],
    quick=1,
)
def test_values_are_those_of_the_exact_engine(made: Any, given: float) -> None:
    program = made(given)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, program.inputs)) * 10.0 ** rng.integers(-12, 3, (200, 1))
    if made is not gelu:
        x[:, 1] = abs(x[:, 1])  # λ ≥ 0; a score ≥ 0, as the lemma asks for c = 0
    x[:3] = 0.0
    function, params = program.to_jax()
    exact = program(x)
    with jax.enable_x64(True):
        ours = np.asarray(function(params, x))
        slopes = jax.vmap(jax.jacrev(lambda row: function(params, row)))(x)
    assert (np.abs(ours - exact) <= 1e-13 * np.maximum(1.0, np.abs(exact))).all()
    assert np.isfinite(slopes).all()


@needs("jax")
def test_a_start_below_0_that_is_not_sure_runs_on_the_exact_engine() -> None:
    program = decayed_tanh(8.0)
    x = np.array([[0.0, -2500.0, 1.0], [0.0, -1e9, 1.0], [0.1, 0.2, np.inf]])
    function, params = program.to_jax()
    with jax.enable_x64(True):
        assert np.isnan(function(params, x)).all()
    ours, exact = program.flow(x[:2], "jax"), program.flow(x[:2], "exact")
    assert ours.failures == exact.failures
    assert len(exact.failures) == 1
    assert np.allclose(ours.outputs[0], exact.outputs[0], rtol=1e-13)


def test_linear_forms() -> None:
    recorder = Recorder(DIFFERENTIABLE, {}, np.float64)
    forms = LinearForms(recorder)
    x = recorder.record("input", lanes=(3,))
    y = recorder.push("exp", x)
    assert forms.equal(2.0 * x + x, 3.0 * x, x)
    assert not forms.equal(x, y, x)
    assert not forms.equal(x * y, x, x)
    assert forms.quotient(0.5 * x - x, x) == pytest.approx(-0.5, rel=1e-15)
    assert not forms.equal(1e-20 * x, 2e-20 * x, 1e-20 * x)
    assert forms.quotient(y, x) is None
    assert forms.quotient(x + 1.0, x) is None
