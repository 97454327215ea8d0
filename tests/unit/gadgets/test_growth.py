"""`powers`, `spiral` and `power_spiral`: against mpmath from any start, at the ends of float64, on every engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from integraph import Index, Program, Registers, Segment, Status, build, gadgets, segment
from integraph.flow.exact import binding
from integraph.gadgets.functions.namespace import FLOAT
from integraph.program import Block
from integraph.program.views import dense
from law import examples
from multiprecision import PreciseFunctions
from multiprecision import advance as advance_precisely

EPS = 2.0**-52
DIGITS = 60
SHAPES = st.lists(st.integers(1, 3), max_size=2).map(tuple)
NAMES = ("powers", "spiral", "power_spiral")


@dataclass
class Drawn:
    """A block over scattered registers, and the same block as plain arrays."""

    block: Block
    registers: Registers
    p: np.ndarray  # registers, rows + (K,)
    lanes: tuple[np.ndarray, ...]
    reads: dict[str, np.ndarray]  # registers, lanes + (terms,)
    tensors: dict[str, np.ndarray]  # broadcast: lanes + (terms,), or lanes


def drawn(seed: int, name: str, rows: tuple[int, ...], n: int, counts: dict[str, int]) -> Drawn:
    """Whole groups or permuted lists, operands that repeat registers; tensors that broadcast, are missing or are 0."""
    rng, r, op = np.random.default_rng(seed), Registers(), getattr(gadgets, name)
    lanes = (*rows, n)
    shapes = {role: (*rows, counts["p"]) if role == "p" else lanes for role in op.targets}
    targets = {role: r.inputs(role, *shape) for role, shape in shapes.items()}
    frozen = r.inputs("frozen", 5)
    refs = [
        Index(rng.permutation(view.indices().ravel()).reshape(view.shape)) if rng.random() < 0.4 else view
        for view in targets.values()
    ]
    reads = {role: rng.choice(frozen.indices(), (*lanes, counts[role])) for role in op.operands}
    tensors, given = {}, {}
    for tensor in op.tensors:
        role = {"a": "p", "w": "x", "c": "t"}.get(tensor)
        shape = lanes if role is None else (*lanes, counts[role])
        if role is None and rng.random() < 0.5:
            tensors[tensor] = np.zeros(lanes)
            continue
        small = tuple(1 if rng.random() < 0.4 else size for size in shape[rng.integers(len(shape) + 1) :])
        given[tensor] = rng.normal(0, 1.5, small) * (rng.random(small) > 0.2)
        if tensor == "a" and rng.random() < 0.4:
            given[tensor] = np.array(rng.choice([-0.5, -1.0, 0.5, 3.0]))
        tensors[tensor] = np.broadcast_to(given[tensor], shape)
    block = op(*refs, *(Index(reads[role]) for role in op.operands), **given)
    found = dict(zip(op.targets, (ref.indices() for ref in block.targets), strict=True))
    p = found.pop("p", np.zeros((*rows, 0), int))
    return Drawn(block, r, p, tuple(found.values()), reads, tensors)


def truth(case: Drawn, y: np.ndarray, t: float) -> tuple[dict[int, mpf], dict[int, mpf]]:
    """By the solution in 60 digits: end values by register, and how many ulp of rounding go into them."""
    ends, noise = {}, {}
    with mp.workdps(DIGITS):
        time, y_ = mpf(t), [mpf(v) for v in y.tolist()]
        for register in case.p.ravel().tolist():
            base = 1 + time * y_[register]
            ends[register], noise[register] = y_[register] / base, 4 + 4 * abs((base - 1) / base)
        for lane in np.ndindex(case.lanes[0].shape):
            form = {
                bias: (
                    [mpf(float(c)) * y_[k] for c, k in zip(case.tensors[w][lane], case.reads[role][lane], strict=True)]
                    if role in case.reads
                    else []
                )
                + [mpf(float(case.tensors[bias][lane])) if bias in case.tensors else mpf(0)]
                for w, role, bias in (("w", "x", "b"), ("c", "t", "d"))
            }
            bases, exponents = case.p[lane[:-1]], case.tensors["a"][lane] if "a" in case.tensors else ()
            powers = [(mpf(float(a)), time * y_[k]) for a, k in zip(exponents, bases, strict=True)]
            factor = mp.exp(time * mp.fsum(form["b"])) * mp.fprod((1 + x) ** a for a, x in powers)
            rounding = 8 + 4 * sum(abs(time * v) for v in form["b"] + form["d"])
            rounding += sum(2 + 4 * abs(a * x / (1 + x)) for a, x in powers)
            at = [int(part[lane]) for part in case.lanes]
            values = [y_[k] * factor for k in at]
            size = max(map(abs, values))
            if len(at) == 2:
                angle = time * mp.fsum(form["d"])
                (u, v), sin, cos = values, mp.sin(angle), mp.cos(angle)
                values = [u * cos + v * sin, v * cos - u * sin]
            for k, value in zip(at, values, strict=True):
                ends[k], noise[k] = value, rounding * (size / abs(value) if value else 1)
    return ends, noise


def one_step(block: Block, registers: Registers, t: float) -> Program:
    """All registers are read out."""
    whole = dense(0, (registers.width,))
    return build(registers, [Segment("run", (block,), abs(t), 1.0 if t > 0 else -1.0)], whole)


def lowered(program: Program) -> int:
    return sum(len(batch) for batch in program.segment_terms(0))


def starts(case: Drawn, rng: np.random.Generator, t: float, count: int) -> np.ndarray:
    """1 + pt ≥ 0.05."""
    y = rng.normal(0, 1.5, (count, case.registers.width))
    y[:, case.p.ravel()] = rng.uniform(-0.95, 5, (count, case.p.size)) / t
    return y


@examples(120)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(NAMES),
    SHAPES,
    st.integers(1, 3),
    st.fixed_dictionaries({"p": st.integers(1, 3), "x": st.integers(0, 3), "t": st.integers(0, 2)}),
    st.sampled_from([1.0, -1.0, 0.37, 2.5, -1.8]),
    st.sampled_from([1, 3]),
)
def test_exact_and_generic_agree_with_mpmath(
    seed: int, name: str, rows: tuple[int, ...], n: int, counts: dict[str, int], t: float, inputs: int
) -> None:
    case = drawn(seed, name, rows, n, counts)
    program, y = one_step(case.block, case.registers, t), starts(case, np.random.default_rng(seed), t, inputs)
    generic = y.T.copy()
    alive = binding.advance(case.block, generic, t)
    assert all((quantity > 0).all() for quantity in alive.values())
    for found in (program.flow(y, "exact", states=True).check().outputs, generic.T):
        for begin, end in zip(y, found, strict=True):
            wanted, noise = truth(case, begin, t)
            moved = sorted(wanted)
            assert (np.delete(end, moved) == np.delete(begin, moved)).all()
            for k in moved:
                assert abs(end[k] - wanted[k]) <= EPS * noise[k] * abs(wanted[k]), (k, end[k], wanted[k])


@examples(40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES), SHAPES, st.integers(1, 3), st.integers(0, 2))
def test_terms_are_the_derivative_of_the_closed_form(
    seed: int, name: str, rows: tuple[int, ...], n: int, reads: int
) -> None:
    """A difference quotient of the closed form in 400 bits; and as many terms as were foretold."""
    case = drawn(seed, name, rows, n, {"p": 2, "x": reads, "t": 2 - reads})
    program, (y,) = one_step(case.block, case.registers, 1.0), starts(case, np.random.default_rng(seed), 1.0, 1)
    f = PreciseFunctions(400)
    states, h = f.exactly(y[:, None]), f.exactly(1e-40)
    before = states.copy()
    advance_precisely(f, case.block, states, h)
    slope = f.rounded((states - before) / h)[:, 0]
    np.testing.assert_allclose(program.rhs(0.5, y), slope, rtol=1e-13, atol=1e-13)
    assert program.terms == lowered(program)


@pytest.mark.parametrize("name", NAMES)
def test_counts_without_lowering(name: str) -> None:
    """Views whose lanes read no register twice are counted from their tensors."""
    r, op = Registers(), getattr(gadgets, name)
    shapes = {"p": (2, 2), "z": (2, 3), "u": (2, 3), "v": (2, 3), "x": (2, 3, 2), "t": (2, 3, 1)}
    views = [r.inputs(role, *shapes[role]) for role in op.targets + op.operands]
    tensors = {"a": [1.0, 0.0], "w": [[0.0, 1.0]], "b": [1.0, 0.0, 2.0], "c": 2.0, "d": [[1.0], [0.0]]}
    block = op(*views, **{k: tensors[k] for k in op.tensors})
    assert op.count(block) == lowered(one_step(block, r, 1.0))


CASES: list[tuple[float, float, list[float], list[float]]] = [
    (2.0, 800.0, [1e300], [-1.2]),
    (1.0, -800.0, [1e300], [1.2]),
    (1e-200, 800.0, [0.5], [-0.5]),
    (-3.0, 0.0, [1e200, 1e200, 3e-9], [2.0, -2.0, 1e6]),
    (1.0, 2500.0, [1e300, 1e300], [-1.8, -1.8]),
    (1.0, -3000.0, [1e300, 1e-3], [0.9, 2.4e6]),
    (5e-324, 1400.0, [1.0], [1.0]),
    (1.5e308, -1000.0, [1e300], [1.4]),
    (1.0, 1e-20, [1e-20], [3.0]),
    (1.0, 0.0, [-1.0 + 2.0**-52, 1.0 / 3.0], [9.0, -700.0]),
    (1.0, 0.0, [2.0**53 + 2.0], [1e-3]),
    (1.0, 3.0, [1.0 / 3.0, 3.3], [-200.0, 30.0]),
    (0.0, 1e6, [1e300], [5.0]),
]


@pytest.mark.parametrize(("z", "e", "x", "a"), CASES)
def test_factors_that_are_no_normal_numbers(z: float, e: float, x: list[float], a: list[float]) -> None:
    with np.errstate(all="ignore"):
        arguments = np.array([z]), np.array([e]), np.array(x)[:, None], np.array(a)[:, None]
        (found,) = FLOAT.grow_powers(*arguments)
    with mp.workdps(DIGITS):
        wanted = mpf(z) * mp.exp(mpf(e)) * mp.fprod((1 + mpf(b)) ** mpf(c) for b, c in zip(x, a, strict=True))
        assert abs(found - wanted) <= 4 * EPS * abs(wanted), (found, wanted)
        (precise,) = PreciseFunctions(200).grow_powers(*map(PreciseFunctions(200).exactly, arguments))
        assert abs(precise - wanted) <= 1e-50 * abs(wanted)


@examples(300)
@given(
    st.floats(-600, 600),
    st.lists(
        st.tuples(st.floats(-1 + 2**-52, 4) | st.floats(0, 1e200), st.floats(-3, 3))
        | st.tuples(st.floats(-0.5, 1), st.floats(-250, 250)),
        min_size=1,
        max_size=4,
    ),
)
def test_a_few_ulp(e: float, factors: list[tuple[float, float]]) -> None:
    x, a = (np.array(part)[:, None] for part in zip(*factors, strict=True))
    with np.errstate(all="ignore"):
        (found,) = FLOAT.grow_powers(np.ones(1), np.array([e]), x, a)
    with mp.workdps(DIGITS):
        wanted = mp.exp(mpf(e)) * mp.fprod((1 + mpf(b)) ** mpf(c) for b, c in factors)
        if mpf(2) ** -1022 < wanted < mpf(2) ** 1023:
            assert abs(found - wanted) <= (2 + 2 * len(factors)) * EPS * wanted


def test_a_doubtful_lane_sends_its_chunk_to_the_closed_form() -> None:
    r = Registers()
    p, z, x = r.inputs("p", 1), r.inputs("z", 1), r.inputs("x", 1)
    for a in (-1.2, -150.0):
        program = build(r, [segment("far", gadgets.powers(p, z, x, a=a))], z)
        y = np.array([[1e300, 2.0, 800.0], [3.0, 1.0, 1.0], [0.0, 5e-324, 745.0], [1e300, 1e200, 0.0], [0.3, 1.0, 0.0]])
        with mp.workdps(DIGITS):
            wanted = [mpf(v) * mp.exp(c) * (1 + mpf(b)) ** mpf(a) for b, v, c in y.tolist()]
        for found in (program(y), np.concatenate([program(row[None]) for row in y])):
            assert all(abs(v - w) <= 4 * EPS * w + 5e-324 for v, w in zip(found[:, 0].tolist(), wanted, strict=True))


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("name", "start", "fine"),
    [
        ("powers", {"z": 1.5e308}, True),
        ("powers", {"z": 1.5e308, "x": 1.0}, False),
        ("powers", {"z": 1e300, "x": 1.0, "p": 1e20}, False),
        ("powers", {"p": -1.0}, False),
        ("powers", {"p": -1.5}, False),
        ("powers", {"z": 1.0, "x": np.inf}, False),
        ("powers", {"x": np.nan}, False),
        ("spiral", {"u": 1e308, "v": 1e308, "t": 0.7}, True),
        ("spiral", {"u": 1.5e308, "v": 1.5e308, "t": 0.7}, False),
        ("spiral", {"u": 1.5e308, "v": 1.5e308, "t": -0.7}, False),
        ("spiral", {"v": 1.0, "t": np.inf}, False),
        ("power_spiral", {"p": -1.5}, False),
        ("power_spiral", {"p": -0.5, "u": -1.5e308}, True),
        ("power_spiral", {"p": 0.5, "u": -1.5e308}, False),
    ],
)
def test_a_step_knows_whether_all_live_on(name: str, start: dict[str, float], fine: bool, count: int) -> None:
    """Also if only the last of its inputs does not; a = 1."""
    r, op = Registers(), getattr(gadgets, name)
    roles = op.targets + op.operands
    views = [r.inputs(role, 1) for role in roles]
    block = op(*views, **({"a": 1.0} if "p" in roles else {}))
    for live in (True, False):
        for bind in (binding.bind, lambda block, states, t, *_: binding._generic(block, states, t)):
            states = np.zeros((len(roles), count))
            states[:, -1] = [start.get(role, 0.0) for role in roles]
            with np.errstate(all="ignore"):
                assert bind(block, states, 1.0, False, (live,) * len(op.targets))() == fine


@pytest.mark.parametrize("name", NAMES)
def test_what_escapes_or_overflows_is_named(name: str) -> None:
    r, op = Registers(), getattr(gadgets, name)
    views = [r.inputs(role, 1) for role in op.targets + op.operands]
    program = one_step(op(*views, **({"a": 1.0} if "p" in op.targets else {})), r, 1.0)
    y = np.ones((3, program.width))
    y[1, len(op.targets) - 1 :] = 1e300, *[100.0] * len(op.operands)
    y[2, 0] = -1.5 if "p" in op.targets else 1.0
    flow = program.flow(y, "exact")
    expected = [(1, Status.OVERFLOWED)] + [(2, Status.ESCAPED)] * ("p" in op.targets)
    assert [(failure.input, failure.status) for failure in flow.failures] == expected
    assert all(failure.domain == op.domain for failure in flow.failures)
    assert np.isfinite(flow.outputs[0]).all()
