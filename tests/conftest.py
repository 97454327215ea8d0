"""What all tests share."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fresh", derandomize=False, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """`make test` draws the same examples each time, so that what is red is red again; `make test-long`, which leaves
    out no marker, draws fresh ones."""
    settings.load_profile("same" if config.getoption("markexpr") else "fresh")


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
