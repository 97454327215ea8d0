"""What all tests share."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """A module's RNG starts anew for each test, so that no test depends on which ran before it."""
    if hasattr(request.module, "RNG"):
        request.module.RNG = np.random.default_rng(5)
