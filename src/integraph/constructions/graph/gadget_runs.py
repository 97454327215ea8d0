"""Functions that are no product: how each becomes one run of a gadget. The recipes are as in `recipes.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from integraph import gadgets
from integraph.constructions.graph import forms
from integraph.constructions.graph.forms import FEW, GraphForm, Shape, add, atom_form, constant, scaled, shifted, summed
from integraph.constructions.graph.rounding import CONSTANT
from integraph.constructions.graph.runs import Run, RunTape, Stage, Where, starts
from integraph.constructions.recipes import ARGUMENT, ONE, RECIPES, ZERO, Recipe, one
from integraph.constructions.recipes import Stage as RecipeStage
from integraph.numbers.arrays import Floats
from integraph.program import Block
from integraph.program.views import dense

OTHERWISE = ("identity", "arctan", "gelu_tanh", "sin", "exp", "gaussian")  # part of sums, products and other flows
FLOWS: dict[str, Recipe] = {
    **{name: recipe for name, recipe in RECIPES.items() if name not in OTHERWISE},
    "atan": RECIPES["arctan"],
    "asinh": Recipe(
        {"v": ARGUMENT, "u": ARGUMENT, "y": ZERO, "w": ZERO}, one(gadgets.asinh, "y", "v", "u", "w"), "y", argument="v"
    ),
    "expm1": Recipe({"x": ARGUMENT, "z": ZERO}, one(gadgets.expm1, "z", "x"), "z"),
    "sinh": Recipe({"x": ARGUMENT, "u": ZERO, "v": ONE}, one(gadgets.sinh_cosh, "u", "v", "x"), "u"),
    "cosh": Recipe({"x": ARGUMENT, "u": ZERO, "v": ONE}, one(gadgets.sinh_cosh, "u", "v", "x"), "v"),
    "sigmoid": Recipe({"x": ARGUMENT, "s": (0.5, 0.0), "g": (0.0, 0.5)}, one(gadgets.sigmoid, "s", "g", "x"), "g"),
}
LEFT: dict[str, dict[str, tuple[str, str]]] = {  # registers that are products of others in the end
    "tanh": {"lam": ("x", "alpha")},
    "gelu": {"w": ("x", "x")},
    "erf": {"w": ("x", "x")},
}


LONG = 512  # entries of a row whose mean gets registers of its own: n entries that each read all of them are n² terms


def rectifier(k: float) -> Recipe:
    """x·sigmoid(kx), within 0.2785/k of max(x, 0)."""
    return Recipe({"x": ARGUMENT, "s": (0.5, 0.0)}, (lambda r: (gadgets.relu(r["s"], r["x"], k=k),),), "s")


def flow(
    tape: RunTape, recipe: Recipe, x: GraphForm, text: str, residues: Mapping[str, tuple[str, str]], tag: str = ""
) -> GraphForm:
    """gain·out + offset of the recipe's run on x. Its starts are read off the registers of x if x is a long sum, unless
    the run has a tag, by which its registers are called: then they are computed with x, in one segment."""
    suffix = tag or f"({text})"
    held = (
        {"x": tape.registers(x, f"affine {tag}" if tag else text, f"x{tag}" if tag else f"arg({text})")}
        if "x" in recipe.starts
        else {}
    )
    if held and x.cost > FEW and not tag:
        x = held["x"]
    targets = {role: tape.atom(f"{role}{suffix}", x.shape) for role in recipe.starts if role != "x"}
    begin = {}
    for role, atom in targets.items():
        factor, shift = recipe.starts[role]
        if role in recipe.loaded or shift:
            begin[atom] = starts([(dense(0, x.shape), shifted(scaled(x, factor), shift))])
    reads = held["x"].atoms if held else frozenset()
    held |= {role: atom_form(atom, x.shape) for role, atom in targets.items()}
    after = {targets[role]: forms.product(*(held[part] for part in parts)) for role, parts in residues.items()}
    stages = tuple(_bound(make, held) for make in recipe.stages)
    tape.add(Run(text, tuple(targets.values()), begin, reads, stages, after))
    return shifted(scaled(held[recipe.out], recipe.gain), recipe.offset)


def _bound(make: RecipeStage, held: Mapping[str, GraphForm]) -> Stage:
    """A stage of a recipe on the registers that hold its roles."""

    def stage(where: Where) -> tuple[Block, ...]:
        places = ((role, form.plain) for role, form in held.items())
        return make({role: where(*place) for role, place in places if place is not None})

    return stage


def logarithm(tape: RunTape, x: GraphForm, s: float, text: str, guard: bool) -> GraphForm:
    """ln x from p = x/s − 1 and z = 0; ln s is added. `guard`: x is not known to be positive."""
    p, z = tape.atom(f"p({text})", x.shape), tape.atom(f"ln({text})", x.shape)
    begin = {p: starts([(dense(0, x.shape), shifted(scaled(x, 1.0 / s), -1.0))])}

    def stage(where: Where) -> tuple[Block, ...]:
        return (gadgets.ln(where(p, None), where(z, None)),)

    tape.add(Run(text, (p, z), begin, frozenset(), (stage,), guard=guard))
    return shifted(atom_form(z, x.shape), math.log(s))


def variable_power(tape: RunTape, x: GraphForm, q: GraphForm, text: str) -> GraphForm:
    """x^y from p = x − 1, q = y(x − 1), z = 1."""
    p, r, z = (tape.atom(f"{role}({text})", q.shape) for role in "pqz")
    whole = dense(0, q.shape)
    loads = {p: forms.broadcast(shifted(x, -1.0), q.shape), r: q, z: constant(q.shape, 1.0)}
    begin = {atom: starts([(whole, form)]) for atom, form in loads.items()}

    def stage(where: Where) -> tuple[Block, ...]:
        return (gadgets.variable_power(*(where(atom, None) for atom in (p, r, z))),)

    tape.add(Run(text, (p, r, z), begin, frozenset(), (stage,)))
    return atom_form(z, q.shape)


def softmax(tape: RunTape, s: GraphForm, share: Floats, text: str) -> GraphForm:
    """From a = share, where each row of `share` is 1/n for the n entries that take part, else 0."""
    s = tape.registers(s, text)
    a = tape.atom(f"a({text})", s.shape)
    u, m, c = _row_atoms(tape, s, text)
    end = forms.product(add(s, spread(atom_form(c, s.shape[:-1]), s.shape)), atom_form(a, s.shape))
    residues = {u: end, m: summed(end)}
    _run_rows(tape, gadgets.shifted_softmax, s, share, (a, u, m, c), constant(s.shape, share), residues, text)
    return atom_form(a, s.shape)


def log_softmax(tape: RunTape, s: GraphForm, share: Floats, text: str) -> GraphForm:
    """From y = −ln n. In the end u and m are no polynomials of what else is there."""
    s = tape.registers(s, text)
    y = tape.atom(f"ln a({text})", s.shape)
    u, m, c = _row_atoms(tape, s, text)
    start = _log_entries(share)
    begin = shifted(constant(s.shape, 0.0), -start[..., None], CONSTANT if start.any() else 0)
    _run_rows(tape, gadgets.log_softmax, s, share, (y, u, m, c), begin, {}, text)
    return atom_form(y, s.shape)


def log_sum_exp(tape: RunTape, s: GraphForm, share: Floats, text: str) -> GraphForm:
    """From l = ln n − c. In the end u and m are no polynomials of what else is there."""
    s = tape.registers(s, text)
    l = tape.atom(f"l({text})", s.shape[:-1])
    u, m, c = _row_atoms(tape, s, text)
    entries = _log_entries(share)
    start = shifted(summed(scaled(s, share)), entries, CONSTANT if entries.any() else 0)
    _run_rows(tape, gadgets.log_sum_exp, s, share, (l, u, m, c), start, {}, text)
    return atom_form(l, s.shape[:-1])


def _log_entries(share: Floats) -> Floats:
    """ln n of each row, of the n entries that take part."""
    logarithms: Floats = np.log(np.rint(1.0 / share.max(-1)))
    return logarithms


def _row_atoms(tape: RunTape, s: GraphForm, text: str) -> tuple[int, int, int]:
    """u, m and c for rows of scores."""
    u = tape.atom(f"u({text})", s.shape)
    m, c = (tape.atom(f"{role}({text})", s.shape[:-1]) for role in "mc")
    return u, m, c


def _run_rows(
    tape: RunTape,
    gadget: gadgets.Gadget,
    s: GraphForm,
    share: Floats,
    atoms: tuple[int, int, int, int],
    first: GraphForm,
    residues: Mapping[int, GraphForm],
    text: str,
) -> None:
    """A run over σ = s + c with c = −Σ share·s: its first atom from the form `first`, u from σ·share, m from 0."""
    result, u, _, c = atoms
    mean = summed(scaled(s, share))
    if s.shape[-1] > LONG:
        mean = tape.sum(mean, f"mean of {text}", f"mean({text})")
    shift = scaled(mean, -1.0)
    centred = add(s, spread(shift, s.shape))
    loads = {result: first, u: scaled(centred, share), c: shift}
    begin = {atom: starts([(dense(0, form.shape), form)]) for atom, form in loads.items()}
    place = s.plain
    assert place is not None

    def stage(where: Where) -> tuple[Block, ...]:
        return (gadget(*(where(atom, None) for atom in atoms[:3]), where(*place), where(c, None)),)

    after = {c: shift, **residues}  # u and m are polynomials of c
    tape.add(Run(text, atoms, begin, s.atoms | {c}, (stage,), after, share=share))


def spread(row: GraphForm, shape: Shape) -> GraphForm:
    """One number for each row, over its lanes."""
    return forms.broadcast(forms.inserted(row, len(row.shape)), shape)
