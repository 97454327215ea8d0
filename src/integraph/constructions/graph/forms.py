"""Polynomials of degree two over registers, lane by lane: what one segment can compute while it reads them.

An atom is a group of registers that hold a value, row-major. A term is w · x or w · x · v, summed over its last axis:
each factor is an atom seen through a view (or index array) of shape lanes + (R,), with offset 0 at the atom's first
register. A form is a sum of terms and a constant. Sums, products, views of lanes and sums over lanes of forms are forms
again, made by arithmetic on strides: no register is read and nothing of the size of the lanes is allocated. Where that
is impossible, `AtomRequired` says which form has to become an atom first.

Numbers are rounded, and equal terms are added up, so that they can cancel: each w and b is off by at most ops·U·size
from what it should be, where `size` is the sum of the sizes of what was added, or |w| or |b| itself if it is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from integraph.constructions.graph import rounding
from integraph.constructions.graph.rounding import roundings
from integraph.numbers.arrays import Floats
from integraph.program import Index, Ref, View
from integraph.program.views import dense

Shape = tuple[int, ...]
Change = Callable[[Any], Any]  # of an array of lanes
FEW = 8  # terms that may be computed more than once
COPY = 1 << 22  # weights that may be copied for a new order of lanes

_ANCHOR = np.zeros(1, np.int8)  # never read, as in program.views


class AtomRequired(Exception):
    """A form that must become an atom before this can be done with it."""

    def __init__(self, form: GraphForm) -> None:
        super().__init__()
        self.form = form


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """w · Π atoms; `refs` are lanes + (R,), `w` broadcasts to that, and has one axis if it is one number."""

    atoms: tuple[int, ...]
    refs: tuple[Ref, ...]
    w: Floats
    size: Floats | None = None
    ops: int = 0

    def __post_init__(self) -> None:
        if self.w.size == 1:
            object.__setattr__(self, "w", self.w.reshape(1))
        if self.size is not None and self.size.size == 1:
            object.__setattr__(self, "size", self.size.reshape(1))

    @property
    def reads(self) -> int:
        """R."""
        return self.refs[0].shape[-1]

    def key(self) -> tuple[Any, ...]:
        """Equal for terms that differ in weights only."""
        return tuple(sorted((a, _name(ref)) for a, ref in zip(self.atoms, self.refs, strict=True)))


def _name(ref: Ref) -> tuple[Any, ...]:
    if isinstance(ref, View):
        return 0, ref.offset, ref.shape, ref.strides
    return 1, 0, ref.shape, ref.registers.tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class GraphForm:
    """Σ terms + b; `b` broadcasts to the lanes' shape, and has no axis if it is one number."""

    shape: Shape
    terms: tuple[Term, ...]
    b: Floats
    size: Floats | None = None
    ops: int = 0

    def __post_init__(self) -> None:
        if self.b.size == 1:
            object.__setattr__(self, "b", self.b.reshape(()))
            object.__setattr__(self, "size", None if self.size is None else self.size.reshape(()))

    @property
    def degree(self) -> int:
        return max((len(term.atoms) for term in self.terms), default=0)

    @property
    def cost(self) -> int:
        """Terms of eq. (1) for each lane."""
        return sum(term.reads for term in self.terms)

    @property
    def heavy(self) -> bool:
        """Whether it is a matrix product."""
        return self.degree == 1 and any(term.reads > FEW and term.w.size > 1 for term in self.terms)

    @property
    def atoms(self) -> frozenset[int]:
        return frozenset(atom for term in self.terms for atom in term.atoms)

    @property
    def single(self) -> Term | None:
        """The one term of a form w·x + b, lane by lane."""
        one = len(self.terms) == 1 and self.degree == 1 and self.terms[0].reads == 1
        return self.terms[0] if one else None

    @property
    def plain(self) -> tuple[int, Ref] | None:
        """Atom and view of lanes, of a form that is nothing but registers."""
        term = self.single
        if term is None or self.b.any() or (term.w != 1).any():
            return None
        return term.atoms[0], drop_reads(term.refs[0])

    def key(self) -> tuple[Any, ...]:
        """Equal for equal forms."""
        weights = sorted((t.key(), t.w.shape, t.w.tobytes(), t.ops, _bytes(t.size)) for t in self.terms)
        return self.shape, tuple(weights), self.b.shape, self.b.tobytes(), self.ops, _bytes(self.size)


def _bytes(size: Floats | None) -> bytes:
    return b"" if size is None else size.tobytes()


def atom_form(atom: int, shape: Shape) -> GraphForm:
    """All of an atom."""
    return GraphForm(shape, (Term((atom,), (dense(0, (*shape, 1)),), np.ones(1)),), np.zeros(()))


