"""The spectral norm against many digits, and where singular vectors are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from integraph.numbers import spectral_norm as module
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
