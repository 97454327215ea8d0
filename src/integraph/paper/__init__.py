"""The paper from beginning to end, computed: `reproduce()` has a row for each of its items and for each erratum.

Only the column "the paper says" quotes. The names of the rows are those of docs/paper-map.md.

Read `rows`, `items`, `equations`, `lemma4_equations`, `integrator` and `digits`, then `reproduction` and `html`.
"""

from __future__ import annotations

from collections.abc import Callable

from integraph.paper.items import errata, errata_theorem2, lemma4, lemmas, model, theorem1, theorem2
from integraph.paper.reproduction import Reproduction
from integraph.paper.rows import Item, PaperRow, clear_cache

__all__ = ["ITEMS", "PaperRow", "Reproduction", "reproduce"]

ITEMS: tuple[Item, ...] = (
    *model.ITEMS,
    *lemmas.ITEMS,
    *lemma4.ITEMS,
    *theorem1.ITEMS,
    *theorem2.ITEMS,
    *errata.ITEMS,
    *errata_theorem2.ITEMS,
)


def reproduce(progress: Callable[[str], object] | None = None) -> Reproduction:
    """Compute every row. `progress` is told the name of each of the `len(ITEMS)` items before its turn."""
    rows = []
    try:
        for item in ITEMS:
            if progress is not None:
                progress(item.name)
            rows.append(item.row())
    finally:
        clear_cache()
    return Reproduction(tuple(rows))