def constant(shape: Shape, value: Any, ops: int | None = None) -> GraphForm:
    """`ops`: how many roundings the value has behind it, if that is not to be guessed."""
    b = np.asarray(value, np.float64)
    return GraphForm(shape, (), squeezed(np.broadcast_to(b, shape)), None, roundings(b) if ops is None else ops)


def change(ref: Ref, how: Change) -> Ref:
    """A new arrangement of a view's axes."""
    if isinstance(ref, Index):
        return Index(how(ref.registers))
    moved = how(as_strided(_ANCHOR, ref.shape, ref.strides))
    start = moved.ctypes.data - _ANCHOR.ctypes.data if moved.size else 0
    return View(ref.offset + start, moved.shape, moved.strides)


def drop_reads(ref: Ref) -> Ref:
    return change(ref, lambda a: a[..., 0])


def squeezed(w: Floats) -> Floats:
    """Without repetition: axes of stride 0 get length 1, and leading ones are dropped."""
    short = w[tuple(slice(0, 1) if step == 0 else slice(None) for step in w.strides)]
    lead = next((k for k, n in enumerate(short.shape) if n != 1), max(short.ndim - 1, 0))
    return short.reshape(short.shape[lead:])


def lanes(form: GraphForm, shape: Shape, how: Change) -> GraphForm:
    """The form with its lanes rearranged: `how` acts on an array whose axes are the lanes and one more, which stays."""
    terms = []
    for term in form.terms:
        refs = tuple(change(ref, how) for ref in term.refs)
        w, size = (_moved(x, (*form.shape, term.reads), how) for x in (term.w, term.size))
        assert w is not None
        terms.append(Term(term.atoms, refs, w, size, term.ops))
    b, size = (None if x is None else _moved_lanes(x, form.shape, how) for x in (form.b, form.size))
    assert b is not None
    return GraphForm(shape, tuple(terms), b, size, form.ops)


def _moved(w: Floats | None, shape: Shape, how: Change) -> Floats | None:
    return w if w is None or w.size == 1 else squeezed(how(np.broadcast_to(w, shape)))


def _moved_lanes(b: Floats, shape: Shape, how: Change) -> Floats:
    return squeezed(how(np.broadcast_to(b[..., None], (*shape, 1)))[..., 0]) if b.ndim else b


def transposed(form: GraphForm, order: Iterable[int]) -> GraphForm:
    axes = tuple(axis % len(form.shape) for axis in order)
    return lanes(form, tuple(form.shape[a] for a in axes), lambda a: a.transpose(*axes, len(axes)))


def sliced(form: GraphForm, key: tuple[slice, ...]) -> GraphForm:
    shape = np.broadcast_to(_ANCHOR, form.shape)[key].shape if form.shape else ()
    return lanes(form, shape, lambda a: a[(*key, slice(None))])


def broadcast(form: GraphForm, shape: Shape) -> GraphForm:
    if shape == form.shape:
        return form
    return lanes(form, shape, lambda a: np.broadcast_to(_aligned(a, len(shape)), (*shape, a.shape[-1])))


def inserted(form: GraphForm, axis: int) -> GraphForm:
    """With a new axis of length 1."""
    key = (slice(None),) * axis + (None,)
    return lanes(form, (*form.shape[:axis], 1, *form.shape[axis:]), lambda a: a[key])


def _aligned(a: Any, axes: int) -> Any:
    """New axes in front of the lanes."""
    return a[(None,) * (axes + 1 - a.ndim)]


def reshaped(form: GraphForm, shape: Shape) -> GraphForm:
    if shape == form.shape:
        return form

    def how(a: Any) -> Any:
        return a.reshape(*shape, a.shape[-1], copy=None if a.dtype != np.int8 and a.size <= COPY else False)

    try:
        return lanes(form, shape, how)
    except ValueError:
        raise AtomRequired(form) from None


def taken(form: GraphForm, axis: int, indices: tuple[int, ...]) -> GraphForm:
    """Lanes in any order along one axis."""
    return _gathered(form, lambda a: np.take(a, indices, axis))


def picked(form: GraphForm, indices: Any) -> GraphForm:
    """One lane of each row, along the last axis: `indices` has the shape of the rows."""
    where = indices[..., None, None]
    return _gathered(form, lambda a: np.take_along_axis(a, where, -2))


def _gathered(form: GraphForm, how: Change) -> GraphForm:
    """Lanes by index arrays; the last axis, of terms, stays."""
    terms = []
    for term in form.terms:
        refs = tuple(Index(how(ref.indices())) for ref in term.refs)
        w, size = (
            x if x is None or x.size == 1 else how(np.broadcast_to(x, (*form.shape, term.reads)))
            for x in (term.w, term.size)
        )
        assert w is not None
        terms.append(Term(term.atoms, refs, w, size, term.ops))
    b, size = (
        None if x is None else how(np.broadcast_to(x, form.shape)[..., None])[..., 0] for x in (form.b, form.size)
    )
    assert b is not None
    small = form.b if form.b.size == 1 else b
    return GraphForm(b.shape, tuple(terms), small, form.size if form.b.size == 1 else size, form.ops)


