"""Blocks bound to a workspace: closures that advance one block in place, all inputs of a chunk at once.

A step returns True if every lane has a solution up to its end. The generic step runs the gadget's closed form; some
gadgets have faster ones. `fresh` says that the targets count as 0, whatever an earlier run left there; `live` which
targets will be read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from integraph.flow.exact import affine_steps, linear_steps, product_steps
from integraph.flow.exact.affine_steps import compiles
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.gadget import Gadget, arguments
from integraph.numbers.arrays import Floats
from integraph.program import Block, Index, View
from integraph.program.views import mark

Step = affine_steps.Step
Binder = Callable[[Block, Floats, float, bool, tuple[bool, ...]], Step | None]


def bind(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step:
    """The fastest step for a block."""
    binder = _FAST.get(block.op.name)
    step = binder(block, states, t, fresh, live) if binder is not None else None
    if fresh and (step is None or block.op.name not in _OVERWRITE):
        return _cleared(block, states, step or _generic(block, states, t))
    return step or _generic(block, states, t)


def advance(block: Block, states: Floats, t: float) -> dict[str, Floats]:
    """Run the closed form in place; return the quantities that must be > 0, by target."""
    assert isinstance(block.op, Gadget)
    closed = block.op.closed(FLOAT, t, *arguments(block, states))
    for ref, end in zip(block.targets, closed.ends, strict=True):
        if isinstance(ref, Index):
            states[ref.registers] = end
        else:
            ref.of(states)[...] = end
    return dict(closed.alive)


def positive(quantity: Floats) -> bool:
    """Whether all are > 0 and finite: a quotient by ∞ would be a plausible 0."""
    return bool(((quantity > 0) & (quantity < np.inf)).all())


def _generic(block: Block, states: Floats, t: float) -> Step:
    def step() -> bool:
        alive = advance(block, states, t)
        if not all(map(positive, alive.values())):
            return False
        return all(bool(np.isfinite(ref.of(states)).all()) for ref in block.targets)

    return step


def _cleared(block: Block, states: Floats, step: Step) -> Step:
    """The step from 0."""

    def from_zero() -> bool:
        for ref in block.targets:
            mark(ref, states, 0.0)
        return step()

    return from_zero


def _tanh(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    if t <= 0 or not _contiguous(block):
        return None
    alpha, lam, source = (ref.of(states) for ref in block.refs())
    scaled = bool(block.tensors)
    if fresh and t == 1.0 and not scaled:

        def start_from_zero() -> bool:
            np.tanh(source, out=alpha)
            if live[1]:
                np.multiply(source, alpha, out=lam)
            return True

        return start_from_zero
    if not compiles():
        return None
    from integraph.flow.exact.riccati_flow import tanh_flow

    alpha, lam, source = alpha.reshape(-1), lam.reshape(-1), source.reshape(-1)

    def step() -> bool:
        return tanh_flow(alpha, lam, arguments(block, states)[1][0].reshape(-1) if scaled else source, t)

    return _cleared(block, states, step) if fresh else step


def _logistic(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """SiLU, ReLU and leaky ReLU: one flow, with k = 1 or c = 0 where a gadget has none. A lane that starts where the
    kernel's factors might underflow sends the chunk to the closed form."""
    if not compiles():
        return None
    from integraph.flow.exact.riccati_flow import logistic_flow

    (target, source), generic = block.refs(), _generic(block, states, t)
    k, c = (np.broadcast_to(block.tensors.get(name, default), target.shape).ravel() for name, default in _PLAIN.items())
    places, lanes, end = target.indices().ravel(), np.arange(target.size), np.empty((target.size, states.shape[1]))
    if "a" in block.tensors or "b" in block.tensors:

        def step() -> bool:
            x = arguments(block, states)[1][0].reshape(end.shape)
            return logistic_flow(states, places, x, lanes, t * k, c, end) or generic()

        return step
    given = (states, places, states, source.indices().ravel(), t * k, c, end)
    return lambda: logistic_flow(*given) or generic()


def _softmax(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    if not compiles() or not _contiguous(block):
        return None
    from integraph.flow.exact.softmax_flow import softmax_step

    return softmax_step(block, states, t, live)


def _gauss(c: float, driven: bool) -> Binder:
    """The binder of erf and GELU."""

    def bind(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
        if not compiles() or not _contiguous(block):
            return None
        from integraph.flow.exact.gauss_flow import gauss_step

        return gauss_step(block, states, t, live, _generic(block, states, t), c, driven)

    return bind


def _growth(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    if not compiles() or any(ref.shape[-1] > _GATHERED for ref in block.operands):
        return None
    from integraph.flow.exact.growth_flow import growth_step

    return growth_step(block, states, t, live, _generic(block, states, t))


def _contiguous(block: Block) -> bool:
    """Whether every role's registers come one after the other."""
    return all(isinstance(ref, View) and ref.contiguous for ref in block.refs())


_GATHERED = 64  # registers that a lane may read: a kernel lists them
_OVERWRITE = {"affine", "ramp", "product", "bilinear", "log_cosh", "tanh"}  # fast steps that do not read fresh targets
COMPILED = {"softmax", "shifted_softmax", "erf", "gelu", "silu", "relu", "leaky_relu"}  # whose steps are numba's
_PLAIN = {"k": np.ones(()), "c": np.zeros(())}

_FAST: dict[str, Binder] = {
    "affine": affine_steps.affine,
    "ramp": affine_steps.ramp,
    "product": product_steps.product,
    "bilinear": product_steps.bilinear,
    "softmax": _softmax,
    "shifted_softmax": _softmax,
    "erf": _gauss(2.0, False),
    "gelu": _gauss(1.0, True),
    "monomial": linear_steps.monomial,
    "log_cosh": linear_steps.log_cosh,
    "decay": linear_steps.decay,
    "relax": linear_steps.decay,
    "drain": linear_steps.drain,
    "tanh": _tanh,
    "silu": _logistic,
    "relu": _logistic,
    "leaky_relu": _logistic,
    **dict.fromkeys(("powers", "spiral", "power_spiral"), _growth),
}
