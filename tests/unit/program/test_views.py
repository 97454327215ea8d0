"""Views of the register file behave as numpy views do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Index, View
from integraph.errors import SpecError
from integraph.program.views import dense

BOUNDS = st.none() | st.integers(-7, 7)
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.sampled_from([None, 1, 2, -1, -3]))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_slicing_is_numpys(shape: list[int], data: st.DataObject) -> None:
    registers = np.arange(5, 5 + np.prod(shape)).reshape(shape)
    view = dense(5, shape)
    keys = tuple(data.draw(SLICES) for _ in shape)
    assert np.array_equal(view[keys].indices(), registers[keys])
    axes = data.draw(st.permutations(range(len(shape))))
    assert np.array_equal(view.transpose(*axes).indices(), registers.transpose(axes))
    assert np.array_equal(view.broadcast((3, *shape)).indices(), np.broadcast_to(registers, (3, *shape)))


@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.data())
def test_rows_extent_and_states(shape: list[int], data: st.DataObject) -> None:
    view = dense(2, shape).transpose(*data.draw(st.permutations(range(len(shape)))))[::-1]
    registers = view.indices()
    assert view.extent() == (registers.min(), registers.max())
    lead = data.draw(st.integers(1, len(shape)))
    flat = registers.reshape(int(np.prod(view.shape[:lead])), -1)
    lanes = np.array(data.draw(st.lists(st.integers(0, len(flat) - 1), min_size=1)))
    assert np.array_equal(view.rows(lanes, lead), flat[lanes])
    assert np.array_equal(Index(registers).rows(lanes, lead), flat[lanes])
    states = np.random.default_rng(0).normal(size=(2 + int(np.prod(shape)), 3))
    assert np.array_equal(view.of(states), states[registers])
    assert view.contiguous <= bool((np.diff(registers.ravel()) == 1).all())


def test_a_view_writes_where_it_says() -> None:
    states = np.zeros((6, 2))
    dense(0, (2, 3)).transpose(1, 0)[1].of(states)[...] = 1.0
    assert states[:, 0].tolist() == [0, 1, 0, 0, 1, 0]


def test_misuse_is_named() -> None:
    with pytest.raises(SpecError, match="integers and slices"):
        dense(0, (4,))[[0, 1]]
    with pytest.raises(SpecError, match="reshape"):
        View(0, (2, 2), (1, 2)).reshape(4)
    assert dense(0, (4,)).reshape(2, -1).shape == (2, 2)
