"""Programs one after the other, on shared registers: the same values, fewer registers."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph import Program
from integraph.errors import UsageError
from integraph.program.composition import in_place

X = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2))


def wave() -> Program:
    return integraph.compile(["sin(x) + 0.3*exp(-y*y)", "cos(x*y)"], box=(-1, 1))


def bend() -> Program:
    return integraph.compile(["tanh(x) + 0.3*y", "cos(x*y)"], box=(-1, 1))


def nested(program: Program, rounds: int) -> np.ndarray:
    values = X
    for _ in range(rounds):
        values = program(values)
    return values


@pytest.mark.parametrize("rounds", [1, 2, 3, 10])
def test_rounds_share_registers(rounds: int) -> None:
    program = wave()
    repeated = program.repeat(rounds)
    for engine in ("exact", "taylor"):
        assert np.allclose(repeated(X, engine), nested(program, rounds), rtol=1e-12, atol=1e-12)
    assert repeated.width == program.width + (rounds - 1) * program.inputs
    assert repeated.depth == (2 * rounds - 1) * program.depth + (rounds - 1)


def test_what_forgets_has_registers_of_its_own() -> None:
    """tanh cannot be run backwards from 1, in floats: its registers are not shared."""
    program = bend()
    repeated = program.repeat(3)
    assert np.allclose(repeated(X), nested(program, 3), rtol=1e-12, atol=1e-12)
    assert repeated.width == 3 * program.width


def test_a_flow_runs_again_on_its_registers() -> None:
    """Outputs in the input registers: all others are cleared, and not one is added."""
    program = integraph.lift("x' = v; v' = -sin(x)").program(0.5, [[-1, 1], [-1, 1]])
    repeated = program.repeat(4)
    assert repeated.width == program.width
    assert np.allclose(repeated(X), nested(program, 4), rtol=1e-12, atol=1e-12)
    moment = float(sum(s.duration for s in (*program.segments, repeated.segments[program.depth])))
    path = repeated.flow(X, times=[moment]).path
    assert path is not None
    assert np.abs(path[:, 0, program.inputs :]).max() < 1e-40


def test_outputs_over_inputs() -> None:
    """What forgets runs on its own registers too, once its outputs are in those of the inputs."""
    fold = integraph.compile(["tanh(x + y)", "cos(x*y)"], box=(-1, 1))
    program = in_place(fold)
    repeated = program.repeat(3)
    for engine in ("exact", "taylor"):
        assert np.allclose(repeated(X, engine), nested(fold, 3), rtol=1e-12, atol=1e-12)
    assert repeated.width == fold.width
    assert in_place(program) is program
    with pytest.raises(ValueError, match="read input registers"):
        in_place(bend())


def test_the_registers_are_restored() -> None:
    """After the first round and its inverse, everything but the copies is (x, 0, …) again."""
    program = wave()
    repeated = program.repeat(2)
    moment = float(2 * program.depth + 1)
    path = repeated.flow(X, times=[moment]).path
    assert path is not None
    assert np.allclose(path[:, 0, :2], X, atol=1e-15)
    assert np.abs(path[:, 0, 2 : program.width]).max() < 1e-15
    assert np.allclose(path[:, 0, program.width :], program(X), atol=1e-15)


def test_names_do_not_run_out() -> None:
    """Rounds side by side, and rounds with inverses, name more arrays than there are letters."""
    assert np.allclose(bend().repeat(30)(X), nested(bend(), 30), rtol=1e-12, atol=1e-12)
    assert np.allclose(wave().repeat(30)(X), nested(wave(), 30), rtol=1e-9, atol=1e-9)


def test_then() -> None:
    first, second = wave(), bend()
    side_by_side, shared = first.then(second), first.then(second, reuse=True)
    assert np.allclose(shared(X), second(first(X)), rtol=1e-12, atol=1e-12)
    assert shared.width == max(first.width, second.width - second.inputs + first.inputs) + second.inputs
    assert shared.width < side_by_side.width == first.width + second.width
    assert second.then(first, reuse=True).width == side_by_side.width  # tanh keeps its own
    assert first.rescale_states(2.0).then(second, reuse=True).width == side_by_side.width


def test_a_repeated_program_is_a_program(tmp_path: object) -> None:
    """It can be stored, and its ranges are known."""
    repeated = wave().repeat(3)
    path = tmp_path / "again.integraph"  # type: ignore[operator]
    repeated.save(path)
    assert integraph.load(path).digest == repeated.digest
    assert repeated.ranges((-0.5, 0.5), cells=2, progress=False).unbounded == ()


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, 10**6, "2"])
def test_refused(rounds: object) -> None:
    with pytest.raises(UsageError, match="integer from 1"):
        wave().repeat(rounds)  # type: ignore[arg-type]


def test_as_many_outputs_as_inputs() -> None:
    with pytest.raises(UsageError, match="as many of both"):
        integraph.compile("x*y").repeat(2)
