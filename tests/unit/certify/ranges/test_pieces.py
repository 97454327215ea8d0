"""Bounds between two times: pieces without a gap, and registers that turn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from integraph import Program, Registers, build, gadgets, segment
from integraph.certify.ranges.pieces import MORE, Pieces
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval

STEEP, TIP = 400.0, 0.5625  # in the middle of a piece
State = Callable[[Floats], Floats]


def wave(speed: float) -> tuple[Program, State]:
    """sin(ωt) and cos(ωt)."""
    registers = Registers()
    y = registers.inputs("y", 2)
    program = build(registers, [segment("turn", gadgets.raw(y, A=[[0.0, speed], [-speed, 0.0]]))], y)
    return program, lambda t: np.stack([np.sin(speed * t), np.cos(speed * t)])


def tent() -> tuple[Program, State]:
    """z' = u falls from 1 to −1 at once, u' = k(u² − 1): z is nearly a tent."""
    registers = Registers()
    y = registers.inputs("y", 2)
    Q = np.zeros((2, 2, 2))
    Q[0, 0, 0] = STEEP
    A = np.array([[0.0, 0.0], [1.0, 0.0]])
    program = build(registers, [segment("tent", gadgets.raw(y, A=A, Q=Q, b=np.array([-STEEP, 0.0])))], y)

    def state(t: Floats) -> Floats:
        rise, start = (np.logaddexp(s, -s) / STEEP for s in (STEEP * (t - TIP), STEEP * (0.0 * t - TIP)))
        return np.stack([-np.tanh(STEEP * (t - TIP)), start - rise])

    return program, state


def way(program: Program, state: State, most: int, loose: float = 10.0) -> tuple[Interval, list[tuple[float, float]]]:
    """From exact bounds at times, and loose ones over pieces, which are listed."""
    pieces, asked = Pieces(program, 0, most), []

    def over(first: float, last: float) -> Interval:
        if first < last:
            asked.append((first, last))
        values = state(np.linspace(first, last, 400 if first < last else 1))
        room = 1e-9 if first == last else loose
        return Interval(values.min(1, keepdims=True) - room, values.max(1, keepdims=True) + room)

    return pieces.way(over(0.0, 0.0), over(1.0, 1.0), over), asked


def assert_within(state: State, bounds: Interval) -> None:
    values = state(np.linspace(0.0, 1.0, 2001))
    assert (bounds.low[:, 0] <= values.min(1) + 1e-12).all()
    assert (bounds.high[:, 0] >= values.max(1) - 1e-12).all()


def test_the_tip_of_a_tent() -> None:
    """From loose bounds; the slope makes them close."""
    program, state = tent()
    assert Pieces(program, 0).registers.tolist() == [0, 1]
    bounds, asked = way(program, state, 0)
    assert_within(state, bounds)
    assert bounds.high[1, 0] < state(np.array([TIP]))[1, 0] + 0.02
    assert asked == list(pairwise(MORE))


def test_pieces_have_no_gap() -> None:
    """Halved where the wave turns, and each turn is inside."""
    program, state = wave(9.0)
    few, _ = way(program, state, 0, 0.5)
    bounds, asked = way(program, state, 30, 0.5)
    assert_within(state, bounds)
    assert (bounds.high - bounds.low < few.high - few.low).all()
    assert (bounds.high - bounds.low < 2.1).all()
    ends = sorted(piece for piece in asked if not any(_halved(piece, other) for other in asked))
    assert [0.0, *(last for _, last in ends)] == [*(first for first, _ in ends), 1.0]


def _halved(piece: tuple[float, float], half: tuple[float, float]) -> bool:
    return half != piece and piece[0] <= half[0] and half[1] <= piece[1]


def test_what_reads_itself_alone_is_monotone() -> None:
    """p' = −p² falls, and so needs no piece; z' = p z, which reads it, may turn."""
    registers = Registers()
    p, z, y = registers.inputs("p"), registers.inputs("z"), registers.new("y")
    blocks = gadgets.power(p, z, a=1.0), gadgets.ramp(y, b=1.0)
    pieces = Pieces(build(registers, [segment("both", *blocks)], y), 0)
    assert pieces.steady.tolist() == [True, False, True]
    assert [block.op.name for block in pieces.blocks] == ["power"]
