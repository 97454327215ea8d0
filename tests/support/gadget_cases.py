"""One row for each gadget: random starts inside its domain, wild starts to provoke escape, tensors, and how to measure.

`draw(rng, t, n)` gives n inputs: for every register role an array shape + (n,), such that the solution exists up to
time t (of either sign) with some margin; `wild` the same without that care. A target in `sums` is y₀ + increment, which
may cancel whatever the method: its error is measured relative to |y₀| + |increment|, all others relative to themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import gadget_draws as draws
from gadget_draws import Draw, Values
from integraph import Program, Registers, Segment, build, gadgets
from integraph.gadgets import Gadget
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.gadget import Closed, arguments
from integraph.program.views import dense

Floats = NDArray[np.float64]


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
    Case("affine", gadgets.affine, draws.matrix("z", "x"), None, {"w": W, "b": B}, {"z": (2,), "x": (3,)}, ("z",)),
    Case("affine diagonal", gadgets.affine, draws.anything("z", "x"), None, {"w": 1.7}, sums=("z",)),
    Case("product", gadgets.product, draws.anything("z", "x", "v"), None, {"w": -0.7}, sums=("z",)),
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
    Case("exp", gadgets.exp, draws.anything("z", "x", size=5)),
    Case("exp affine", gadgets.exp, draws.anything("z", "x"), None, {"a": -1.5, "b": 2.0}),
    Case("monomial", gadgets.monomial, draws.matrix("z", "l"), None, {"w": W, "b": B}, {"z": (2,), "l": (3,)}),
    Case("tanh", gadgets.tanh, draws.hyperbolic("lam", "alpha"), draws.steep("lam", "alpha", "x")),
    Case("tanh affine", gadgets.tanh, draws.anything("alpha", "x", "lam", size=0.3), None, {"a": 2.0, "b": -0.5}),
    Case("log_cosh", gadgets.log_cosh, draws.hyperbolic("m", "l"), draws.steep("m", "l", "x"), sums=("l",)),
    Case("ln", gadgets.ln, draws.above_minus_one("p", "z"), draws.steep("p", "z"), sums=("z",)),
    Case("power", gadgets.power, draws.above_minus_one("p", "z"), draws.steep("p", "z"), {"a": 2.5}),
    Case("reciprocal", gadgets.power, draws.above_minus_one("p", "z"), None, {"a": -1.0}),
    Case("root", gadgets.power, draws.above_minus_one("p", "z"), None, {"a": -0.5}),
    Case("sin_cos", gadgets.sin_cos, draws.anything("u", "v", "x")),
    Case("sinh_cosh", gadgets.sinh_cosh, draws.anything("u", "v", "x")),
    Case("arctan", gadgets.arctan, draws.complex_base("v", "y"), draws.wild_line("v", "y"), sums=("y",)),
    Case("asinh", gadgets.asinh, draws.complex_base("u", "y", "v"), draws.wild_line("u", "v", "y"), sums=("y",)),
    Case("softplus", gadgets.softplus, draws.logistic("y"), draws.steep("s", "y", "x"), sums=("y",)),
    Case("silu", gadgets.silu, draws.logistic(), draws.steep("s", "x")),
    Case("sigmoid", gadgets.sigmoid, draws.logistic("g"), draws.steep("s", "g", "x")),
    Case("relu", gadgets.relu, draws.logistic(k=1.5), draws.steep("s", "x"), {"k": 1.5}),
    Case(
        "leaky_relu",
        gadgets.leaky_relu,
        draws.leaky(1.5, 0.25),
        draws.steep("s", "x"),
        {"k": 1.5, "c": 0.25},
        sums=("s",),
    ),
    Case(
        "leaky_relu, c > 1",
        gadgets.leaky_relu,
        draws.leaky(-0.75, 2.0),
        draws.steep("s", "x"),
        {"k": -0.75, "c": 2.0},
        {},
        ("s",),
    ),
    Case(
        "leaky_relu affine",
        gadgets.leaky_relu,
        draws.anything("s", "x", size=0.3),
        None,
        {"k": 0.5, "c": -0.5, "a": 2.0, "b": 0.25},
        sums=("s",),
    ),
    Case("gaussian", gadgets.gaussian, draws.gaussian("y"), sums=("w",)),
    Case("erf", gadgets.erf, draws.gaussian("h", "y"), sums=("w", "y")),
    Case("gelu", gadgets.gelu, draws.gaussian("h", "z"), sums=("w", "z")),
    Case("gelu affine", gadgets.gelu, draws.gaussian("h", "z"), None, {"a": 0.5, "b": 0.25}, sums=("w", "z")),
    Case("expm1", gadgets.expm1, draws.anything("z", "x")),
    Case("variable_power", gadgets.variable_power, draws.above_minus_one("p", "q", "z"), draws.steep("p", "q", "z")),
    Case(
        "softmax",
        gadgets.softmax,
        draws.softmax,
        None,
        {"c": [0.5, 4.0]},
        {"a": (2, 3), "u": (2, 3), "m": (2,), "s": (2, 3)},
        ("m",),  # passes through 0 where N turns
    ),
    Case(
        "softmax plain",
        gadgets.softmax,
        lambda rng, t, n: {k: v[:1] for k, v in draws.softmax(rng, t, n).items()},
        draws.wild_softmax,
        shapes={"a": (1, 3), "u": (1, 3), "m": (1,), "s": (1, 3)},
        sums=("m",),
    ),
    Case(
        "shifted_softmax",
        gadgets.shifted_softmax,
        draws.shifted_softmax,
        None,
        shapes={"a": (2, 3), "u": (2, 3), "m": (2,), "s": (2, 3), "c": (2,)},
        sums=("m",),
    ),
    Case(
        "log_softmax",
        gadgets.log_softmax,
        draws.log_softmax,
        None,
        shapes={"y": (2, 3), "u": (2, 3), "m": (2,), "s": (2, 3), "c": (2,)},
        sums=("y", "m"),
    ),
    Case(
        "log_softmax plain",
        gadgets.log_softmax,
        lambda rng, t, n: {k: v[:1] for k, v in draws.log_softmax(rng, t, n).items()},
        draws.wild_log_softmax,
        shapes={"y": (1, 3), "u": (1, 3), "m": (1,), "s": (1, 3), "c": (1,)},
        sums=("y", "m"),
    ),
    Case(
        "log_sum_exp",
        gadgets.log_sum_exp,
        draws.log_sum_exp,
        None,
        shapes={"l": (2,), "u": (2, 3), "m": (2,), "s": (2, 3), "c": (2,)},
        sums=("l", "m"),
    ),
    Case(
        "log_sum_exp plain",
        gadgets.log_sum_exp,
        lambda rng, t, n: {k: v[:1] for k, v in draws.log_sum_exp(rng, t, n).items()},
        draws.wild_log_sum_exp,
        shapes={"l": (1,), "u": (1, 3), "m": (1,), "s": (1, 3), "c": (1,)},
        sums=("l", "m"),
    ),
    Case(
        "partition",
        gadgets.partition,
        draws.partition,
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
    Case("decay", gadgets.decay, draws.anything("z"), None, {"r": 12.5}),
    Case("relax", gadgets.relax, draws.anything("z"), None, {"r": 12.5, "v": -0.75}, sums=("z",)),
    Case("relax slowly", gadgets.relax, draws.anything("z"), None, {"r": 1e-9, "v": 3.0}, sums=("z",)),
    Case("ramp", gadgets.ramp, draws.anything("z"), None, {"b": 0.3}, sums=("z",)),
    Case(
        "drain", gadgets.drain, draws.matrix("z", "x"), None, {"w": W, "b": B, "r": 3.0}, {"z": (2,), "x": (3,)}, ("z",)
    ),
    Case(
        "drain that grows",
        gadgets.drain,
        draws.matrix("z", "x"),
        None,
        {"w": W, "r": -2.0},
        {"z": (2,), "x": (3,)},
        ("z",),
    ),
    Case(
        "drain into banks",
        gadgets.drain,
        draws.matrix("z", "x", 4),
        None,
        {"w": np.stack([W, 0.5 - W]), "b": B, "r": 5.0},
        {"z": (2, 2), "x": (3,)},
        ("z",),
    ),
)
