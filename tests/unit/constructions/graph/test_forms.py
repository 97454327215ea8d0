"""Forms against a dense evaluator: b + Σ w·Π registers, in plain numpy."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.constructions.graph import forms
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.graph.forms import AtomRequired, GraphForm, Term, atom_form, constant
from integraph.constructions.graph.layout import layout, program
from integraph.constructions.graph.runs import RunTape
from integraph.program import Index, View
from law import examples

RNG = np.random.default_rng(3)


def dense_value(form: GraphForm, atoms: list[np.ndarray]) -> np.ndarray:
    """The form from the flat registers of every atom."""
    total = np.array(np.broadcast_to(form.b, form.shape), np.float64)
    for term in form.terms:
        factors = [atoms[a][ref.indices()] for a, ref in zip(term.atoms, term.refs, strict=True)]
        assert {factor.shape for factor in factors} == {(*form.shape, term.reads)}
        total += (np.broadcast_to(term.w, factors[0].shape) * np.prod(factors, axis=0)).sum(-1)
    return total


@dataclass
class Pair:
    """A form, and the array that it should be."""

    form: GraphForm
    value: np.ndarray


class Atoms:
    """Registers with random contents."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.flat: list[np.ndarray] = []

    def new(self, value: np.ndarray) -> Pair:
        self.flat.append(np.asarray(value, np.float64).reshape(-1))
        return Pair(atom_form(len(self.flat) - 1, np.shape(value)), np.asarray(value, np.float64))

    def random(self, shape: tuple[int, ...]) -> Pair:
        return self.new(self.rng.normal(size=shape))

    def check(self, pair: Pair) -> None:
        assert pair.form.shape == pair.value.shape
        size = 1.0 + np.max(np.abs(pair.value), initial=0.0)
        np.testing.assert_allclose(dense_value(pair.form, self.flat), pair.value, rtol=0, atol=1e-10 * size)

    def settled(self, pair: Pair) -> Pair:
        return self.new(pair.value)


SHAPES = [(), (3,), (1,), (2, 3), (2, 1), (4, 2, 3)]
STEPS = ("add", "scaled", "shifted", "product", "transposed", "sliced", "broadcast", "reshaped", "inserted", "taken",
         "picked", "summed", "constant")  # fmt: skip


def lanes_change(
    name: str, pair: Pair, draw: Callable[..., Any]
) -> tuple[Callable[[GraphForm], GraphForm], np.ndarray] | None:
    """A change of lanes, on forms and in numpy, if the shape allows it."""
    shape, value = pair.form.shape, pair.value
    if name == "transposed":
        order = draw(st.permutations(range(len(shape))))
        return lambda f: forms.transposed(f, order), value.transpose(order)
    if name == "broadcast":
        wide = (
            *draw(st.sampled_from([(), (2,), (1,)])),
            *(n if n > 1 else draw(st.sampled_from([1, 3])) for n in shape),
        )
        return lambda f: forms.broadcast(f, wide), np.broadcast_to(value, wide)
    if name == "reshaped":
        new = draw(st.sampled_from([(value.size,), (value.size, 1), (1, *shape), shape[::-1]]))
        return lambda f: forms.reshaped(f, new), value.reshape(new)
    if name == "inserted":
        axis = draw(st.integers(0, len(shape)))
        return lambda f: forms.inserted(f, axis), np.expand_dims(value, axis)
    if not shape:
        return None
    if name == "sliced":
        ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(1, n)))) for n in shape]
        key = tuple(slice(a, max(b, a + 1)) if draw(st.booleans()) else slice(None, None, -1) for a, b in ends)
        return lambda f: forms.sliced(f, key), value[key]
    if name == "taken":
        axis = draw(st.integers(0, len(shape) - 1))
        indices = tuple(draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=4)))
        return lambda f: forms.taken(f, axis, indices), np.take(value, indices, axis)
    if name == "picked":
        indices = np.array(draw(st.integers(0, 10**6))) + np.arange(value[..., 0].size).reshape(shape[:-1])
        indices %= shape[-1]
        return lambda f: forms.picked(f, indices), np.take_along_axis(value, indices[..., None], -1)
    assert name == "summed"
    return forms.summed, value.sum(-1)


def fitting(atoms: Atoms, pair: Pair, draw: Callable[..., Any]) -> Pair:
    """Another form that broadcasts with this one."""
    shape = tuple(n if draw(st.booleans()) else 1 for n in pair.form.shape)[draw(st.sampled_from([0, 0, 1])) :]
    other = atoms.random(shape)
    if draw(st.booleans()):
        factor, shift = atoms.rng.normal(size=shape), atoms.rng.normal()
        other = Pair(forms.shifted(forms.scaled(other.form, factor), shift), other.value * factor + shift)
    return other


def tried(make: Callable[[], GraphForm]) -> GraphForm | AtomRequired:
    try:
        return make()
    except AtomRequired as needed:
        return needed


def step(name: str, atoms: Atoms, pair: Pair, draw: Callable[..., Any]) -> Pair | None:
    f, value = pair.form, pair.value
    if name == "constant":
        number = atoms.rng.normal(size=f.shape)
        return Pair(forms.add(f, constant(f.shape, number)), value + number)
    if name == "shifted":
        by = atoms.rng.normal(size=f.shape[1:])
        return Pair(forms.shifted(f, by), value + by)
    if name == "scaled":
        factor = atoms.rng.normal(size=draw(st.sampled_from([(), f.shape, f.shape[-1:], (2, *f.shape)])))
        return Pair(forms.scaled(f, factor), value * factor)
    if name in ("add", "product"):
        other = pair if draw(st.integers(0, 4)) == 0 else fitting(atoms, pair, draw)
        if name == "add":
            return Pair(forms.add(f, other.form, f), 2 * value + other.value)
        found = tried(lambda: forms.product(f, other.form))
        if isinstance(found, AtomRequired):
            assert found.form.degree > 1 or any(term.reads > 1 for term in found.form.terms)
            settled = atoms.settled(pair)
            found = forms.product(settled.form, settled.form if other is pair else other.form)
        return Pair(found, value * other.value)
    change = lanes_change(name, pair, draw)
    if change is None:
        return None
    how, wanted = change
    found = tried(lambda: how(f))
    if isinstance(found, AtomRequired):
        assert found.form is f
        assert name in ("reshaped", "summed")
        found = how(atoms.settled(pair).form)
    return Pair(found, wanted)


