"""How far the gadgets of a graph end from where they should when they start slightly off, by the gadget's name.

Registers freed by decay hold a residue of earlier values, stored constants are rounded, and operands carry earlier
errors. `GRAPH_WRONG[name](case)` gives, for every register of a gadget, where it should end and how far off it can be:
rigorously, and ∞ where there is no bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from integraph.bounds.perturbation import elementary_functions, power_products
from integraph.bounds.perturbation.activation_errors import Sizes
from integraph.bounds.perturbation.case import PerturbedEnd, PerturbedStart, Ranges
from integraph.bounds.perturbation.softmax_rows import log_softmax, log_sum_exp, softmax
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet

GRAPH_WRONG: dict[str, Callable[[PerturbedStart], dict[str, PerturbedEnd]]] = {
    **elementary_functions.WRONG,
    **power_products.WRONG,
    "softmax": softmax,
    "shifted_softmax": softmax,
    "log_softmax": log_softmax,
    "log_sum_exp": log_sum_exp,
}


@quiet
def perturbed_ends(
    gadget: str,
    starts: Ranges,
    off: Sizes,
    tensors: Mapping[str, Floats] | None = None,
    known: Ranges | None = None,
    lost: float = 0.0,
    own: Sizes | None = None,
) -> dict[str, PerturbedEnd]:
    """The end of every target of a gadget, from the ranges of its targets' starts and of its operands, and bounds `off`
    of how far these are off; both by role, arrays of the shapes of the roles. `off["share"]` says how far bases 1 + p
    are off relatively, if that is known; `lost` is the relative error of tensors that exponents are made of."""
    return GRAPH_WRONG[gadget](PerturbedStart(starts, off, tensors or {}, known or {}, lost, own or {}))
