"""Small programs for the tests of the Taylor engine."""

from __future__ import annotations

import numpy as np
from mpmath import mpf

from integraph import Program, Registers, View, build, segment
from integraph.gadgets import (
    ln,
    ramp,
    raw,
    tanh,
)


def everything(r: Registers) -> View:
    return View(0, (r.width,), (1,))


def program_of(*blocks, r: Registers, duration: float = 1.0) -> Program:
    """One segment, all registers read out."""
    return build(r, [segment("s", *blocks, duration=duration)], everything(r))


def free(duration: float = 1.0, **tensors) -> Program:
    """One raw block whose registers are all inputs."""
    r = Registers()
    y = r.inputs("y", len(next(iter(tensors.values()))))
    return program_of(raw(y, **tensors), r=r, duration=duration)


def tanh_program(count: int = 1) -> Program:
    r = Registers()
    x, alpha, lam = r.inputs("x", count), r.new("alpha", count), r.new("lam", count)
    return build(r, [segment("tanh", tanh(alpha, lam, x))], alpha)


def ln_program() -> Program:
    """z = ln(1 + p), then one more segment."""
    r = Registers()
    p, z = r.inputs("p"), r.new("z")
    return build(r, [segment("logarithm", ln(p, z)), segment("one more", ramp(z, b=1.0))], z)


def relative(found: np.ndarray, exact: list[mpf] | np.ndarray) -> float:
    """The largest relative error of any number, measured in mpmath where the reference is."""
    pairs = zip(np.ravel(found).tolist(), np.ravel(np.array(exact, dtype=object)).tolist(), strict=True)
    return max(float(abs(mpf(a) - b) / abs(b)) if b else float(abs(a)) for a, b in pairs)
