"""The fast steps of erf and GELU: a compiled loop where w starts at 0 or near it, else the closed form."""

from __future__ import annotations

from collections.abc import Callable

from integraph.flow.exact.affine_steps import Step, compiles
from integraph.gadgets.gadget import arguments
from integraph.numbers.arrays import Floats
from integraph.program import Block, View

Generic = Callable[[Block, Floats, float], Step]
Binder = Callable[[Block, Floats, float, bool, tuple[bool, ...]], Step | None]


def gauss(generic: Generic, c: float, driven: bool) -> Binder:
    """The binder of w' = x², h' = −cwh, y' = h, or y' = xh if `driven`; None where registers are not one after the
    other."""

    def bind(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
        refs = block.refs()
        if not compiles() or not all(isinstance(ref, View) and ref.contiguous for ref in refs):
            return None
        from integraph.flow.exact.gauss_flow import DOUBTFUL, FINE, centred_flow, gauss_flow

        w, h, y, source = (ref.of(states).reshape(-1) for ref in refs)
        closed_form, scaled, alone = generic(block, states, t), bool(block.tensors), not (live[0] or live[1])

        def step() -> bool:
            x = arguments(block, states)[1][0].reshape(-1) if scaled else source
            verdict = centred_flow(w, h, y, x, t, c, driven) if alone else DOUBTFUL
            if verdict == DOUBTFUL:
                verdict = gauss_flow(w, h, y, x, t, c, driven)
            return closed_form() if verdict == DOUBTFUL else verdict == FINE

        return step

    return bind
