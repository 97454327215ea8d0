"""One row for each gadget: random starts inside its domain, wild starts to provoke escape, tensors, and how to measure.

`draw(rng, t, n)` gives n inputs: for every register role an array shape + (n,), such that the solution exists up to
time t (of either sign) with some margin; `wild` the same without that care. A target in `sums` is y₀ + increment, which
may cancel whatever the method: its error is measured relative to |y₀| + |increment|, all others relative to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from integraph import Program, Registers, Segment, build, gadgets
from integraph.gadgets import Gadget
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.gadget import Closed, arguments
from integraph.program.views import dense

Floats = NDArray[np.float64]
Values = dict[str, Any]
Draw = Callable[[Generator, float, int], Values]


@dataclass(frozen=True)
class Case:
    name: str
    gadget: Gadget
    draw: Draw
    wild: Draw | None = None
    tensors: Mapping[str, Any] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sums: tuple[str, ...] = ()

    def program(self, t: float) -> Program:
        """One segment with every register an input and an output."""
        r = Registers()
        roles = self.gadget.targets + self.gadget.operands
        shapes = {role: self.shapes.get(role, (1,)) for role in roles}
        views = [dense(0, shape) if 0 in shape else r.inputs(role, *shape) for role, shape in shapes.items()]
        block = self.gadget(*views, **self.tensors)
        step = Segment(self.name, (block,), abs(t), 1.0 if t > 0 else -1.0)
        everything = r.copy()
        whole = Registers().inputs("y", everything.width)
        return build(everything, [step], whole)

    def inputs(self, values: Values) -> Floats:
        """(n, W): the values of all registers, one row for each input."""
        roles = self.gadget.targets + self.gadget.operands
        columns = [np.reshape(values[role], (-1, np.shape(values[role])[-1])) for role in roles]
        return np.ascontiguousarray(np.concatenate(columns).T, np.float64)

    def closed(self, program: Program, inputs: Floats) -> tuple[Floats, Closed]:
        """The end states (n, W) by the closed form, and what it says about being alive."""
        (step,) = program.segments
        (block,) = step.blocks
        states = np.ascontiguousarray(inputs.T)
        with np.errstate(all="ignore"):
            closed = self.gadget.closed(FLOAT, step.tau, *arguments(block, states))
        end = states.copy()
        for ref, value in zip(block.targets, closed.ends, strict=True):
            end[ref.indices().ravel()] = np.reshape(
                np.broadcast_to(value, ref.shape + states.shape[1:]), (ref.size, -1)
            )
        return end.T, closed

    def scale(self, program: Program, start: Floats, end: Floats) -> Floats:
        """What errors are relative to, register by register."""
        (block,) = program.segments[0].blocks
        scale = np.abs(end)
        for role, ref in zip(self.gadget.targets, block.targets, strict=True):
            if role in self.sums:
                at = ref.indices().ravel()
                scale[at] = np.abs(start[at]) + np.abs(end[at] - start[at])
        return scale


def _any(*roles: str, size: float = 2.0) -> Draw:
    return lambda rng, t, n: {role: rng.normal(0, size, (1, n)) for role in roles}


def _steep(slope: str, *others: str) -> Draw:
    """A slope that is often too steep to live."""
    return lambda rng, t, n: {slope: rng.normal(0, 4, (1, n))} | {role: rng.normal(0, 1.5, (1, n)) for role in others}


def _hyperbolic(slope: str, *others: str) -> Draw:
    """x and a slope λ with λt ≥ −0.9·|xt|·coth|xt|, the edge of existence."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        x = rng.normal(0, 3, (1, n))
        edge = np.abs(x * t) / np.tanh(np.abs(x * t))
        values = {slope: rng.uniform(-0.9, 3, (1, n)) * edge / t, "x": x}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def _logistic(*others: str, k: float = 1.0) -> Draw:
    """x and s with N = 1 + s(e^{kxt} − 1)/x ≥ 0.1."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        x = rng.normal(0, 3, (1, n))
        values = {"s": rng.uniform(-0.9, 3, (1, n)) * x / np.expm1(k * x * t), "x": x}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def _leaky(k: float, c: float) -> Draw:
    """As _logistic, for the excess s − cx. Near s = cx, which is unstable, the rounding of cx grows: c a power of 2."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        x = rng.normal(0, 3, (1, n))
        rest = (1 - c) * x
        return {"s": c * x + rng.uniform(-0.9, 3, (1, n)) * rest / np.expm1(k * rest * t), "x": x}

    return draw


