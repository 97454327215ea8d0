"""What must hold of a value while a graph is lowered: its shape is that of its node, and every part of it fits.

A value that breaks a rule would be a wrong number later, so nothing is compiled from it: the rule that made it has a
defect, and the message says which node to report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from integraph.constructions.graph.forms import GraphForm, Shape
from integraph.constructions.graph.fusion import FusedProduct
from integraph.constructions.graph.runs import RegisterAtom, Run, RunTape
from integraph.errors import SpecError

REPORT = "this is a defect of Integraph, please report it with the source"


def check_value(value: GraphForm | FusedProduct, shape: Shape, atoms: Sequence[RegisterAtom], text: str) -> None:
    """Of a node: a form, or a product that waits."""
    if value.shape != shape:
        raise SpecError(f"{text} was lowered to shape {value.shape} and has shape {shape}: {REPORT}")
    if isinstance(value, GraphForm):
        _form(value, shape, atoms, text)
        return
    for part in value.parts:
        _broadcasts(part.shape, shape, f"{text}: a factor")
        _form(part, part.shape, atoms, text)
    _broadcasts(value.gain.shape, shape, f"{text}: its gain")


def check_runs(tape: RunTape, start: int) -> None:
    """Of the runs from number `start` on: what is loaded fits where it is loaded, and so does what is left."""
    for run in tape.runs[start:]:
        _run(run, tape.atoms)


def _run(run: Run, atoms: Sequence[RegisterAtom]) -> None:
    for atom, parts in run.starts.items():
        for part in parts:
            inside = 0 <= part.view.extent()[0] <= part.view.extent()[1] < prod(atoms[atom].shape)
            if not inside or part.view.shape != part.form.shape:
                raise SpecError(
                    f"{run.text}: registers {part.view} of {prod(atoms[atom].shape)} start at a value of shape "
                    f"{part.form.shape}: {REPORT}"
                )
            _form(part.form, part.view.shape, atoms, run.text)
    for atom, form in run.after.items():
        _form(form, atoms[atom].shape, atoms, run.text)


def _form(form: GraphForm, shape: Shape, atoms: Sequence[RegisterAtom], text: str) -> None:
    if form.shape != shape:
        raise SpecError(f"{text} needs a value of shape {shape} and has one of shape {form.shape}: {REPORT}")
    _all_broadcast((form.b, form.size), shape, f"{text}: its constant")
    for term in form.terms:
        lanes = (*shape, term.reads)
        _all_broadcast((term.w, term.size), lanes, f"{text}: its weights")
        for atom, ref in zip(term.atoms, term.refs, strict=True):
            low, high = ref.extent()
            if ref.shape != lanes or not 0 <= low <= high < prod(atoms[atom].shape):
                raise SpecError(f"{text} reads {ref} of {atoms[atom]} for lanes {lanes}: {REPORT}")


def _all_broadcast(arrays: Iterable[object], shape: Shape, what: str) -> None:
    for array in arrays:
        if array is not None:
            _broadcasts(getattr(array, "shape", ()), shape, what)


def _broadcasts(given: Shape, shape: Shape, what: str) -> None:
    pairs = zip(given[::-1], shape[::-1], strict=False)
    if len(given) > len(shape) or any(n not in (1, m) for n, m in pairs):
        raise SpecError(f"{what} of shape {given} does not fit {shape}: {REPORT}")
