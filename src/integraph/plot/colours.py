"""The colours of pictures and pages, for every renderer: one set on white, one on dark ground, told apart by people
with any eyes. Plus is blue and minus is orange, in dots (numbers 0 and 1 of the palette) and in maps."""

from __future__ import annotations

PALETTE = (  # (on white, on dark) of each number of the palette; after Okabe and Ito, darkened or lightened to be seen
    ("#0072b2", "#5bb8f0"),
    ("#c84e00", "#ff9a5c"),
    ("#007556", "#2fd3a3"),
    ("#b0478a", "#ee9fcc"),
    ("#8a6a00", "#e8c547"),
    ("#6248a8", "#b9a3f5"),
    ("#3b7d23", "#9ad97f"),
    ("#555b66", "#b4bcc8"),
)
TEXT = ("#1b2430", "#e6eaf0")
MUTED = ("#566172", "#a6b0bf")
GRID = ("#e3e7ee", "#313a48")
LEVEL = ("#b3261e", "#ff8a80")
GROUND = ("#ffffff", "#171c24")
BANDS = (("#f3f6fa", "#1d242e"), ("#e9eef5", "#242c38"))  # of every other segment
SEQUENTIAL = (  # dark is little on white, bright is little on dark: the ground is where there is nothing
    ("#f2f7fb", "#10202e"),
    ("#b9d6ec", "#17476b"),
    ("#6baed6", "#2279b0"),
    ("#2171b5", "#6bb7e8"),
    ("#08306b", "#e2f2ff"),
)
DIVERGING = (
    ("#9c3a00", "#ff9a5c"),
    ("#e8a27a", "#8f4a1f"),
    ("#f7f7f7", "#1d242e"),
    ("#7fb4dc", "#1f5f91"),
    ("#00497a", "#7cc7f7"),
)


def scales() -> dict[str, list[list[str]]]:
    """The colours of heat maps, equally spaced: on white, then on dark ground."""
    named = {"sequential": SEQUENTIAL, "diverging": DIVERGING}
    return {name: [[pair[side] for pair in pairs] for side in (0, 1)] for name, pairs in named.items()}
