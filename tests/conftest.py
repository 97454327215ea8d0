"""What all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True)  # a red run in CI must be red again at home, with CI=1
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """A module's RNG starts anew for each test, so that no test depends on which ran before it."""
    if hasattr(request.module, "RNG"):
        request.module.RNG = np.random.default_rng(5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test may write a program."""
    return tmp_path / "program.integraph"


@pytest.fixture
def seeded_torch() -> Iterator[None]:
    """For tests that make modules: the same weights in any order of tests."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'integraph[torch]'")
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield
