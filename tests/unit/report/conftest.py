"""What reports are made of."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph import Program


@pytest.fixture(scope="session")
def program() -> Program:
    return integraph.compile("exp(-x)*sin(5*x)", 1e-3, method="lean", order=3)


@pytest.fixture(scope="session")
def net() -> tuple[integraph.Network, Program]:
    rng = np.random.default_rng(0)
    source = integraph.network([(rng.normal(size=(4, 2)), rng.normal(size=4), "tanh"), (rng.normal(size=(1, 4)), None)])
    return source, integraph.compile(source, 1e-6)
