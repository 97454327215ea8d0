"""Faults of ranges of registers: the text of a module, what it becomes, and the case that notices it."""

from __future__ import annotations

FAULTS: dict[str, tuple[str, str, str, str]] = {
    # pieces of time
    "a first piece that is left out": ("ranges.pieces", "for pair in pairwise(ends)]",
        "for pair in list(pairwise(ends))[1:]]", "arctan, which turns at once"),
    "a half of a piece that is left out": ("ranges.pieces", "self._piece(piece.begin, ends[-1], over),", "",
        "arctan, which turns at once"),
    "pieces of another segment's length": ("ranges.pieces", "(finish.time - begin.time) * self.duration, np.inf",
        "0.1 * (finish.time - begin.time) * self.duration, np.inf", "sin and cos"),
    "a register read second, taken for constant": ("ranges.pieces", "for read in (terms.j, terms.k):",
        "for read in (terms.j,):", "a drain that turns"),
    "a register read first, taken for constant": ("ranges.pieces", "for read in (terms.j, terms.k):",
        "for read in (terms.k,):", "sin and cos"),
    "a register that turns, taken for monotone": ("ranges.pieces", "terms[wanted[terms.i]], ~turns",
        "terms[wanted[terms.i]], turns", "sin and cos"),
    "the time of another rate": ("ranges.segment_flow", "arb(segment.duration) * abs(arb(segment.rate))",
        "arb(segment.duration)", "sin and cos at another rate"),
    "the time of the end alone": ("ranges.segment_flow", "conversion.interval(first, last)",
        "conversion.interval(last, last)", "arctan, which turns at once"),
    # slopes
    "a slope without its falls": ("ranges.slopes", "np.maximum(-slope.low, 0.0)", "0.0 * slope.low", "sin and cos"),
    "products that are squares": ("ranges.slopes", "np.where(square, np.maximum(products.low, 0.0), products.low)",
        "np.maximum(products.low, 0.0)", "sin and cos"),
    "sums without rounding": ("ranges.slopes", "2 * lengths * U * np.add", "0 * lengths * U * np.add", "sums of terms"),
    # models
    "x tanh x of the other sign": ("bounds.gadget_models", "size if t >= 0", "neg(size) if t >= 0", "tanh"),
    "x tanh x that is positive at all times": ("bounds.gadget_models", "else neg(size) if t <= 0",
        "else size if t <= 0", "tanh backwards"),
    "a logistic start that is halved": ("bounds.gadget_models", "if _nonzero(gain) else x * wave",
        "if _nonzero(gain) else 0.5 * x * wave", "sigmoid backwards"),
    "a solution that ends unnoticed": ("ranges.model_flow", "np.where(alive, np.concatenate([known.low",
        "np.where(True, np.concatenate([known.low", "an escape"),
}  # fmt: skip
