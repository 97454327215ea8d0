"""Closed forms and the integrator that sees only the terms agree on random programs, failures included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from law import examples
from random_programs import moderate_program


@examples(150)
@given(st.integers(0, 2**32 - 1))
def test_exact_and_taylor_agree(seed: int) -> None:
    program = moderate_program(seed)
    x = np.random.default_rng(seed).normal(size=(4, program.inputs))
    exact, taylor = (program.flow(x, engine, rtol=1e-14, states=True) for engine in ("exact", "taylor"))
    assert [f.input for f in exact.failures] == [f.input for f in taylor.failures]
    for one, other in zip(exact.failures, taylor.failures, strict=True):
        assert (one.status, one.segment) == (other.status, other.segment)
    good = np.setdiff1d(np.arange(4), [f.input for f in exact.failures])
    a, b = exact.states[good], taylor.states[good]
    scale = np.maximum(np.abs(a), 1e-3 * np.abs(a).max(initial=0.0, axis=1, keepdims=True))
    assert (np.abs(a - b) <= 1e-10 * scale).all()
    assert np.allclose(exact.outputs, taylor.outputs, rtol=1e-9, atol=1e-9, equal_nan=True)
