"""Values that are affine maps of the inputs: their ranges from their coefficients, so that x − x/2 is x/2.

A form is Σ_j A_j x_j + b, with A and b as rows of one array. `size` bounds Σ_j |A_j||x_j| + |b| on the box, `lost` what
the roundings of the coefficients can change. An operation does the same to every row, and to both bounds, with the
sizes of its constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import TINY, Interval, interval
from integraph.numbers.roundoff import U
from integraph.targets.graph import Graph, Node
from integraph.targets.graph_evaluation import compute

INPUTS = 64  # more inputs have too many coefficients
LARGEST = 1 << 18  # coefficients of one value
LINEAR = ("add", "sub", "neg", "sum", "reshape", "broadcast", "transpose", "slice", "take", "concat")
SCALING = ("mul", "div", "matmul")  # affine if one operand, of a quotient the second, is a constant
ALONG = ("add", "sub", "neg", "mul", "div", "matmul")  # numpy does them to all rows at once
POSITIVE = {"sub": "add", "neg": "abs"}  # what an operation is to sizes


@dataclass(frozen=True, slots=True, eq=False)
class AffineForm:
    rows: Floats
    size: Floats
    lost: Floats


@quiet
def forms(graph: Graph, box: Interval) -> dict[int, AffineForm]:
    """The nodes that are affine maps of the inputs, if these are few and their box is bounded."""
    known: dict[int, AffineForm] = {}
    floor = TINY * (1.0 + box.size.sum())  # more than coefficients lose below the smallest numbers
    if graph.inputs > INPUTS or not np.isfinite(floor):
        return known
    for number, node in enumerate(graph.nodes):
        if node.size * (graph.inputs + 1) > LARGEST:
            continue
        form = _input(node, box) if node.op == "input" else _form(graph, node, known, floor)
        if form is not None and np.isfinite(form.rows).all() and np.isfinite(form.size + form.lost).all():
            known[number] = form
    return known


@quiet
def span(form: AffineForm, box: Interval) -> Interval:
    """The values of a form on the box."""
    A, b = form.rows[:-1], form.rows[-1]
    first, last = (end.reshape(-1, *(1,) * b.ndim) for end in (box.low, box.high))
    low, high = np.where(A > 0, first, last), np.where(A > 0, last, first)
    lost = 2.0 * form.lost + 2.0 * (len(form.rows) + 8) * U * form.size
    return interval(b + (A * low).sum(0) - lost, b + (A * high).sum(0) + lost)


def _input(node: Node, box: Interval) -> AffineForm:
    rows, numbers = np.zeros((len(box.low) + 1, node.size)), np.arange(node.size)
    own = node.data[0] + numbers
    rows[own, numbers] = 1.0
    return AffineForm(rows.reshape(-1, *node.shape), box.size[own].reshape(node.shape), np.zeros(node.shape))


def _form(graph: Graph, node: Node, forms_of: dict[int, AffineForm], floor: float) -> AffineForm | None:
    fixed = [graph.nodes[n].op == "constant" for n in node.args]
    scaled = node.op in SCALING and sum(fixed) == 1 and (node.op != "div" or fixed[1])
    known = all(f or n in forms_of for f, n in zip(fixed, node.args, strict=True))
    if all(fixed) or not known or not (scaled or node.op in LINEAR):
        return None
    operands = [
        _constant(graph.nodes[n], graph.inputs + 1, scaled) if f else forms_of[n]
        for f, n in zip(fixed, node.args, strict=True)
    ]
    positive = replace(node, op=POSITIVE.get(node.op, node.op))
    size = compute(positive, [x.size for x in operands])
    lost = compute(positive, [x.lost for x in operands]) + 2.0 * (_terms(node, operands) + 8) * U * size + floor
    return AffineForm(_rows(node, [x.rows for x in operands]), size, lost)


def _constant(node: Node, count: int, factor: bool) -> AffineForm:
    """A summand is a form without coefficients; a factor multiplies every row and both bounds."""
    assert node.value is not None
    size = np.abs(node.value)
    if factor:
        return AffineForm(np.broadcast_to(node.value, (count, *node.shape)), size, size)
    return AffineForm(
        np.concatenate([np.zeros((count - 1, *node.shape)), node.value[None]]), size, np.zeros(node.shape)
    )


def _terms(node: Node, operands: Sequence[AffineForm]) -> int:
    """How many numbers a number of the result sums up."""
    if node.op == "matmul":
        return int(operands[0].size.shape[-1])
    return int(operands[0].size.size // max(1, node.size)) if node.op == "sum" else 2


def _rows(node: Node, operands: Sequence[Floats]) -> Floats:
    if node.op not in ALONG:
        return np.stack([compute(node, [x[k] for x in operands]) for k in range(len(operands[0]))])
    axes = len(node.shape) + 1
    rows: Floats = compute(node, [x.reshape(len(x), *(1,) * (axes - x.ndim), *x.shape[1:]) for x in operands])
    return rows