def _above_minus_one(base: str, *others: str) -> Draw:
    """1 + pt ≥ 0.1."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        values = {base: rng.uniform(-0.9, 4, (1, n)) / t}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def _complex(imaginary: str, *others: str) -> Draw:
    """The way from 1 to 1 + (w + iv)t keeps away from 0."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        values = {"w": rng.uniform(-0.9, 4, (1, n)) / t, imaginary: rng.normal(0, 2, (1, n))}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def _gaussian(*others: str) -> Draw:
    def draw(rng: Generator, t: float, n: int) -> Values:
        values = {"w": rng.normal(0, 3, (1, n)), "x": rng.normal(0, 2, (1, n))}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def _softmax(rng: Generator, t: float, n: int) -> Values:
    """Like the lemma's start, but neither normalised nor consistent."""
    s = rng.normal(0, 3, (2, 3, n))
    u = (s + np.array([0.5, 4.0])[:, None, None]) * rng.uniform(0, 1 / 3, s.shape)
    m = u.sum(1) + rng.uniform(0, 0.5, (2, n)) / t
    return {"a": rng.normal(0, 1, s.shape), "u": u, "m": m, "s": s}


def _shifted_softmax(rng: Generator, t: float, n: int) -> Values:
    """Rows that differ by far more than their scores do."""
    found, c = _softmax(rng, t, n), np.array([[0.5], [4.0]]) + 40.0 * rng.normal(size=(2, n))
    return {**found, "s": found["s"] + np.array([0.5, 4.0])[:, None, None] - c[:, None], "c": c}


def _log_sum_exp(rng: Generator, t: float, n: int) -> Values:
    found = _shifted_softmax(rng, t, n)
    del found["a"]
    return {"l": 3.0 * rng.normal(size=(2, n)), **found}


def _wild_log_sum_exp(rng: Generator, t: float, n: int) -> Values:
    found = _wild_softmax(rng, t, n)
    del found["a"]
    return {"l": rng.normal(size=(1, n)), **found, "c": rng.normal(size=(1, n))}


def _log_softmax(rng: Generator, t: float, n: int) -> Values:
    scores = _shifted_softmax(rng, t, n)
    return {"y": 3.0 * rng.normal(size=scores.pop("a").shape), **scores}


def _wild_log_softmax(rng: Generator, t: float, n: int) -> Values:
    scores = _wild_softmax(rng, t, n)
    return {"y": scores.pop("a"), **scores, "c": rng.normal(size=(1, n))}


def _wild_softmax(rng: Generator, t: float, n: int) -> Values:
    s = rng.normal(0, 3, (1, 3, n))
    return {"a": rng.normal(0, 1, s.shape), "u": rng.normal(0, 2, s.shape), "m": rng.normal(0, 3, (1, n)), "s": s}


