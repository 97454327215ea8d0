"""Units of a recurrent net: four new variables each are found at any size, true against scipy on the net itself."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph.constructions.lifting import construction
from integraph.constructions.lifting.construction import _units
from integraph.constructions.lifting.variants import variants
from integraph.frontends.dynamics import read_system
from slow import mostly_slow

FUNCTIONS = {  # and new variables for each unit
    "exp": (np.exp, 2),
    "tanh": (np.tanh, 4),
    "sin": (np.sin, 2),
}


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, n)).round(2)


@pytest.mark.parametrize(
    ("n", "seconds"), [pytest.param(8, 2.0, marks=pytest.mark.slow), pytest.param(31, 60.0, marks=pytest.mark.slow)]
)
def test_a_dense_net_of_many_units_is_lifted(n: int, seconds: float) -> None:
    w = weights(n)
    system = integraph.lift(lambda y: -y + np.tanh(w @ y), states=n, seconds=seconds, progress=False)
    assert len(system.new) == 4 * n
    start = np.random.default_rng(1).uniform(-0.2, 0.2, n)
    true = solve_ivp(lambda _t, y: -y + np.tanh(w @ y), (0, 1.0), start, "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert np.abs(system.simulate(start, [1.0]).states[0, -1] - true).max() < 1e-11


@mostly_slow("name", FUNCTIONS, quick=1)
def test_units_need_no_search(name: str) -> None:
    function, each = FUNCTIONS[name]
    w = weights(3)
    system = read_system(lambda y: -y + function(w @ y), states=3)
    sizes = [len(units[0]) + len(one.forced) for one in variants(system) if (units := _units(one))]
    assert min(sizes) <= 3 * each
    with patch.object(construction, "FIRST", 0):
        assert (
            len(integraph.lift(lambda y: -y + function(w @ y), states=3, seconds=0.5, progress=False).new) <= 3 * each
        )
