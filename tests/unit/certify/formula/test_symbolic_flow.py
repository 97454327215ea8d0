"""Programs as formulas: what is written down from the controls is what the flow computes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import integraph
from exact_formulas import DIGITS, FORMULAS, reference
from integraph import Registers, build, gadgets, segment
from integraph.certify.bounds.point_values import point_values
from integraph.certify.enclosure.closed_forms import enclose
from integraph.certify.formula import symbolic_flow as writing
from integraph.certify.formula import symbolic_rules, symbols
from integraph.certify.formula.symbols import Symbol, SymbolTable, literal
from integraph.certify.problem import Unprovable
from slow import mostly_slow
from written_truth import flow, of_tape, written

X = np.array([0.3, 0.8])


@mostly_slow("name", FORMULAS, quick=13)
def test_all_formulas_as_they_are_compiled(name: str) -> None:
    """Against the formula by hand, which differs by what was rounded, and against the enclosed flow."""
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=formula.box, variables=formula.variables)
    points = formula.points(3)[:5]
    wanted = reference(name, points).ravel()
    size = float(max(map(abs, wanted)))
    for x, true in zip(points, wanted, strict=True):
        found = flow(program, formula.variables, x)
        assert found is not None
        assert abs(found[0] - true) <= 1e-13 * max(size, 1.0)
        low, high = point_values(program, x)
        with mp.workdps(DIGITS):
            assert mpf(low[0]) <= found[0] <= mpf(high[0])


@pytest.mark.parametrize("free", ["clean", "decay"])
@pytest.mark.parametrize("name", ["Franke", "peaks", "true anomaly", "Langevin", "softplus", "acid"])
def test_freed_registers(name: str, free: str) -> None:
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=formula.box, variables=formula.variables, free=free)
    for x in formula.points(3)[:4]:
        low, high = point_values(program, x)
        (found,) = flow(program, formula.variables, x) or [mp.nan]
        with mp.workdps(DIGITS):
            assert mpf(low[0]) <= found <= mpf(high[0])


def check(program: integraph.Program, points: np.ndarray) -> None:
    """Against the terms of eq. (1) alone, which know no closed forms."""
    names = [f"x{n}" for n in range(program.inputs)]
    for x in points:
        low, high = enclose(program, tuple(x), tuple(x), "taylor")
        found = flow(program, names, x)
        assert found is not None
        with mp.workdps(DIGITS):
            assert all(mpf(a) <= v <= mpf(b) for a, v, b in zip(low, found, high, strict=True)), (low, found, high)


STARTS = {  # gadget → how each target starts from (x, y), where the operand is x
    "tanh": ("0", "0"),
    "log_cosh": ("0", "y"),
    "sigmoid": ("x/2", "y"),
    "silu": ("x/2",),
    "softplus": ("x/2", "y"),
    "expm1": ("y",),
    "exp": ("y",),
    "sinh_cosh": ("y", "1"),
    "sin_cos": ("y", "1"),
    "gaussian": ("y", "1"),
    "erf": ("0", "3x", "y"),
    "gelu": ("0", "y", "1"),
    "arctan": ("y", "x", "y"),
    "asinh": ("y", "3x", "x", "0"),
    "ln": ("y", "x"),
    "variable_power": ("y", "xy", "1"),
}


@pytest.mark.parametrize("duration", [1.0, 0.375])
@mostly_slow("name", STARTS, quick=4)
def test_every_gadget_from_its_starts(name: str, duration: float) -> None:
    op = getattr(gadgets, name)
    r = Registers()
    x, y = r.inputs("x", 1), r.inputs("y", 1)
    loads = {
        "0": lambda z: [],
        "1": lambda z: [gadgets.ramp(z, b=1.0)],
        "x": lambda z: [gadgets.affine(z, x)],
        "y": lambda z: [gadgets.affine(z, y)],
        "x/2": lambda z: [gadgets.affine(z, x, w=0.5)],
        "3x": lambda z: [gadgets.affine(z, x, w=3.0)],
        "xy": lambda z: [gadgets.product(z, x, y)],
    }
    targets = [r.new(f"{role} of {name}", 1) for role in op.targets]
    blocks = [block for z, how in zip(targets, STARTS[name], strict=True) for block in loads[how](z)]
    run = segment("run", op(*targets, *([x] if op.operands else [])), duration=duration)
    out = r.new("out", len(targets))
    copies = [gadgets.affine(out[n : n + 1], z) for n, z in enumerate(targets)]
    program = build(r, [segment("load", *blocks), run, segment("copy", *copies)], out)
    check(program, np.array([[0.7, 0.4], [-1.3, 0.9], [0.0, 0.5], [2.5, -0.3]]))


def test_runs_of_fused_factors() -> None:
    r = Registers()
    x, y = r.inputs("x", 1), r.inputs("y", 1)
    p, u, v = r.new("p", 2), r.new("u", 1), r.new("v", 1)
    start = segment("start", gadgets.affine(p[:1], x), gadgets.affine(p[1:], y), gadgets.ramp(v, b=1.5))
    turn = gadgets.power_spiral(p, u, v, x, y, a=[0.3, -2.0], w=0.7, b=0.1, c=2.0, d=-0.4)
    program = build(r, [start, segment("turn", turn, duration=0.5)], v)
    check(program, np.array([[0.7, 0.4], [-0.3, 0.9]]))
    for changed in (program.rescale_time(3.0), program.rescale_states([1.0, 1.0, 2.0, 4.0, 0.5, 8.0])):
        assert flow(changed, "xy", X) == flow(program, "xy", X)


def test_an_escape_is_seen() -> None:
    """1/x from p = x − 1 reaches its pole for x ≤ 0, where the formula 1/x has a value."""
    r = Registers()
    x = r.inputs("x", 1)
    p, z = r.new("p", 1), r.new("z", 1)
    start = segment("start", gadgets.affine(p, x, b=-1.0), gadgets.ramp(z, b=1.0))
    program = build(r, [start, segment("power", gadgets.power(p, z, a=-1.0))], z)
    assert flow(program, "x", [0.25]) == [4]
    assert flow(program, "x", [-0.25]) is None


REFUSED = {
    "tanh": lambda z, x: gadgets.tanh(z[:1], z[1:2], x),
    "sigmoid": lambda z, x: gadgets.sigmoid(z[:1], z[1:2], x),
    "erf": lambda z, x: gadgets.erf(z[:1], z[1:2], z[2:], x),
    "asinh": lambda z, x: gadgets.asinh(z[1:2], z[2:], x, z[:1]),
    "raw": lambda z, x: gadgets.raw(z[:1], A=[[1.0]]),
    "relax": lambda z, x: gadgets.relax(z[:1], r=1.0, v=1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_starts_and_gadgets_without_a_formula_are_refused(name: str) -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 3)
    start = segment("start", gadgets.ramp(z[:1], b=0.3))
    program = build(r, [start, segment("run", REFUSED[name](z, x))], z[:1])
    with pytest.raises(Unprovable, match=f"segment 'run': .*{name}"):
        written(program, "x")


def test_rounded_controls_are_refused() -> None:
    program = integraph.compile("sin(3*x)").rescale_time(0.3)
    with pytest.raises(Unprovable, match="rounded"):
        written(program, "x")


def test_an_escape_whatever_the_input() -> None:
    r = Registers()
    r.inputs("x", 1)
    p, z = r.new("p", 1), r.new("z", 1)
    program = build(r, [segment("s", gadgets.ramp(p, b=-1.0)), segment("run", gadgets.ln(p, z))], z)
    with pytest.raises(Unprovable, match="escapes"):
        written(program, "x")


def test_too_large_programs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = integraph.compile("sin(3*x)*exp(-y)")
    monkeypatch.setattr(writing, "TERMS", 3)
    with pytest.raises(Unprovable, match="more than 3"):
        written(program, "xy")
    monkeypatch.undo()
    monkeypatch.setattr(symbols, "STEPS", 3)
    with pytest.raises(Unprovable, match="more than 3 steps"):
        written(program, "xy")


@pytest.mark.parametrize("value", ["1", "-3", "0.1", "5e-324", "1.7976931348623157e308", "-2.5e-200"])
def test_numbers_are_what_is_stored(value: str) -> None:
    exact = Fraction(float(value))
    book = SymbolTable(["x"])
    step = literal(book.tape, exact)
    (text,) = [s.text for s in book.tape.steps if s.op == "number"]
    assert Fraction(text) == exact
    assert book.tape.steps[step].op == "number"
    third = of_tape(book.tape.steps, "x", [0.0]) and literal(book.tape, Fraction(1, 3))
    assert abs(of_tape(book.tape.steps, "x", [0.0])[third] * 3 - 1) < 1e-49


def test_symbols_fold() -> None:
    book = SymbolTable(["x"])
    (x,) = book.inputs
    count = len(book.tape.steps)
    zero, one = book.symbol(0), book.symbol(1)
    assert (0 * x).number == 0
    assert [(one * x).value, (x + zero).value, (x / 1).value, x.power(Fraction(1)).value] == [x.value] * 4
    assert (book.symbol(0.1) * 3 - 0.5).number == Fraction(0.1) * 3 - Fraction(1, 2)
    assert zero.function("cos").number == 1
    assert len(book.tape.steps) == count
    with pytest.raises(Unprovable, match="bits"):
        Symbol(book, Fraction(1, 3**20_000))


def test_a_wrong_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail."""
    monkeypatch.setitem(symbolic_rules.RULES, "expm1", lambda q, t, z, x: (((z + 1) * (t * x).function("exp"),), ()))
    with pytest.raises(AssertionError):
        test_every_gadget_from_its_starts("expm1", 1.0)
