"""Trajectories as people have them → times, states and inputs, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, numbers
from integraph.text import counted

FEWEST = 4  # samples of a trajectory
UNITS = 1e60  # the largest number, and one over the smallest largest of a column: fourth powers must be numbers, too


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """`states[k]` were seen at `times[k]`; `inputs[k]` are held from then to the next time."""

    times: Floats
    states: Floats
    inputs: Floats

    def __len__(self) -> int:
        return len(self.times)


def trajectories(given: Any, dt: Any, inputs: Any = None) -> tuple[Trajectory, ...]:
    """One array (times, states), or a list of them; `dt` is one step, the times, or a list of times; `inputs` likewise,
    with a value for each time (the last is not used) or one less."""
    many = isinstance(given, Sequence) and len(given) > 0 and np.ndim(given[0]) > 0 and np.ndim(given[0]) == 2
    arrays = [_states(one) for one in (given if many else [given])]
    for one in arrays:
        if one.shape[1] != arrays[0].shape[1]:
            raise UsageError(
                f"trajectories have {arrays[0].shape[1]} and {one.shape[1]} states: give the same to each",
                argument="data",
            )
    clocks = _each(dt, len(arrays), "dt", many and np.ndim(_first(dt)) > 0)
    forces = _each(inputs, len(arrays), "inputs", many)
    return tuple(
        Trajectory(_times(clock, len(states)), states, _inputs(force, len(states)))
        for states, clock, force in zip(arrays, clocks, forces, strict=True)
    )


def _first(given: Any) -> Any:
    return given[0] if isinstance(given, Sequence) and len(given) else given


def _each(given: Any, count: int, what: str, many: bool) -> list[Any]:
    if given is None or not many:
        return [given] * count
    if not isinstance(given, Sequence) or len(given) != count:
        raise UsageError(f"give one for each of the {count} trajectories", argument=what)
    return list(given)


def _states(given: Any) -> Floats:
    array = numbers(given, "data")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.shape[1]:
        raise UsageError(
            f"a trajectory has a row for each time and a column for each state; got shape {array.shape}",
            argument="data",
        )
    if len(array) < FEWEST:
        raise UsageError(f"a trajectory needs at least {FEWEST} samples, got {len(array)}", argument="data")
    if not np.isfinite(array).all():
        row, column = (int(n) for n in np.argwhere(~np.isfinite(array))[0])
        raise UsageError(
            f"state {column + 1} is {array[row, column]} at sample {row + 1}: split the trajectory there",
            argument="data",
        )
    _check_units(array, "data")
    return array


def _check_units(array: Floats, argument: str) -> None:
    largest = np.abs(array).max(0, initial=0.0)
    wrong = np.flatnonzero((largest > UNITS) | ((largest < 1.0 / UNITS) & (largest > 0)))
    if len(wrong):
        what = f"column {wrong[0] + 1} of {argument}" if len(largest) > 1 else argument
        raise UsageError(
            f"the largest number of {what} is {largest[wrong[0]]:.3g}: give it in units in which that is between "
            f"{1.0 / UNITS:g} and {UNITS:g}",
            argument=argument,
        )


def _times(given: Any, count: int) -> Floats:
    array = numbers(given, "dt")
    if array.ndim == 0:
        if not (np.isfinite(array) and array > 0):
            raise UsageError("needs a positive step", argument="dt", value=float(array))
        array = np.arange(count, dtype=np.float64) * np.float64(array)
    if array.shape != (count,):
        raise UsageError(f"{counted(count, 'sample')} need as many times, got shape {array.shape}", argument="dt")
    if not np.isfinite(array).all() or (np.diff(array) <= 0).any():
        raise UsageError("times must be finite, each later than the one before", argument="dt")
    _check_units(np.diff(array)[:, None], "dt")
    return np.asarray(array - array[0])


def _inputs(given: Any, count: int) -> Floats:
    if given is None:
        return np.zeros((count, 0))
    array = numbers(given, "inputs")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) not in (count, count - 1) or not np.isfinite(array).all():
        raise UsageError(
            f"inputs are finite, a row for each of the {counted(count, 'sample')}; got shape {array.shape}",
            argument="inputs",
        )
    _check_units(array, "inputs")
    return array if len(array) == count else np.concatenate([array, array[-1:]])
