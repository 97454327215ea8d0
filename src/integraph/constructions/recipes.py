"""How an activation becomes flows: which registers it needs, how they start, which gadgets run, where the result is.

A start is scale·x + shift of the argument x, so the segment before, which computes x = A z + b, loads it as well. The
result is f(x) = `gain`·out + `offset`, and gain and offset are folded into the next affine map. Both constructions read
this table. The narrow one puts the role `drained` (a start of 0) on the registers of the layer before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph import gadgets
from integraph.bounds.perturbation.activation_errors import RELU
from integraph.numbers.arrays import Floats
from integraph.program import Block, Index, Ref, View
from integraph.targets.activations import CUBIC, ROOT_2_PI

Bits = NDArray[np.bool_]
Roles = Mapping[str, Ref]
Start = tuple[float | Floats, float]  # scale, shift
Stage = Callable[[Roles], tuple[Block, ...]]  # the blocks of one segment

ARGUMENT, ZERO, ONE = (1.0, 0.0), (0.0, 0.0), (0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """`argument` is the role that holds x itself when the first stage begins."""

    starts: Mapping[str, Start]
    stages: tuple[Stage, ...]
    out: str
    argument: str = "x"
    drained: str | None = None
    gain: float = 1.0
    offset: float = 0.0

    @property
    def loaded(self) -> tuple[str, ...]:
        """Roles that start at a multiple of x, which for a unit of a rectifier may be 0·x."""
        return tuple(role for role, (scale, _) in self.starts.items() if np.ndim(scale) or scale != 0)


def one(gadget: gadgets.Gadget, *roles: str) -> tuple[Stage]:
    """A single stage: one gadget on these roles."""
    return (lambda r: (gadget(*(r[role] for role in roles)),),)


GELU_TANH: tuple[Stage, ...] = (
    lambda r: (gadgets.product(r["q"], r["x"], r["x"]),),
    lambda r: (
        gadgets.affine(r["u"], r["x"], w=ROOT_2_PI),
        gadgets.product(r["u"], r["x"], r["q"], w=ROOT_2_PI * CUBIC),
    ),
    lambda r: (gadgets.tanh(r["alpha"], r["lam"], r["u"]),),
    lambda r: (gadgets.affine(r["z"], r["x"], w=0.5), gadgets.product(r["z"], r["x"], r["alpha"], w=0.5)),
)

RECIPES: dict[str, Recipe] = {
    "identity": Recipe({"x": ARGUMENT}, (), "x"),
    "tanh": Recipe(
        {"x": ARGUMENT, "alpha": ZERO, "lam": ZERO},
        one(gadgets.tanh, "alpha", "lam", "x"),
        "alpha",
        drained="alpha",
    ),
    "sigmoid": Recipe(  # ½ + ½ tanh(x/2), with x/2 in place of x
        {"x": ARGUMENT, "alpha": ZERO, "lam": ZERO},
        one(gadgets.tanh, "alpha", "lam", "x"),
        "alpha",
        drained="alpha",
        gain=0.5,
        offset=0.5,
    ),
    "arctan": Recipe(
        {"v": ARGUMENT, "y": ZERO, "w": ZERO}, one(gadgets.arctan, "y", "v", "w"), "y", argument="v", drained="y"
    ),
    "softplus": Recipe(
        {"x": ARGUMENT, "s": (0.5, 0.0), "y": ZERO},
        one(gadgets.softplus, "s", "y", "x"),
        "y",
        drained="y",
        offset=math.log(2.0),
    ),
    "silu": Recipe({"x": ARGUMENT, "s": (0.5, 0.0)}, one(gadgets.silu, "s", "x"), "s"),
    "gelu": Recipe(
        {"x": ARGUMENT, "h": (1.0 / math.sqrt(2.0 * math.pi), 0.0), "z": (0.5, 0.0), "w": ZERO},
        one(gadgets.gelu, "w", "h", "z", "x"),
        "z",
        drained="w",
    ),
    "gelu_tanh": Recipe(
        {"x": ARGUMENT, "q": ZERO, "u": ZERO, "alpha": ZERO, "lam": ZERO, "z": ZERO}, GELU_TANH, "z", drained="q"
    ),
    "sin": Recipe({"x": ARGUMENT, "u": ZERO, "v": ONE}, one(gadgets.sin_cos, "u", "v", "x"), "u", drained="u"),
    "log_cosh": Recipe({"x": ARGUMENT, "m": ZERO, "l": ZERO}, one(gadgets.log_cosh, "m", "l", "x"), "l", drained="l"),
    "exp": Recipe({"x": ARGUMENT, "z": ONE}, one(gadgets.exp, "z", "x"), "z"),
    "gaussian": Recipe({"x": ARGUMENT, "w": ZERO, "y": ONE}, one(gadgets.gaussian, "w", "y", "x"), "y", drained="w"),
    "erf": Recipe(
        {"x": ARGUMENT, "h": (2.0 / math.sqrt(math.pi), 0.0), "w": ZERO, "y": ZERO},
        one(gadgets.erf, "w", "h", "y", "x"),
        "y",
        drained="w",
    ),
}


def rectifier(slope: Floats, low: Floats, high: Floats, k: float) -> Recipe:
    """ReLU (slope 0) and leaky ReLU. Units that cannot switch are part of the affine map: x, or slope·x; the others run
    s' = k(s − cx)(x − s) from (1 + c)x/2, within 0.2785/|k| of the true function. A slope so close to 1 that (1 + c)x/2
    is within that from the start does not run either."""
    switching = switches(slope, low, high, k)
    both = (low < 0) & (high > 0)
    scale = np.where(both, 0.5 * (1.0 + slope), np.where(low >= 0, 1.0, slope))

    def run(r: Roles) -> tuple[Block, ...]:
        if not switching.any():
            return ()
        s, x, c = (_chosen(r["s"], switching), _chosen(r["x"], switching), slope[switching])
        if not c.any():
            return (gadgets.relu(s, x, k=k),)
        return (gadgets.leaky_relu(s, x, k=np.copysign(k, 1.0 - c), c=c),)

    return Recipe({"x": ARGUMENT, "s": (scale, 0.0)}, (run,), "s")


def bend(slope: Floats, low: Floats, high: Floats) -> Floats:
    """How far (1 + c)x/2 is from the leaky ReLU of slope c, for arguments of either sign; else 0."""
    result: Floats = np.where((low < 0) & (high > 0), 0.5 * np.abs(1.0 - slope) * np.maximum(-low, high), 0.0)
    return result


def switches(slope: Floats, low: Floats, high: Floats, k: float) -> Bits:
    """Units that bend by more than a steepness of k leaves open."""
    result: Bits = bend(slope, low, high) > RELU / k
    return result


def _chosen(view: Ref, which: Bits) -> Ref:
    """Some lanes of a view: a slice if they are neighbours."""
    lanes = np.flatnonzero(which)
    if isinstance(view, View) and lanes[-1] - lanes[0] + 1 == len(lanes):
        return view[int(lanes[0]) : int(lanes[-1]) + 1]
    return Index(view.indices()[lanes])
