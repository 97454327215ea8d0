"""Functions that are no product: how each becomes one run of a gadget. The recipes are as in `recipes.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from integraph import gadgets
from integraph.constructions.graph import forms
from integraph.constructions.graph.forms import FEW, Form, Shape, add, atom_form, constant, scaled, shifted, summed
from integraph.constructions.graph.runs import Run, Stage, Tape, Where, starts
from integraph.constructions.recipes import ARGUMENT, ONE, RECIPES, ZERO, Recipe, one
from integraph.constructions.recipes import Stage as RecipeStage
from integraph.program import Block
from integraph.program.views import Floats, dense

FLOWS: dict[str, Recipe] = {
    **{name: RECIPES[name] for name in ("tanh", "softplus", "silu", "gelu", "erf")},
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


def rectifier(k: float) -> Recipe:
    """x·sigmoid(kx), within 0.2785/k of max(x, 0)."""
    return Recipe({"x": ARGUMENT, "s": (0.5, 0.0)}, (lambda r: (gadgets.relu(r["s"], r["x"], k=k),),), "s")


def flow(tape: Tape, recipe: Recipe, x: Form, text: str, left: Mapping[str, tuple[str, str]], tag: str = "") -> Form:
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
    after = {targets[role]: forms.product(*(held[part] for part in parts)) for role, parts in left.items()}
    stages = tuple(_bound(make, held) for make in recipe.stages)
    tape.add(Run(text, tuple(targets.values()), begin, reads, stages, after))
    return shifted(scaled(held[recipe.out], recipe.gain), recipe.offset)


def _bound(make: RecipeStage, held: Mapping[str, Form]) -> Stage:
    """A stage of a recipe on the registers that hold its roles."""

    def stage(where: Where) -> tuple[Block, ...]:
        places = ((role, form.plain) for role, form in held.items())
        return make({role: where(*place) for role, place in places if place is not None})

    return stage


def logarithm(tape: Tape, x: Form, s: float, text: str, guard: bool) -> Form:
    """ln x from p = x/s − 1 and z = 0; ln s is added. `guard`: x is not known to be positive."""
    p, z = tape.atom(f"p({text})", x.shape), tape.atom(f"ln({text})", x.shape)
    begin = {p: starts([(dense(0, x.shape), shifted(scaled(x, 1.0 / s), -1.0))])}

    def stage(where: Where) -> tuple[Block, ...]:
        return (gadgets.ln(where(p, None), where(z, None)),)

    tape.add(Run(text, (p, z), begin, frozenset(), (stage,), guard=guard))
    return shifted(atom_form(z, x.shape), math.log(s))


def variable_power(tape: Tape, x: Form, q: Form, text: str) -> Form:
    """x^y from p = x − 1, q = y(x − 1), z = 1."""
    p, r, z = (tape.atom(f"{role}({text})", q.shape) for role in "pqz")
    whole = dense(0, q.shape)
    loads = {p: forms.broadcast(shifted(x, -1.0), q.shape), r: q, z: constant(q.shape, 1.0)}
    begin = {atom: starts([(whole, form)]) for atom, form in loads.items()}

    def stage(where: Where) -> tuple[Block, ...]:
        return (gadgets.variable_power(*(where(atom, None) for atom in (p, r, z))),)

    tape.add(Run(text, (p, r, z), begin, frozenset(), (stage,)))
    return atom_form(z, q.shape)


def softmax(tape: Tape, s: Form, share: Floats, text: str) -> Form:
    """Of s + c with c = −Σ share·s: from a = share, u = (s + c)·share, m = 0, where each row of `share` is 1/n for the
    n entries that take part, else 0."""
    s = tape.registers(s, text)
    a, u = (tape.atom(f"{role}({text})", s.shape) for role in "au")
    m, c = (tape.atom(f"{role}({text})", s.shape[:-1]) for role in "mc")
    mean = summed(scaled(s, share))
    centred = add(s, scaled(spread(mean, s.shape), -1.0))
    whole, rows = dense(0, s.shape), dense(0, s.shape[:-1])
    loads = {a: (whole, constant(s.shape, share)), u: (whole, scaled(centred, share)), c: (rows, scaled(mean, -1.0))}
    end = forms.product(add(s, spread(atom_form(c, s.shape[:-1]), s.shape)), atom_form(a, s.shape))
    place = s.plain
    assert place is not None

    def stage(where: Where) -> tuple[Block, ...]:
        return (gadgets.shifted_softmax(*(where(atom, None) for atom in (a, u, m)), where(*place), where(c, None)),)

    begin = {atom: starts([load]) for atom, load in loads.items()}
    after = {u: end, m: summed(end), c: scaled(mean, -1.0)}
    tape.add(Run(text, (a, u, m, c), begin, s.atoms | {c}, (stage,), after))
    return atom_form(a, s.shape)


def spread(row: Form, shape: Shape) -> Form:
    """One number for each row, over its lanes."""
    return forms.broadcast(forms.inserted(row, len(row.shape)), shape)
