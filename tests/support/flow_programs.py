"""Programs whose segments have no closed form, beside Arb's solutions; graphs where ranges are cut or have no value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

import integraph
from bound_cases import contains, inside
from integraph import Registers, Segment, build
from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.point_values import point_values
from integraph.certify.bounds.program_models import program_models
from integraph.certify.bounds.quadratic_flow import _cells, quadratic_flow
from integraph.certify.loops.rows import ModelRows
from integraph.gadgets import raw
from integraph.numbers.models.models import Models, of_cells
from integraph.program import Program
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder


def quadratic_program(seed: int, segments: int) -> Program:
    """Registers 1 to 3 move, 0 and 4 stand still; all are outputs."""
    rng, r = np.random.default_rng(seed), Registers()
    y = r.inputs("y", 5)
    parts = []
    for number in range(segments):
        A, Q, b = rng.normal(size=(3, 5)), 0.5 * rng.normal(size=(3, 5, 5)), rng.normal(size=3)
        parts.append(Segment(f"s{number}", (raw(y[1:4], y[0::4], A=A, Q=Q, b=b),), 0.25, 1.0))
    return build(r, parts, y)


def quadratic_segments(degree: int, radius: float) -> Callable[[], bool]:
    def holds() -> bool:
        for seed, segments in ((0, 1), (1, 2)):
            rng = np.random.default_rng(seed)
            starts = 0.5 * rng.normal(size=(2, 5))
            if not inside(quadratic_program(seed, segments), starts, np.full(starts.shape, radius), degree, rng):
                return False
        return True

    return holds


def rows_of_an_end() -> bool:
    """0 ± 1 by a symbol and ± ½ by its radius."""
    x = of_cells(np.zeros((1, 1)), np.ones((1, 1)), 1)
    y = _cells(x, np.array([0]), [ModelRows(x.space.monomials, np.array([[0.0, 0.0, 1.0, 0.5]]))])
    return contains(y, 0, np.zeros(1), *np.full((2, 1), 1.5)) and contains(y, 0, np.zeros(1), *np.full((2, 1), -1.5))


def bounded(y: Models) -> list[list[bool]]:
    """The rows and cells of which something is known, by models as by intervals."""
    finite = [np.isfinite(end) for end in (y.known.low, y.known.high, y.r)]
    assert (finite[0] == finite[1]).all()
    result: list[list[bool]] = finite[2].tolist()
    return result if (finite[0] == finite[2]).all() else []


def an_escape() -> bool:
    """y' = y² escapes at 1/y(0): then nothing is known, not even of z, which stands still."""
    r = Registers()
    first, _ = r.inputs("y", 1), r.inputs("z", 1)
    program = build(r, [Segment("s", (raw(first, Q=[[[1.0]]]),), 1.0, 1.0)], scipy.sparse.csr_array(np.eye(2)))
    starts = np.array([[0.5, 0.25], [2.0, 0.25]])
    y = program_models(program, of_cells(starts - 0.01, starts + 0.01, 2))
    sure = y.known.low[0, 0] <= 1.0 <= y.known.high[0, 0]
    return bool(sure) and bounded(y) == [[True, False], [True, False]]


def an_overflow() -> bool:
    """z' = z² + c y, where in the second cell nothing is known of y: so it remains, and of z if it is read."""
    for c in (0.0, 1.0):
        r, Q = Registers(), np.zeros((1, 2, 2))
        y, z = r.inputs("y", 1), r.inputs("z", 1)
        Q[0, 0, 0] = 1.0
        program = build(r, [Segment("s", (raw(z, y, A=np.array([[0.0, c]]), Q=Q),), 0.5, 1.0)], z)
        flow, starts = quadratic_flow(program, 0), np.full((2, 2), 0.25)
        states = of_cells(starts, starts + 0.01, 2)
        for array, value in ((states.r, np.inf), (states.known.low, -np.inf), (states.known.high, np.inf)):
            array[0, 1] = value
        if flow is None or bounded(flow.ends(states)) != [[True, False], [True, c == 0.0]]:
            return False
    return True


def graph_of(make: Callable[[Builder], int]) -> Graph:
    b = Builder()
    return b.graph([make(b)])


def layer_norm(b: Builder) -> int:
    """Without what a mean subtracts: its largest value is the root of its width, where one entry is not 0."""
    x = b.input("x", (1, 4))
    square = b.apply("reshape", b.mean(b.apply("mul", x, x), (1,)), data=((1, 1),))
    return b.apply("div", x, b.apply("sqrt", b.apply("add", square, b.constant(1e-9))))


def average(b: Builder) -> int:
    """By weights that are nearly those of one row."""
    x = b.input("x", (1, 4))
    weights = b.apply("softmax", b.apply("mul", x, b.constant(np.array([[30.0, 1.0, 1.0, 1.0]]))))
    return b.apply("matmul", weights, b.apply("reshape", x, data=((4, 1),)))


def graph_contains(make: Callable[[Builder], int]) -> Callable[[], bool]:
    """What Arb computes at points of a tiny box."""

    def holds() -> bool:
        graph, at = graph_of(make), np.array([1.0, 1e-3, -1e-3, 0.0])
        known = graph_models(graph, of_cells(at[None] - 1e-6, at[None] + 1e-6, 2)).known
        low, high = point_values(graph, at)
        return bool((known.low[:, 0] <= low).all() and (high <= known.high[:, 0]).all())

    return holds


def nothing_of(cases: dict[str, tuple[float, float]]) -> Callable[[], bool]:
    """Whether nothing is known of formulas that have no value somewhere, although a later operation is bounded."""

    def holds() -> bool:
        for text, (low, high) in cases.items():
            graph = integraph.graph(text)
            ends = (np.full((1, graph.inputs), end) for end in (low, high))
            known = graph_models(graph, of_cells(*ends, 2)).known
            if np.isfinite(known.low).any() or np.isfinite(known.high).any():
                return False
        return True

    return holds


PROGRAMS: dict[str, Callable[[], bool]] = {
    "quadratic segments": quadratic_segments(1, 0.1),
    "segments of intervals": quadratic_segments(0, 0.02),
    "rows of an end": rows_of_an_end,
    "an escape": an_escape,
    "an overflow": an_overflow,
    "layer norms": graph_contains(layer_norm),
    "averages": graph_contains(average),
    "arcsines beyond 1": nothing_of({"tanh(asin(2*x))": (0.0, 1.0), "sin(acos(x))": (-1.5, -0.5)}),
    "powers of 0": nothing_of({"tanh(x^y)": (0.0, 1.0)}),
}