def add(*forms: GraphForm) -> GraphForm:
    """The sum; equal terms become one."""
    shape = np.broadcast_shapes(*(form.shape for form in forms))
    terms: dict[Any, Term] = {}
    for term in (term for form in forms for term in broadcast(form, shape).terms):
        key = term.key()
        known = terms.get(key)
        terms[key] = (
            term if known is None else Term(known.atoms, known.refs, *rounding.added(_number(known), _number(term)))
        )
    b = rounding.RoundedNumber(forms[0].b, forms[0].size, forms[0].ops)
    for form in forms[1:]:
        b = rounding.added(b, rounding.RoundedNumber(form.b, form.size, form.ops))
    kept = tuple(term for term in terms.values() if term.w.any() or (term.ops and term.size is not None))
    return GraphForm(shape, kept, *b)


def _number(term: Term) -> rounding.RoundedNumber:
    return rounding.RoundedNumber(term.w, term.size, term.ops)


def scaled(form: GraphForm, factor: Any, ops: int | None = None, size: Floats | None = None) -> GraphForm:
    """Lane by lane times numbers, with `ops` roundings of numbers as large as `size` behind them."""
    factor = np.asarray(factor, np.float64)
    by = rounding.RoundedNumber(factor, size, roundings(factor) if ops is None else ops)
    shape = np.broadcast_shapes(form.shape, factor.shape)
    wide = broadcast(form, shape)
    along = (
        by
        if not factor.ndim
        else rounding.RoundedNumber(factor[..., None], None if size is None else size[..., None], by.ops)
    )
    terms = tuple(Term(term.atoms, term.refs, *rounding.multiplied(_number(term), along)) for term in wide.terms)
    b = rounding.multiplied(rounding.RoundedNumber(wide.b, wide.size, wide.ops), by)
    return GraphForm(shape, terms if factor.ndim or factor or (by.ops and size is not None) else (), *b)


def shifted(form: GraphForm, by: float | Floats, ops: int | None = None) -> GraphForm:
    other = rounding.RoundedNumber(np.asarray(by), None, roundings(np.asarray(by)) if ops is None else ops)
    return GraphForm(
        form.shape, form.terms, *rounding.added(rounding.RoundedNumber(form.b, form.size, form.ops), other)
    )


def product(f: GraphForm, g: GraphForm) -> GraphForm:
    """Every term of one times every term of the other, of degree two at most."""
    shape = np.broadcast_shapes(f.shape, g.shape)
    if not f.terms or not g.terms:
        other, number = (f, g) if f.terms else (g, f)
        return scaled(broadcast(other, shape), number.b, number.ops, number.size)
    for form, other in ((f, g), (g, f)):
        if form.degree > 1 or (form.terms and any(t.reads > 1 for t in form.terms) and other.degree):
            raise AtomRequired(form)
    f, g = broadcast(f, shape), broadcast(g, shape)
    pairs = tuple(
        Term((*s.atoms, *t.atoms), (*s.refs, *t.refs), *rounding.multiplied(_number(s), _number(t)))
        for s in f.terms
        for t in g.terms
    )
    linear = [GraphForm(shape, h.terms, np.zeros(())) for h in (f, g)]
    both = rounding.multiplied(*(rounding.RoundedNumber(h.b, h.size, h.ops) for h in (f, g)))
    parts = [GraphForm(shape, pairs, *both)]
    parts += [
        scaled(h, o.b, o.ops, o.size) for h, o in zip(linear, (g, f), strict=True) if o.b.any() or o.size is not None
    ]
    return add(*parts)


def summed(form: GraphForm) -> GraphForm:
    """The sum over the last axis of lanes."""
    shape, n = form.shape[:-1], form.shape[-1]
    terms = []
    for term in form.terms:
        if term.reads > 1 and n > 1:
            raise AtomRequired(form)
        keep: Change = (lambda a: a[..., 0]) if term.reads == 1 else (lambda a: a[..., 0, :])
        refs = tuple(change(ref, keep) for ref in term.refs)
        w, size = (_moved(x, (*form.shape, term.reads), keep) for x in (term.w, term.size))
        assert w is not None
        terms.append(Term(term.atoms, refs, w, size, term.ops))
    return GraphForm(
        shape, tuple(terms), *rounding.total(rounding.RoundedNumber(form.b, form.size, form.ops), form.shape)
    )
