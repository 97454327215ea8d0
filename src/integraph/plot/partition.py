"""The partition of unity of Theorem 1: Lemma 4's ψ_0 … ψ_N. For N = 3, c = 20 it is Figure 1 of the paper."""

from __future__ import annotations

import numpy as np

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.plot.labels import part_of, subscript
from integraph.plot.picture import DASHED, Curve, Level, Panel, Picture, alone
from integraph.plot.subject import Subject
from integraph.program import Block, Program
from integraph.program.origin import THEOREM1

FUNCTIONS = 24  # that are drawn
POINTS = 161  # of a function, where it is not small
SMALL = 1e-9  # below, a function is not drawn
LEGEND = 12
CELLS = {"partition": 1, "log_cosh": 0}  # gadgets that make bumps: lanes of a row, more than N


def partition(s: Subject) -> Picture | str:
    """That of the program's own bumps."""
    bumps = read_back(s.program)
    return bumps if isinstance(bumps, str) else figure(bumps)


def read_back(program: Program) -> Partition | str:
    """N and c, from the blocks that make bumps: Lemma 4's own, or ln cosh at all steps γ_k."""
    for segment in program.segments:
        for block in segment.blocks:
            shape = block.targets[0].shape
            if block.op.name in CELLS and shape:
                bumps = _partition_of(shape[-1] - CELLS[block.op.name], block)
                if bumps is not None:
                    return bumps
    if program.origin is not None and program.origin.method in THEOREM1:
        return "Theorem 1 with one cell (N = 0) needs no partition of unity"
    return "the program is not built on a partition of unity, as those of Theorem 1 are (method='lean')"


def _partition_of(N: int, block: Block) -> Partition | None:
    """The partition whose z_k = c(x − γ_k) the block holds as a·x + b_k, if it does."""
    a, b = block.tensors.get("a"), block.tensors.get("b")
    if a is None or b is None or a.size != 1 or b.size != N or not float(a.reshape(())) > 0:
        return None
    bumps = Partition(N, float(a.reshape(())))
    return bumps if np.allclose(b.ravel(), -bumps.c * bumps.steps, rtol=1e-12) else None


def figure(partition: Partition) -> Picture:
    """ψ_k and their sum; below, the same on a logarithmic axis with δ, the largest ψ_k outside its support."""
    last = min(partition.N, FUNCTIONS - 1)
    end = 1.0 if last == partition.N else (last - 1) / partition.N
    curves = tuple(_function(partition, k, end) for k in range(last + 1))
    x = np.linspace(0.0, end, 1001)
    total = Curve(x, partition(x).sum(0), "their sum", 7, DASHED)
    name, legend = f"N = {partition.N}, c = {partition.c:g}", len(curves) <= LEGEND
    above = Panel("", "x", "ψₖ(x)", (*curves, total), legend=legend)
    levels = (Level(partition.delta, f"δ(c) = {partition.delta:.4g}"),) if partition.delta > SMALL else ()
    below = Panel("", "x", "ψₖ(x), logarithmic", curves, levels=levels, log_y=True, legend=False)
    says = (
        f"{part_of(len(curves), partition.N + 1, 'function').capitalize()}, ψₖ near 1 around x = k/N, small elsewhere: "
        f"outside of its support [(k − 1)/N, (k + 1)/N] at most δ(c) = {partition.delta:.4g}. Values below "
        f"{SMALL:g} are not drawn."
    )
    panels = (above, below, _supports(partition)) if legend else (above, below)
    return alone("partition", f"Partition of unity, {name}", says, *panels, stacked=True)


def _supports(partition: Partition) -> Panel:
    """S_k as lines below each other."""
    curves, ticks = [], []
    for k in range(partition.N + 1):
        curves.append(Curve(np.array(partition.support(k)), np.array([-k, -k], np.float64), f"S{subscript(k)}", k))
        ticks.append((float(-k), f"S{subscript(k)}"))
    return Panel("", "x", "supports", tuple(curves), legend=False, y_ticks=tuple(ticks))


def _function(partition: Partition, k: int, end: float) -> Curve:
    """ψ_k where it is not small: it falls like e^{−2κ|s|}, s cells away from its edge."""
    cells = max(partition.N, 1)
    reach = 0.5 - np.log(SMALL) / (2.0 * partition.kappa)
    x = np.linspace(max((k - reach) / cells, 0.0), min((k + reach) / cells, end), POINTS)
    return Curve(x, partition.some(x, np.array(k)), f"ψ{subscript(k)}", k)
