"""Runs one after the other in the same registers, chunks of any size, and the order of what is added up."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from integraph import Index, Program, Registers, View, build, segment
from integraph.flow.exact import chunk_size, engine
from integraph.flow.exact.plan import make
from integraph.gadgets import affine, decay, exp, gelu, ln, product, ramp, softmax, tanh
from random_programs import random_program

RNG = np.random.default_rng(14)


def every_kind() -> Program:
    """Targets that are overwritten, added to, partly fresh, read while 0, written later, listed, and dead."""
    r = Registers()
    x = r.inputs("x", 4, 6)
    d, z, late = r.new("d", 4, 6), r.new("z", 4, 6), r.new("late", 4, 6)
    w, h, g = r.new("w", 4, 6), r.new("h", 4, 6), r.new("g", 4, 6)
    a, u, m = r.new("a", 4, 6), r.new("u", 4, 6), r.new("m", 4)
    alpha, lam, p = r.new("alpha", 4, 6), r.new("lam", 4, 6), r.new("p", 4, 6)
    listed = Index(late.indices()[::-1, ::2])
    return build(
        r,
        [
            segment("centre", affine(d, x), affine(d, x[:, None, :], w=np.full(1, -1 / 6)), affine(z, late)),
            segment("load", affine(h, d, w=0.4), affine(g, d, w=0.5), ramp(a[:, :3], b=1 / 3), affine(u, d, w=1 / 6)),
            segment("run", gelu(w, h, g, d), affine(listed, d[:, ::2]), ramp(a[:, 3:], b=0.1)),
            segment("softmax", softmax(a, u, m, d, c=2.0), tanh(alpha, lam, g), decay(h, r=3.0), duration=0.7),
            segment("again", tanh(alpha, lam, d), product(z, a, g), affine(p, g, w=0.1, b=0.5)),
            segment("log", ln(p, late), exp(z, d)),
        ],
        View(d.offset, (p.offset + p.size - d.offset,), (1,)),
    )


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("states", [False, True])
def test_a_run_leaves_nothing_behind(count: int, states: bool) -> None:
    """The same numbers, bit by bit, in new registers and after other runs, one of which fails half way."""
    X, others = RNG.normal(size=(count, 24)), 3.0 * RNG.normal(size=(count, 24))
    first = every_kind().flow(X, "exact", states=states).check()
    program = every_kind()
    others[0, 0] = 1e200
    assert not program.flow(others, "exact", states=states).ok
    assert not program.flow(-others, "exact", states=states).ok
    again = program.flow(X, "exact", states=states).check()
    assert np.array_equal(again.outputs, first.outputs)
    assert not states or np.array_equal(again.states, first.states)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 10**6), st.lists(st.sampled_from([1.0, 0.3]), min_size=1, max_size=3))
def test_random_programs_leave_nothing_behind(seed: int, durations: list[float]) -> None:
    program = random_program(seed, [f"{n}" for n in range(len(durations))], durations)
    assume(engine.EXACT.can(program))
    rng = np.random.default_rng(seed)
    X, others = rng.normal(size=(3, program.inputs)), 100 * rng.normal(size=(3, program.inputs))
    for states in (False, True):
        new = replace(program).flow(X, "exact", states=states)
        program.flow(others, "exact", states=states)
        again = program.flow(X, "exact", states=states)
        assert np.array_equal(again.outputs, new.outputs, equal_nan=True)
        assert not states or np.array_equal(again.states, new.states, equal_nan=True)


def test_only_what_must_be_0_is_cleared() -> None:
    plan = make(every_kind(), True)
    registers = plan.program.registers
    cleared = np.zeros(plan.program.width, np.bool_)
    for piece in plan.stale:
        cleared[piece] = True
    assert not cleared[: plan.program.inputs].any()
    assert not registers["d"].of(cleared).any()
    assert registers["w"].of(cleared).all()
    assert registers["late"].of(cleared).all()
    assert make(rows_of(2, 3, 4), False).stale == ()


def test_the_largest_sum_comes_first() -> None:
    """It may overwrite what the others add to."""
    r = Registers()
    x, z = r.inputs("x", 5), r.new("z", 3)
    blocks = (ramp(z, b=1.0), affine(z, x[:3]), affine(z, x, w=np.ones((3, 5))), affine(z, x[2:], b=2.0))
    planned = make(build(r, [segment("sum", *blocks)], z), False).planned
    assert [p.fresh for p in planned] == [True, False, False, False]
    assert planned[0].block is blocks[2]
    program = build(r, [segment("sum", *blocks)], z)
    X = RNG.normal(size=(4, 5))
    assert np.allclose(program(X), 3.0 + X[:, :3] + X[:, 2:] + X.sum(1, keepdims=True), rtol=1e-14)


@settings(deadline=None)
@given(st.integers(1, 10**5))
def test_columns_for_any_number_of_inputs(count: int) -> None:
    assert count <= chunk_size.padded(count) <= 1.125 * count
    assert chunk_size.padded(chunk_size.padded(count)) == chunk_size.padded(count)


def test_outputs_do_not_depend_on_the_columns() -> None:
    program = every_kind()
    X = RNG.normal(size=(45, 24))
    whole = program(X)
    for count in (1, 2, 9, 17, 31, 44):
        assert np.allclose(program(X[:count]), whole[:count], rtol=1e-13, atol=1e-14)


def chunk_of(program: Program) -> int:
    return chunk_size.chunk(make(program, False))


def rows_of(tokens: int, width: int, layers: int) -> Program:
    """Matrix products of rows."""
    r = Registers()
    x = r.inputs("x", tokens, width)
    segments = []
    for n in range(layers):
        y = r.new(f"y{n}", tokens, width)
        segments.append(segment(f"layer {n}", affine(y, x[:, None, :], w=np.eye(width))))
        x = y
    return build(r, segments, x)


@pytest.mark.slow
def test_how_many_inputs_at_once() -> None:
    assert chunk_of(every_kind()) == chunk_size.CHUNK
    assert chunk_of(rows_of(64, 32, 2)) == chunk_of(rows_of(64, 32, 40)) > chunk_size.SMALLEST  # depth does not matter
    assert chunk_of(rows_of(128, 256, 2)) == 1
    assert chunk_of(rows_of(1, 9000, 2)) == chunk_size.SMALLEST  # every weight is used once: one input would be slow
    r = Registers()
    x, z = r.inputs("x", 2_000_000), r.new("z", 2_000_000)
    assert 8 * r.width * chunk_of(build(r, [segment("copy", affine(z, x))], z[:1])) <= chunk_size.MEMORY


def test_idle_workspaces_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "IDLE", 8 * 292 * 20)
    program = every_kind()
    for count in (1, 2, 4, 6, 8, 30, 3):
        program.flow(RNG.normal(size=(count, 24)), "exact")
    prepared = engine.EXACT.prepare(program, False)
    assert {size: len(found) for size, found in prepared.workspaces.idle.items()} == {3: 1}


def test_an_output_that_is_registers_is_read_as_they_are() -> None:
    r = Registers()
    x, z = r.inputs("x", 40), r.new("z", 40)
    for out, matrix in ((z, None), (z[::-1], None), (z[::2], None), (z, 2.0 * np.eye(40)), (z, np.eye(40)[:, ::-1])):
        program = build(r, [segment("copy", affine(z, x))], out, matrix)
        for count in (1, 3):
            X = RNG.normal(size=(count, 40))
            expected = program.readout @ np.concatenate([X, X], 1).T
            assert np.array_equal(program(X), expected.T)
            assert np.allclose(program.rescale_states(4.0)(X / 4.0), expected.T, rtol=1e-15)