def _wild_line(imaginary: str, *others: str) -> Draw:
    """w around −1 and below, every second one on the real line."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        on_line = np.arange(n) % 2 == 0
        values = {"w": rng.uniform(-4, 1, (1, n)), imaginary: np.where(on_line, 0.0, rng.normal(0, 1, (1, n)))}
        return values | {role: rng.normal(0, 1, (1, n)) for role in others}

    return draw


def _partition(rng: Generator, t: float, n: int) -> Values:
    return {name: rng.normal(0, 1, (*shape, n)) for name, shape in (("lam", (2, 4)), ("mu", (2, 3)), ("x", (2,)))}


def _matrix(target: str, operand: str, lanes: int = 2) -> Draw:
    return lambda rng, t, n: {target: rng.normal(0, 1, (lanes, n)), operand: rng.normal(0, 1, (3, n))}


def _growth(name: str, gadget: Gadget, tensors: Mapping[str, Any], **shapes: tuple[int, ...]) -> Case:
    """1 + pt ≥ 0.1, all others anything."""

    def wild(rng: Generator, t: float, n: int) -> Values:
        return {role: rng.normal(0, 1.5, (*shape, n)) for role, shape in shapes.items()}

    def draw(rng: Generator, t: float, n: int) -> Values:
        bases = {"p": rng.uniform(-0.9, 4, (*shapes["p"], n)) / t} if "p" in shapes else {}
        return wild(rng, t, n) | bases

    return Case(name, gadget, draw, wild if "p" in shapes else None, tensors, shapes)


W = np.array([[1.5, -0.25, 2.0], [-3.0, 0.5, 0.75]])
B = np.array([0.5, -1.25])

CASES = (
    Case("affine", gadgets.affine, _matrix("z", "x"), None, {"w": W, "b": B}, {"z": (2,), "x": (3,)}, ("z",)),
    Case("affine diagonal", gadgets.affine, _any("z", "x"), None, {"w": 1.7}, sums=("z",)),
    Case("product", gadgets.product, _any("z", "x", "v"), None, {"w": -0.7}, sums=("z",)),
    Case(
        "product summed",
        gadgets.product,
        lambda rng, t, n: {"z": rng.normal(size=(1, n)), "x": rng.normal(size=(3, n)), "v": rng.normal(size=(3, n))},
        shapes={"x": (1, 3), "v": (1, 3)},
        sums=("z",),
    ),
    Case(
        "bilinear",
        gadgets.bilinear,
        lambda rng, t, n: {role: rng.normal(size=(size, n)) for role, size in (("z", 2), ("x", 3), ("v", 4))},
        None,
        {
            "w": np.array([0.5, -2.0, 1.25])[:, None] * np.array([1.0, -0.75, 0.0, 3.0])
            + np.array([1.0, -1.5])[:, None, None]
        },
        {"z": (2,), "x": (3,), "v": (4,)},
        ("z",),
    ),
    Case("exp", gadgets.exp, _any("z", "x", size=5)),
    Case("exp affine", gadgets.exp, _any("z", "x"), None, {"a": -1.5, "b": 2.0}),
    Case("monomial", gadgets.monomial, _matrix("z", "l"), None, {"w": W, "b": B}, {"z": (2,), "l": (3,)}),
    Case("tanh", gadgets.tanh, _hyperbolic("lam", "alpha"), _steep("lam", "alpha", "x")),
    Case("tanh affine", gadgets.tanh, _any("alpha", "x", "lam", size=0.3), None, {"a": 2.0, "b": -0.5}),
    Case("log_cosh", gadgets.log_cosh, _hyperbolic("m", "l"), _steep("m", "l", "x"), sums=("l",)),
    Case("ln", gadgets.ln, _above_minus_one("p", "z"), _steep("p", "z"), sums=("z",)),
    Case("power", gadgets.power, _above_minus_one("p", "z"), _steep("p", "z"), {"a": 2.5}),
    Case("reciprocal", gadgets.power, _above_minus_one("p", "z"), None, {"a": -1.0}),
    Case("root", gadgets.power, _above_minus_one("p", "z"), None, {"a": -0.5}),
    Case("sin_cos", gadgets.sin_cos, _any("u", "v", "x")),
    Case("sinh_cosh", gadgets.sinh_cosh, _any("u", "v", "x")),
    Case("arctan", gadgets.arctan, _complex("v", "y"), _wild_line("v", "y"), sums=("y",)),
    Case("asinh", gadgets.asinh, _complex("u", "y", "v"), _wild_line("u", "v", "y"), sums=("y",)),
    Case("softplus", gadgets.softplus, _logistic("y"), _steep("s", "y", "x"), sums=("y",)),
    Case("silu", gadgets.silu, _logistic(), _steep("s", "x")),
    Case("sigmoid", gadgets.sigmoid, _logistic("g"), _steep("s", "g", "x")),
    Case("relu", gadgets.relu, _logistic(k=1.5), _steep("s", "x"), {"k": 1.5}),
    Case("leaky_relu", gadgets.leaky_relu, _leaky(1.5, 0.25), _steep("s", "x"), {"k": 1.5, "c": 0.25}, sums=("s",)),
    Case(
        "leaky_relu, c > 1",
        gadgets.leaky_relu,
        _leaky(-0.75, 2.0),
        _steep("s", "x"),
        {"k": -0.75, "c": 2.0},
        {},
        ("s",),
    ),
    Case(
        "leaky_relu affine",
        gadgets.leaky_relu,
        _any("s", "x", size=0.3),
        None,
        {"k": 0.5, "c": -0.5, "a": 2.0, "b": 0.25},
        sums=("s",),
    ),
    Case("gaussian", gadgets.gaussian, _gaussian("y"), sums=("w",)),
    Case("erf", gadgets.erf, _gaussian("h", "y"), sums=("w", "y")),
    Case("gelu", gadgets.gelu, _gaussian("h", "z"), sums=("w", "z")),
    Case("gelu affine", gadgets.gelu, _gaussian("h", "z"), None, {"a": 0.5, "b": 0.25}, sums=("w", "z")),
    Case("expm1", gadgets.expm1, _any("z", "x")),
    Case("variable_power", gadgets.variable_power, _above_minus_one("p", "q", "z"), _steep("p", "q", "z")),
    Case(
        "softmax",
        gadgets.softmax,
        _softmax,
        None,
        {"c": [0.5, 4.0]},
        {"a": (2, 3), "u": (2, 3), "m": (2,), "s": (2, 3)},
        ("m",),  # passes through 0 where N turns
    ),
    Case(
        "softmax plain",
        gadgets.softmax,
        lambda rng, t, n: {k: v[:1] for k, v in _softmax(rng, t, n).items()},
        _wild_softmax,
        shapes={"a": (1, 3), "u": (1, 3), "m": (1,), "s": (1, 3)},
        sums=("m",),
    ),
    Case(
        "shifted_softmax",
        gadgets.shifted_softmax,
        _shifted_softmax,
        None,
        shapes={"a": (2, 3), "u": (2, 3), "m": (2,), "s": (2, 3), "c": (2,)},
        sums=("m",),
    ),
    Case(
        "log_softmax",
        gadgets.log_softmax,
        _log_softmax,
        None,
        shapes={"y": (2, 3), "u": (2, 3), "m": (2,), "s": (2, 3), "c": (2,)},
        sums=("y", "m"),
    ),
    Case(
        "log_softmax plain",
        gadgets.log_softmax,
        lambda rng, t, n: {k: v[:1] for k, v in _log_softmax(rng, t, n).items()},
        _wild_log_softmax,
        shapes={"y": (1, 3), "u": (1, 3), "m": (1,), "s": (1, 3), "c": (1,)},
        sums=("y", "m"),
    ),
    Case(
        "log_sum_exp",
        gadgets.log_sum_exp,
        _log_sum_exp,
        None,
        shapes={"l": (2,), "u": (2, 3), "m": (2,), "s": (2, 3), "c": (2,)},
        sums=("l", "m"),
    ),
    Case(
        "log_sum_exp plain",
        gadgets.log_sum_exp,
        lambda rng, t, n: {k: v[:1] for k, v in _log_sum_exp(rng, t, n).items()},
        _wild_log_sum_exp,
        shapes={"l": (1,), "u": (1, 3), "m": (1,), "s": (1, 3), "c": (1,)},
        sums=("l", "m"),
    ),
    Case(
        "partition",
        gadgets.partition,
        _partition,
        None,
        {"a": [[2.0], [3.0]], "b": [-1.0, 0.0, -2.5]},
        {"lam": (2, 4), "mu": (2, 3), "x": (2,)},
        ("lam", "mu"),
    ),
    Case(
        "partition plain",
        gadgets.partition,
        lambda rng, t, n: {
            "lam": rng.normal(size=(1, 2, n)),
            "mu": rng.normal(size=(1, 1, n)),
            "x": rng.normal(size=(1, n)),
        },
        shapes={"lam": (1, 2), "mu": (1, 1)},
        sums=("lam", "mu"),
    ),
    _growth("powers", gadgets.powers, {"a": [2.5, -0.5], "b": B}, p=(2,), z=(2,), x=(1,)),
    _growth("powers of rows", gadgets.powers, {"a": -0.5}, p=(2, 1), z=(2, 3), x=(0,)),
    _growth("spiral", gadgets.spiral, {"w": W, "b": B, "c": B[:, None]}, u=(2,), v=(2,), x=(2, 3), t=(2, 1)),
    _growth(
        "power_spiral",
        gadgets.power_spiral,
        {"a": B[:, None], "w": 0.5, "c": [1.5, -2.0], "d": 0.25},
        p=(1, 2),
        u=(1, 2),
        v=(1, 2),
        x=(1, 2, 1),
        t=(1, 2, 2),
    ),
    Case("decay", gadgets.decay, _any("z"), None, {"r": 12.5}),
    Case("relax", gadgets.relax, _any("z"), None, {"r": 12.5, "v": -0.75}, sums=("z",)),
    Case("relax slowly", gadgets.relax, _any("z"), None, {"r": 1e-9, "v": 3.0}, sums=("z",)),
    Case("ramp", gadgets.ramp, _any("z"), None, {"b": 0.3}, sums=("z",)),
    Case("drain", gadgets.drain, _matrix("z", "x"), None, {"w": W, "b": B, "r": 3.0}, {"z": (2,), "x": (3,)}, ("z",)),
    Case(
        "drain that grows", gadgets.drain, _matrix("z", "x"), None, {"w": W, "r": -2.0}, {"z": (2,), "x": (3,)}, ("z",)
    ),
    Case(
        "drain into banks",
        gadgets.drain,
        _matrix("z", "x", 4),
        None,
        {"w": np.stack([W, 0.5 - W]), "b": B, "r": 5.0},
        {"z": (2, 2), "x": (3,)},
        ("z",),
    ),
)
