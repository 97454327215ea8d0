"""Named registers: the states y_1 … y_W of eq. (1), in groups, inputs first."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from integraph.errors import SpecError
from integraph.program.views import Ref, View, dense
from integraph.text import DistinctNames, joined

SHOWN = 100  # groups that a message names
MAX_WIDTH = 2**31 - 2  # indices of terms are int32


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive registers under one name."""

    name: str
    view: View


class Registers:
    """Allocates registers: `x = r.inputs("x", 2)` first, then `mu = r.new("mu", 32)` …; each gives a View."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._given: dict[str, int] = {}  # names as they were given → groups
        self._distinct = DistinctNames()
        self._starts: list[int] = []
        self._closed = False
        self.width = 0
        self.inputs_count = 0

    def inputs(self, name: str, *shape: int) -> View:
        """Registers that hold the input at t = 0. All inputs come before all others, as y(0) = (x, 0, …) says."""
        if self.inputs_count != self.width:
            raise SpecError(f"inputs come first: {name!r} was asked for after other registers")
        view = self.new(name, *shape)
        self.inputs_count = self.width
        return view

    def new(self, name: str, *shape: int) -> View:
        """Registers that start at 0. No shape means one register of shape (1,)."""
        shape = shape or (1,)
        if self._closed:
            raise SpecError(f"register group {name!r}: these registers belong to a program and cannot grow: copy() can")
        if not isinstance(name, str):
            raise SpecError(f"the name of a register group is a text, got {name!r}")
        if not name or name in self._given:
            raise SpecError(f"register group {name!r}: names must be new and not empty")
        if any(not isinstance(n, int | np.integer) or n < 1 for n in shape):
            raise SpecError(f"register group {name!r} has shape {shape}: every size must be an integer ≥ 1")
        view = dense(self.width, tuple(int(n) for n in shape))
        if self.width + view.size > MAX_WIDTH:
            raise SpecError(f"{self.width + view.size} registers: the limit is {MAX_WIDTH}")
        self._given[name] = len(self._groups)
        self._groups.append(Group(self._distinct(name), view))
        self._starts.append(self.width)
        self.width += view.size
        return view

    def close(self) -> None:
        """No more registers: a program is built on these."""
        self._closed = True

    def __repr__(self) -> str:
        groups = joined((f"{g.name} {list(g.view.shape)}" for g in self._groups), ", ", SHOWN)
        return f"Registers: W = {self.width}, of them {self.inputs_count} inputs: {groups}"

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def __getitem__(self, name: str) -> View:
        shown = (n for n, group in enumerate(self._groups) if group.name == name)
        number = self._given[name] if name in self._given else next(shown, None)
        if number is not None:
            return self._groups[number].view
        names = joined((group.name for group in self._groups), ", ", SHOWN)
        raise SpecError(f"no registers called {name!r}: there are {names}")

    def name(self, register: int) -> str:
        """`mu[3]` or `s[2,0]`: a register as a person says it."""
        if not 0 <= register < self.width:
            raise SpecError(f"register {register} is outside 0 … {self.width - 1}")
        group = self._groups[bisect_right(self._starts, register) - 1]
        if group.view.size == 1:
            return group.name
        where = np.unravel_index(register - group.view.offset, group.view.shape)
        return f"{group.name}[{','.join(str(int(w)) for w in where)}]"

    def names(self, ref: Ref) -> str:
        """`mu`, if that is a whole group, or `mu[0] … mu[3]`."""
        if ref.size == 0:
            return "nothing"
        first, last = (int(ref.at(np.array([n]))[0]) for n in (0, ref.size - 1))
        group = self._groups[bisect_right(self._starts, first) - 1]
        if first == group.view.offset and ref.size == group.view.size == last - first + 1:
            return group.name
        return self.name(first) if first == last else f"{self.name(first)} … {self.name(last)}"

    def copy(self, inputs: int | None = None) -> Registers:
        """A copy that can grow, with another number of inputs if wanted."""
        other = Registers()
        other._groups, other._starts = list(self._groups), list(self._starts)
        other._given, other._distinct = dict(self._given), self._distinct.copy()
        other.width = self.width
        other.inputs_count = self.inputs_count if inputs is None else inputs
        return other

    def extend(self, other: Registers, suffix: str) -> None:
        """Append the groups of `other`; a name that is taken gets the suffix."""
        for group in other:
            name = group.name
            while name in self._given:
                name += suffix
            self.new(name, *group.view.shape)
