"""What benchmarks and pictures of Theorem 1 rest on: the list of functions, the counts of the theorem, the drawings."""

import math
from pathlib import Path

import numpy as np
import pytest

import integraph
from gallery import FUNCTIONS, VARIABLES
from lazy import Lazy

pictures = Lazy("theorem1_pictures")


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_dozen_functions_of_each_dimension(d: int) -> None:
    """They can be read, use all their variables, and are finite and of size 1 on the cube."""
    x = np.random.default_rng(0).random((200, d))
    assert len(FUNCTIONS[d]) >= 12
    for text in FUNCTIONS[d].values():
        assert integraph.function(text).variables == VARIABLES[d]
        assert 0.01 < np.abs(integraph.function(text).values(x)).max() < 10


def test_franke() -> None:
    def franke(x: float, y: float) -> float:
        a, b = 9 * x, 9 * y
        hills = 0.75 * math.exp(-0.25 * ((a - 2) ** 2 + (b - 2) ** 2)) + 0.5 * math.exp(
            -0.25 * ((a - 7) ** 2 + (b - 3) ** 2)
        )
        return (
            hills
            + 0.75 * math.exp(-((a + 1) ** 2) / 49 - (b + 1) / 10)
            - 0.2 * math.exp(-((a - 4) ** 2) - (b - 7) ** 2)
        )

    x = np.random.default_rng(1).random((50, 2))
    found = integraph.function(FUNCTIONS[2]["Franke"]).values(x)[:, 0]
    assert found == pytest.approx([franke(*point) for point in x.tolist()], rel=1e-13)


@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 4), (2, 2), (2, 8), (3, 2), (3, 4), (3, 8)])
def test_width_and_depth_are_powers_of_the_tolerance(d: int, n: int) -> None:
    """W ∝ ε^(−1/n) and D ∝ ε^(−(d−1)/n) for the paper; lean's W ∝ ε^(−⌈d/2⌉/n), and its D is a constant."""
    sizes = pictures.sweep(d, n)
    assert pictures.slope(sizes, "width") == pytest.approx(-1 / n, rel=0.01)
    assert pictures.slope(sizes, "depth") == pytest.approx(-(d - 1) / n, rel=0.01, abs=0.001)
    assert pictures.slope(sizes, "lean_width") == pytest.approx(-math.ceil(d / 2) / n, rel=0.01)
    assert len({size.lean_depth for size in sizes}) == 1


@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    pictures.main(tmp_path)
    for name in ("partition-of-unity", "theorem1-scaling"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
