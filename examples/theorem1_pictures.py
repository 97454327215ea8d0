"""Two pictures of Theorem 1: its partition of unity, and how width and depth grow as ε shrinks.

    python examples/theorem1_pictures.py [folder]

writes partition-of-unity.png and theorem1-scaling.png there, or into out/.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from integraph import Partition
from integraph.bounds.paper import theorem1
from integraph.constructions.theorem1.lean import Shape
from integraph.errors import UsageError
from integraph.numbers.multi_index import count
from integraph.plot import matplotlib_renderer
from integraph.plot.partition import figure
from picture import STYLE

SWEEP = tuple(10.0 ** (-k / 2) for k in range(2, 81))
DRAWN = 1e-16  # the smallest ε in the picture
ORDERS = {1: (2, 4, 8), 2: (2, 4, 8), 3: (2, 4, 8)}  # n, by dimension
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")  # told apart by colour-blind people too, and by lightness
DASHES = {2: "solid", 4: (0, (5, 1.5)), 8: (0, (1.5, 1.2))}
N, C = 3, 20.0  # of Figure 1


class Size(NamedTuple):
    """W and D for f of norm 1: the paper's, and those of lean with the same cells, all bumps at once."""

    eps: float
    width: int
    depth: int
    lean_width: int
    lean_depth: int


def sweep(d: int, n: int) -> list[Size]:
    """From ε = 0.1 down to 1e-40, as far as the paper's N is at most 10^7."""
    found = []
    for eps in SWEEP:
        try:
            cells = theorem1.paper(d, n, eps).N
        except UsageError:
            break
        lean = Shape(d, 1, cells, n, d // 2, (cells + 1) ** (d - d // 2), read_in=False)
        depth = theorem1.depth(d, cells, count(d, n) * (cells + 1) ** d)
        found.append(Size(eps, theorem1.width(d, cells), depth, lean.width, lean.depth))
    return found


def slope(sizes: list[Size], of: str) -> float:
    """The exponent of ε, fitted over the smaller half of its logarithms: for large ε rounding N up shows."""
    small = sizes[len(sizes) // 2 :]
    return float(np.polyfit(np.log([s.eps for s in small]), np.log([getattr(s, of) for s in small]), 1)[0])


def scaling(path: Path) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 5.2), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        for d, orders in ORDERS.items():
            for n in orders:
                sizes = sweep(d, n)
                look = {"color": COLOURS[d - 1], "linestyle": DASHES[n], "linewidth": 1.7}
                for axes, of in ((left, "width"), (middle, "depth")):
                    exponent = f"{slope(sizes, of):.3f}".replace("-0.000", "0").replace("-", "−")
                    _curve(
                        axes, sizes, [getattr(size, of) for size in sizes], label=f"d={d}, n={n}: {exponent}", **look
                    )
        for d in ORDERS:
            sizes = sweep(d, 4)
            look = {"color": COLOURS[d - 1], "linewidth": 1.7}
            _curve(right, sizes, [size.width * size.depth for size in sizes], label=f"d={d}, paper", **look)
            lean = [size.lean_width * size.lean_depth for size in sizes]
            _curve(right, sizes, lean, label=f"d={d}, lean", linestyle=(0, (1, 1)), **look)
        left.set_title(r"Paper: width W, in theory $\varepsilon^{-1/n}$", loc="left")
        middle.set_title(r"Paper: depth D, in theory $\varepsilon^{-(d-1)/n}$", loc="left")
        right.set_title("W·D for n = 4, both with the paper's N", loc="left")
        for axes, title in ((left, "fitted exponents"), (middle, "fitted exponents"), (right, None)):
            axes.set(xscale="log", yscale="log", xlabel="ε")
            axes.set_xticks([1e-1, 1e-4, 1e-8, 1e-12, 1e-16])
            axes.invert_xaxis()
            axes.grid(color="#e6e6e6", linewidth=0.7)
            axes.set_axisbelow(True)
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 3, "columnspacing": 1.0}
            axes.legend(title=title, fontsize=7.5, title_fontsize=8.5, frameon=False, handlelength=2.6, **below)
        figure.savefig(path, dpi=110, pil_kwargs={"optimize": True})


def _curve(axes: Axes, sizes: list[Size], values: list[int], **look: Any) -> None:
    shown = sum(size.eps >= DRAWN for size in sizes)
    axes.plot([size.eps for size in sizes[:shown]], values[:shown], **look)


def partition_of_unity(path: Path) -> None:
    """Figure 1 of the paper; below, the same on a logarithmic scale, and the approximate supports S_k."""
    matplotlib_renderer.save(figure(Partition(N, C)), path)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for draw, name in ((partition_of_unity, "partition-of-unity"), (scaling, "theorem1-scaling")):
        draw(folder / f"{name}.png")
        print(f"{folder / name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