@examples(250)
@given(st.data(), st.sampled_from(SHAPES), st.lists(st.sampled_from(STEPS), min_size=1, max_size=7))
def test_any_sequence_of_operations(data: st.DataObject, shape: tuple[int, ...], names: list[str]) -> None:
    atoms = Atoms(data.draw(st.integers(0, 2**32 - 1)))
    pair = atoms.random(shape)
    for name in names:
        found = step(name, atoms, pair, data.draw)
        if found is None or found.value.size > 3000:
            continue
        pair = found
        atoms.check(pair)
    assert pair.form.degree <= 2


@examples(60)
@given(
    st.data(),
    st.sampled_from(SHAPES[1:]),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=5),
    st.sampled_from(FREES),
)
def test_a_form_is_what_one_segment_computes(
    data: st.DataObject, shape: tuple[int, ...], names: list[str], free: str
) -> None:
    """Loaded into registers of its own by a program whose inputs are the atoms."""
    atoms = Atoms(data.draw(st.integers(0, 2**32 - 1)))
    pair = atoms.random(shape)
    for name in names:
        found = step(name, atoms, pair, data.draw)
        pair = found if found is not None and found.value.size <= 300 else pair
    tape = RunTape()
    for number, values in enumerate(atoms.flat):
        tape.input(f"x{number}", values.shape)
    held = tape.sum(pair.form, "form")
    built = program(layout(tape, [held], free), 40.0, "form")
    assert built.depth == (0 if held is pair.form else 1)
    size = 1.0 + np.max(np.abs(pair.value), initial=0.0)
    end = built(np.concatenate(atoms.flat))
    np.testing.assert_allclose(end, pair.value.reshape(-1), rtol=0, atol=1e-10 * size)


def test_equal_terms_become_one() -> None:
    x, y = atom_form(0, (3,)), atom_form(1, (3,))
    both = forms.add(forms.product(x, y), forms.product(y, x), x, forms.scaled(x, -1.0))
    assert [(term.atoms, term.w.tolist()) for term in both.terms] == [((0, 1), [2.0])], "and what cancels is left out"
    assert forms.product(x, y).key() == forms.product(y, x).key()
    assert forms.product(x, x).key() != forms.product(x, y).key()
    assert forms.scaled(x, 2.0).key() != x.key()
    assert forms.shifted(x, 1.0).key() != x.key()


def test_what_a_form_says_of_itself() -> None:
    x = atom_form(4, (5, 9))
    assert x.plain == (4, View(0, (5, 9), (9, 1)))
    row = forms.sliced(x, (slice(2, 3),))
    assert row.plain == (4, View(18, (1, 9), (9, 1)))
    for other in (forms.scaled(x, 2.0), forms.shifted(x, 1.0)):
        assert other.single is not None
        assert other.plain is None
    matrix = forms.summed(forms.scaled(forms.inserted(x, 1), RNG.normal(size=(3, 9))))
    assert (matrix.shape, matrix.cost, matrix.degree, matrix.heavy) == ((5, 3), 9, 1, True)
    assert matrix.single is None
    assert not forms.summed(x).heavy, "all weights are one number"
    assert constant((5,), 3.0).cost == constant((5,), 3.0).degree == 0
    assert forms.product(x, x).degree == 2
    assert forms.scaled(x, 0.0).terms == ()
    assert isinstance(forms.taken(x, 1, (0, 5)).terms[0].refs[0], Index)


@pytest.mark.parametrize("weights", [RNG.normal(size=(1, 1, 1)), np.full(1, 2.0), np.full((1, 1), -1.0)])
def test_one_number_has_one_axis(weights: np.ndarray) -> None:
    assert Term((0,), (View(0, (4, 1), (1, 1)),), weights).w.shape == (1,)
    assert GraphForm((4,), (), weights).b.shape == ()
    assert forms.squeezed(np.broadcast_to(weights, (3, 4, 5))).size == 1


def test_what_has_to_become_an_atom_first() -> None:
    x = atom_form(0, (2, 3))
    square, total = forms.product(x, x), forms.summed(x)
    for refused in (
        lambda: forms.product(square, x),
        lambda: forms.product(x, square),
        lambda: forms.product(total, atom_form(1, (2,))),
        lambda: forms.summed(total),
        lambda: forms.reshaped(forms.transposed(x, (1, 0)), (6,)),
    ):
        with pytest.raises(AtomRequired):
            refused()
    assert forms.product(square, constant((), 2.0)).terms[0].w.tolist() == [2.0], "a number is no factor"


def test_matrix_products_allocate_nothing_of_the_size_of_their_lanes() -> None:
    """Attention scores of 512 tokens of width 64: 17 million products."""
    q, k = atom_form(0, (512, 64)), atom_form(1, (512, 64))
    tracemalloc.start()
    try:
        scores = forms.summed(forms.product(forms.inserted(q, 1), forms.inserted(k, 0)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (scores.shape, scores.cost) == ((512, 512), 64)
    assert peak < 100_000
