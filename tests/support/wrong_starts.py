"""Starts of gadgets, right and wrong, and what `ends` promises about them, against closed forms in many digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st
from mpmath import mp

from integraph.bounds.perturbation.gadget_ends import perturbed_ends
from integraph.numbers.intervals import Interval
from integraph.program.block import operation
from multiprecision import PreciseFunctions

PRECISE = PreciseFunctions(256)
with mp.workdps(70):
    ROOT_PI, ROOT_TWO_PI, LN2 = (PRECISE.exactly(v) for v in (mp.sqrt(mp.pi), mp.sqrt(2 * mp.pi), mp.ln(2)))

Numbers = Mapping[str, Any]

STARTS: dict[str, Callable[[Any], dict[str, Any]]] = {  # of the argument; a free start is not listed
    "tanh": lambda x: {"alpha": 0 * x, "lam": 0 * x},
    "log_cosh": lambda x: {"m": 0 * x},
    "sigmoid": lambda x: {"s": x / 2, "g": 0 * x + 0.5},
    "silu": lambda x: {"s": x / 2},
    "softplus": lambda x: {"s": x / 2},
    "relu": lambda x: {"s": x / 2},
    "erf": lambda x: {"w": 0 * x, "h": 2 * x / ROOT_PI},
    "gelu": lambda x: {"w": 0 * x, "h": x / ROOT_TWO_PI, "z": x / 2},
    "gaussian": lambda x: {"w": 0 * x, "y": 0 * x + 1},
    "arctan": lambda x: {"v": x, "w": 0 * x},
    "asinh": lambda x: {"v": x, "u": x, "w": 0 * x},
    "sinh_cosh": lambda x: {},
    "expm1": lambda x: {},
}


def run(name: str, start: Numbers, operands: Numbers, tensors: Numbers) -> tuple[dict[str, Any], bool]:
    """The ends of all targets in many digits, and whether the solution exists so long."""
    gadget = operation(name)
    given = {key: PRECISE.exactly(np.asarray(value, float)[..., None]) for key, value in tensors.items()}
    closed = gadget.closed(  # type: ignore[attr-defined]
        PRECISE,
        1.0,
        tuple(start[role][..., None] for role in gadget.targets),
        tuple(operands[role][..., None] for role in gadget.operands),
        given,
    )
    alive = all(bool(np.all(value > 0)) for value in closed.alive.values())
    return {role: end[..., 0] for role, end in zip(gadget.targets, closed.ends, strict=True)}, alive


def check(
    name: str,
    ranges: Mapping[str, Interval],
    right: Numbers,
    wrong: Numbers,
    off: Numbers,
    tensors: Numbers,
    stored: Numbers | None = None,
    **more: Any,
) -> None:
    """`right` and `wrong` are starts and operands: the ends are where `ends` says, and as far apart at most. The wrong
    one runs with the tensors `stored`, if they are others."""
    promised = perturbed_ends(name, ranges, off, tensors, **more)
    gadget = operation(name)
    assert set(promised) == set(gadget.targets)
    if "a" in tensors and name in STARTS:  # an affine operand, which the engine computes
        shift = {"x": lambda v: tensors["a"] * v["x"] + tensors["b"]}
        right, wrong = ({**v, "x": shift["x"](v)} for v in (right, wrong))
        tensors = {key: value for key, value in tensors.items() if key not in "ab"}
    true, _ = run(name, right, right, tensors)
    seen, alive = run(name, wrong, wrong, stored or tensors)
    for role, end in promised.items():
        assert end.off.shape == end.right.low.shape == np.shape(right[role]), role
        if not alive:
            continue
        for value, actual, low, high, by, size in np.nditer(
            [true[role], seen[role], end.right.low, end.right.high, end.off, end.size], ["refs_ok", "zerosize_ok"]
        ):
            a, b = value.item(), actual.item()
            digits = 1e-60 * (1 + abs(a) + abs(b))
            assert low.item() - digits <= a <= high.item() + digits, (role, a, low, high)
            assert abs(b - a) <= by.item() + digits, (role, float(abs(b - a)), by)
            assert abs(b) <= size.item() + digits
    assert alive or any(np.isinf(end.off).any() for end in promised.values())


OFF = st.sampled_from([0.0, 1e-13, 1e-6, 1e-2, 0.3, 2.0])
SIDE = st.sampled_from([-1.0, 1.0]) | st.floats(-1, 1)
NUMBER = st.sampled_from([0.0, 1.0, -3.0, 30.0]) | st.floats(-8, 8)
WIDTH = st.sampled_from([0.0, 1e-6, 1.0, 10.0])


def inside(data: st.DataObject, shape: tuple[int, ...], low: float = -np.inf) -> tuple[Interval, Any]:
    """A range, and a point of it in many digits."""
    count = int(np.prod(shape))
    draw = lambda kind: np.array(data.draw(st.lists(kind, min_size=count, max_size=count))).reshape(shape)  # noqa: E731
    start = np.maximum(draw(NUMBER), low)
    end = start + draw(WIDTH)
    return Interval(start, end), PRECISE.exactly(np.clip(start + draw(st.floats(0, 1)) * (end - start), start, end))


def disturbed(data: st.DataObject, right: Numbers) -> tuple[dict[str, Any], dict[str, Any]]:
    """Bounds for every role, and starts that are off by no more."""
    off, wrong = {}, {}
    for role, value in right.items():
        count = value.size
        size = np.array(data.draw(st.lists(OFF, min_size=count, max_size=count))).reshape(value.shape)
        side = np.array(data.draw(st.lists(SIDE, min_size=count, max_size=count))).reshape(value.shape)
        off[role], wrong[role] = size, value + PRECISE.exactly(size) * PRECISE.exactly(side)
    return off, wrong
