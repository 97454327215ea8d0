"""Linear forms of a value, an entry for each of its entries: arrays (cells, forms, entries), or on one cell sparse
matrices (forms, entries), as long as few entries are not 0. A form of what a convolution computes sees a part of the
image alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats, Indices

if TYPE_CHECKING:
    from integraph.certify.bounds.sparse_maps import Matrix, Sparse

    Form = Floats | Sparse

DENSE = 1 / 16  # share of entries from which a form is an array
SPARSE_TIMES, DENSE_TIMES = 16.0, 0.1  # what a product of two sparse, two dense matrices costs, of one with either


def units(entries: Indices, size: int, sign: float, cells: int) -> Form:
    """±1 times one entry of a value each."""
    rows = scipy.sparse.csr_array(
        (np.full(len(entries), sign), (np.arange(len(entries)), entries)), (len(entries), size)
    )
    return rows if cells == 1 else np.repeat(rows.toarray()[None], cells, 0)


def dense(form: Form) -> Floats:
    return form if isinstance(form, np.ndarray) else form.toarray()[None]


def count(form: Form) -> int:
    """How many numbers it holds."""
    return form.size if isinstance(form, np.ndarray) else int(form.nnz)


def thinned(form: Form) -> Form:
    """As an array if it is not thin."""
    if isinstance(form, np.ndarray) or form.nnz <= DENSE * form.shape[0] * form.shape[1]:
        return form
    return form.toarray()[None]


def times(form: Form, entries: Floats) -> Floats:
    """Σ form·entries, cell by cell, for entries (cells, entries): (cells, forms)."""
    if isinstance(form, np.ndarray):
        result: Floats = np.matmul(form, entries[..., None])[..., 0]
        return result
    return np.asarray(form @ entries[0])[None]


def sizes(form: Form) -> Form:
    """Absolute values."""
    return np.abs(form) if isinstance(form, np.ndarray) else _with(form, np.abs(form.data))


def sloped(form: Form, low: Floats, high: Floats) -> Form:
    """Times slopes (cells, entries): `low` where it is positive, `high` where it is negative."""
    if isinstance(form, np.ndarray):
        return form * (low[:, None] if low is high else np.where(form >= 0, low[:, None], high[:, None]))
    low, high = (np.broadcast_to(slope[0], form.shape[1])[form.indices] for slope in (low, high))
    return _with(form, form.data * np.where(form.data >= 0, low, high))


def least(form: Form, below: Floats, above: Floats) -> Floats:
    """Σ form·x at least, for x between these, (cells, entries)."""
    if isinstance(form, np.ndarray):
        return times(np.maximum(form, 0.0), below) + times(np.minimum(form, 0.0), above)
    positive, negative = _with(form, np.maximum(form.data, 0.0)), _with(form, np.minimum(form.data, 0.0))
    return times(positive, below) + times(negative, above)


def mapped(form: Form, A: Matrix) -> Form:
    """Forms of u, where these are forms of A u."""
    if not isinstance(form, np.ndarray):
        image = form @ A
        return image[None] if isinstance(image, np.ndarray) else thinned(image)
    rows = form.reshape(-1, A.shape[0])
    image = rows @ A if isinstance(A, np.ndarray) else (A.T @ rows.T).T
    return image.reshape(*form.shape[:2], A.shape[1])


def multiplications(form: Form, A: Matrix) -> float:
    """What `mapped` costs, about."""
    if isinstance(A, np.ndarray):
        return DENSE_TIMES * count(form) * int(A.shape[1])
    if isinstance(form, np.ndarray):
        return float(A.nnz * form.shape[0] * form.shape[1])
    return SPARSE_TIMES * float(np.diff(A.indptr)[form.indices].sum())


def gathered(form: Form, index: Indices, size: int) -> Form:
    """Forms of u, of so many entries, where these are forms of u[index]."""
    columns = (np.ones(len(index)), (np.arange(len(index)), index))
    return mapped(form, scipy.sparse.csr_array(columns, (len(index), size)))


def added(a: Form, b: Form) -> Form:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return dense(a) + dense(b)
    return thinned(a + b)


def _with(form: Sparse, data: Floats) -> Sparse:
    return scipy.sparse.csr_array((data, form.indices, form.indptr), form.shape)
