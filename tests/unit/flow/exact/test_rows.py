"""Tapes over many inputs: machine code has the bits and the failures of numpy's calls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from exact_formulas import FORMULAS
from integraph import compile
from integraph.flow.exact import engine
from integraph.flow.exact.engine import EXACT
from integraph.flow.exact.rows import Layout, compiled, interpreted
from integraph.flow.exact.schedule import Code, schedule
from integraph.flow.exact.tape import OPERATIONS, Node, Tape
from slow import mostly_slow
from tapes import rows, traced


@mostly_slow("name", FORMULAS, quick=9)
def test_compiled_rows_have_the_same_bits(name: str) -> None:
    _, code, x = traced(name, 700)
    plain = rows(code, x)
    assert plain is not None
    assert np.array_equal(plain, rows(code, x, compiled))


def test_every_simple_operation_compiled_has_the_same_bits() -> None:
    """Also of 0, −0, tiny and huge numbers; and sums of products are rounded twice. The sign of max(0, −0) is open."""
    sizes = np.array([0.0, -0.0, 5e-324, 1e-160, 0.1, 1.0, 1 / 3, 1e150])
    given = np.concatenate([sizes, -sizes])
    x = np.array(np.meshgrid(given, given[::-1], [0.7, -1e-17])).reshape(3, -1).T
    for op, operation in OPERATIONS.items():
        tape = Tape(3, 100)
        if operation.simple:
            arguments = [Node(tape, n) for n in range(len(operation.carries))]
            kept = x[np.abs(x[:, 1]) > 1e-150] if op == "divide" else np.abs(x) if op == "sqrt" else x
            code = schedule(tape, [tape.push(op, *arguments)])
            plain, machine = rows(code, kept), rows(code, kept, compiled)
            assert plain is not None
            assert machine is not None
            open_sign = 0.0 if op == "maximum" else -0.0
            assert (plain + open_sign).tobytes() == (machine + open_sign).tobytes(), op


@pytest.mark.parametrize("laid", [interpreted, compiled])
def test_what_numpy_computes_is_guarded_where_it_is_read(laid: Callable[[Code], Layout]) -> None:
    """e^x < 100 is checked by the machine code that adds to it, x > 0 before all, and e^−x < 9 where no code reads
    it."""
    tape = Tape(1, 100)
    x = Node(tape, 0)
    grown, fallen = tape.push("exp", x), tape.push("exp", x * -1.0)
    tape.guard(x, low=0.0)
    tape.guard(grown, high=100.0)
    tape.guard(fallen, low=0.01)
    code = schedule(tape, [grown + 1.0, fallen])
    assert np.array_equal(
        rows(code, np.array([[1.0], [2.0]]), laid), [[np.e + 1, 1 / np.e], [np.exp(2) + 1, np.exp(-2)]]
    )
    for bad in (-0.5, 0.0, 4.61, 700.0, np.nan, np.inf):
        assert rows(code, np.array([[1.0]] * 11 + [[bad]]), laid) is None, bad


def test_a_tape_is_compiled_after_many_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MANY", 150 * 6)
    program, x = compile("(1 + x)/(2 + x*x)", box=(0, 1)), np.linspace(0, 1, 100)
    first = program(x)
    pool = EXACT.prepare(program, False).rows
    assert np.array_equal(program(x), first)
    assert EXACT.prepare(program, False).rows is not pool
