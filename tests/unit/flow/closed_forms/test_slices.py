"""Gathers as slices: the same numbers as by indices."""

from __future__ import annotations

import numpy as np
import pytest

from integraph.flow.closed_forms.slices import slices

ROW = np.arange(60)
VIEWS = {
    "all": ROW,
    "part": ROW[7:19],
    "every third": ROW[1::3],
    "a transpose": ROW.reshape(3, 4, 5).transpose(2, 0, 1),
    "a block": ROW.reshape(6, 10)[2:5, 3:9:2].T,
    "repeated": np.broadcast_to(ROW[5:9], (3, 4)),
    "one": ROW[[59]],
    "a column": ROW.reshape(12, 5)[:, 4],
}


def taken(indices: np.ndarray) -> np.ndarray | None:
    how = slices(indices, len(ROW))
    if how is None:
        return None
    row = ROW
    for cut in how.cuts:
        row = row[..., : cut.length].reshape(*row.shape[:-1], -1, cut.size)[..., cut.first : cut.stop, :]
    row = row[..., how.first].transpose(how.order)
    return np.broadcast_to(row.reshape(how.shape), indices.shape)


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    result = taken(VIEWS[name])
    assert result is not None
    assert (result == VIEWS[name]).all()


def test_what_follows_no_strides() -> None:
    assert taken(np.array([1, 2, 4])) is None
    assert taken(ROW[::-1]) is None
