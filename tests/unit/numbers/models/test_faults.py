"""A part of a bound that is left out, or halved where it is sharp, is noticed by the comparison with mpmath."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model_arithmetic import arithmetic
from model_faults import FAULTS
from model_fuzz import Count
from model_operations import OPERATIONS
from slow import mostly_slow

ROWS, SEEDS = 6000, 3


@pytest.mark.slow
def test_without_a_fault_nothing_is_outside() -> None:
    sound = arithmetic()
    for name in sorted({name for *_, names in FAULTS.values() for name in names}):
        assert _outside(sound, name, 300) == 0, name


@mostly_slow("fault", FAULTS, quick=6)
def test_a_fault_is_noticed(fault: str) -> None:
    module, before, after, names = FAULTS[fault]
    faulty = arithmetic({module: (before, after)})
    assert any(_outside(faulty, name, ROWS) for name in names)


def _outside(a: Any, name: str, rows: int) -> int:
    """How many of so many rows are outside; ends at the first."""
    operation, count = OPERATIONS[name], Count()
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        while count.compared < rows * (seed + 1) / SEEDS:
            try:
                count.add(*operation(a, rng, 25))
            except AssertionError:  # NaN, or ends in the wrong order
                return 1
            if count.outside:
                return count.outside
    return 0
