"""The spectral norm against many digits, and where singular vectors are wrong."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from faults import fault
from integraph.numbers import spectral_norm as module
from integraph.numbers.arrays import Floats
from integraph.numbers.spectral_norm import spectral_norm


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (6, 2), (4, 4)])
@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e290])
def test_just_above(shape: tuple[int, int], scale: float) -> None:
    W = scale * np.random.default_rng(sum(shape)).standard_normal(shape)
    with mp.workdps(40):
        right = max(mp.svd_r(mp.matrix(W.tolist()), compute_uv=False))
        assert right <= spectral_norm(W) <= right * (1 + mp.mpf(10) ** -10)


def test_special_matrices() -> None:
    assert spectral_norm(np.zeros((3, 2))) == 0.0
    assert spectral_norm(np.full((2, 2), 1e305)) == np.inf
    assert spectral_norm(np.full((2, 2), np.nan)) == np.inf
    assert 1.0 <= spectral_norm(np.eye(5)) <= 1.0 + 1e-10


@pytest.mark.parametrize("wrong", [0.0, 0.3, 2.0])
def test_wrong_vectors(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    """It is above whatever the decomposition says."""
    W, norm = np.random.default_rng(0).standard_normal((6, 4)), np.linalg.norm
    monkeypatch.setattr(module.np.linalg, "svd", lambda *_, **__: (None, None, np.eye(4) + wrong * np.eye(4)[::-1]))
    assert norm(W, 2) <= spectral_norm(W) <= norm(W) * (1 + 1e-9)


def rational(A: Floats) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in A.tolist()]


def exact_product(A: Floats, B: Floats) -> list[list[Fraction]]:
    columns = list(zip(*rational(B), strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns]
            for row in rational(A)]  # fmt: skip


def shrunk() -> bool:
    """Vectors along which the matrix is seen a fifth shorter than it is."""
    W, V = np.outer(np.ones(6), [1.0, 0.0, 0.0, -1.0]), np.eye(4) + 0.2 * np.eye(4)[::-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.np.linalg, "svd", lambda *_, **__: (None, None, V))
        return bool(spectral_norm(W) >= np.sqrt(12.0))


def lossy() -> bool:
    """A product that is half of what it is, and says so."""
    W, product = np.random.default_rng(0).standard_normal((6, 4)), module._product

    def half(A: Floats, B: Floats) -> tuple[Floats, float]:
        whole, lost = product(A, B)
        return 0.5 * whole, lost + 0.5 * float(np.linalg.norm(whole, 2))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_product", half)
        return bool(spectral_norm(W) >= np.linalg.norm(W, 2))


def rank_one() -> bool:
    """Where the Frobenius norm is the norm."""
    columns = (np.random.default_rng(n).standard_normal((7, 1)) for n in range(60))
    return all(Fraction(spectral_norm(W)) ** 2 >= exact_product(W.T, W)[0][0] for W in columns)


def subnormal() -> bool:
    W = np.full((2, 1), 5e-324)
    return Fraction(spectral_norm(W)) ** 2 >= 2 * Fraction(5e-324) ** 2


def products() -> bool:
    """How far a product is off, without the slack of bounds."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, B = rng.standard_normal((3, 4)), rng.standard_normal((4, 3))
        product, lost = module._product(A, B)
        off = zip(exact_product(A, B), rational(product), strict=True)
        if sum((x - y) ** 2 for a, b in off for x, y in zip(a, b, strict=True)) > Fraction(lost) ** 2:
            return False
    return True


def grams() -> bool:
    """Row sums of AᵀA and of AᵀA − I, without the slack of bounds."""
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "UP", 1.0)
        for n in range(60):
            A, less = rng.standard_normal((3, 3)), n % 2
            right = exact_product(A.T, A)
            most = max(sum(abs(x - less * (i == j)) for j, x in enumerate(row)) for i, row in enumerate(right))
            if module._largest_row(A.T @ A - less * np.eye(3), A) < most:
                return False
    return True


CASES: dict[str, Callable[[], bool]] = {
    "shrunk": shrunk, "lossy": lossy, "rank one": rank_one, "subnormal": subnormal, "products": products,
    "grams": grams,
}  # fmt: skip
FAULTS = {
    "vectors taken for orthogonal": ("math.sqrt(1.0 - away)", "1.0", "shrunk"),
    "half of how far they are from it": ("math.sqrt(1.0 - away)", "math.sqrt(1.0 - 0.4 * away)", "shrunk"),
    "a product that is taken for exact": (
        "product.T @ product, product)) + lost)", "product.T @ product, product)))", "lossy",
    ),
    "a Frobenius norm that is too small": ("frobenius = UP * float", "frobenius = (2 - UP) * float", "rank one"),
    "a power of two to nearest": (
        "math.nextafter(math.ldexp(norm, exponent), math.inf)", "math.ldexp(norm, exponent)", "subnormal",
    ),
    "a product without rounding": ("UP * len(B) * U * math.prod(sizes)", "0.0", "products"),
    "Gram matrices without rounding": ("(np.abs(gram) + UP * lost)", "np.abs(gram)", "grams"),
    "the smallest row": (".sum(1).max()", ".sum(1).min()", "grams"),
    "one side of the rows": ("(np.abs(gram) + UP", "(gram + UP", "grams"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_without_a_fault(name: str) -> None:
    assert CASES[name]()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_noticed(name: str) -> None:
    before, after, noticing = FAULTS[name]
    with fault(module, before, after):
        assert not CASES[noticing]()
