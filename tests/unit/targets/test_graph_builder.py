"""Constants of a graph: equal ones are one node, others are not, and what cannot change is not copied."""

from __future__ import annotations

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.targets.graph_builder import SAMPLE, Builder

SHAPE = (3 * SAMPLE, 5)


def numbers(seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=SHAPE)


def test_large_constants_are_merged_where_all_their_numbers_are_equal() -> None:
    b, first = Builder(), numbers()
    number = b.constant(first)
    others = []
    for at in range(first.size):  # whichever numbers are compared first, one of the others differs
        other = first.copy()
        other.flat[at] += 1.0
        others.append(b.constant(other))
    assert len({number, *others}) == 1 + first.size
    assert b.constant(first.copy()) == number
    assert [b.constant(b.nodes[n].value.copy()) for n in others] == others


def test_signs_of_zero_and_orders_in_memory_are_told_apart() -> None:
    b, zeros = Builder(), np.zeros(SHAPE)
    assert b.constant(zeros) != b.constant(-zeros)
    made = numbers()
    assert b.constant(made) != b.constant(np.asfortranarray(made))
    assert b.constant(made[:, ::2]) == b.constant(made[:, ::2].copy())


def test_an_array_is_copied_unless_nobody_can_write_it() -> None:
    b, own = Builder(), numbers()
    shown = own.view()
    shown.flags.writeable = False
    number = b.constant(shown)
    before = own.copy()
    own[:] = 0.0
    assert np.array_equal(b.nodes[number].value, before)
    own.flags.writeable = False
    for constant in (own, own.T):
        assert np.shares_memory(b.nodes[b.constant(constant)].value, own)
    spread = np.broadcast_to(numbers()[0], SHAPE)
    assert 0 not in b.nodes[b.constant(spread)].value.strides


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_constant_is_finite_or_a_mask(bad: float) -> None:
    array = numbers()
    array[2, 3] = -np.inf
    Builder().constant(array)
    array[4, 1] = bad
    with pytest.raises(SourceError, match=f"w holds {bad}: it is not a finite number"):
        Builder().constant(array, "w")
