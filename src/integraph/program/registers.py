"""Named registers: the states y_1 … y_W of eq. (1), in groups, inputs first.

A name is short and a valid identifier in every language (see `identifiers`); what a register means is its label.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from integraph.errors import SpecError
from integraph.program.identifiers import Identifiers, role
from integraph.program.views import Ref, View, dense
from integraph.text import NAME, clean, counted, joined

SHOWN = 100  # groups that a message names
LISTED = 3  # registers that are named one by one
MAX_WIDTH = 2**31 - 2  # indices of terms are int32


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive registers under one name. The label says what they mean, if there is anything to say."""

    name: str
    view: View
    label: str = ""

    def element(self, place: int) -> str:
        """The name of the register at a flat place: `mu3`, or `lam2_1` where there are two axes."""
        if self.view.size == 1:
            return self.name
        if len(self.view.shape) == 1:  # of most, and NumPy takes its time
            indices = str(place + 1)
        else:
            indices = "_".join(str(int(n) + 1) for n in np.unravel_index(place, self.view.shape))
        return f"{self.name}{'_' * self.name[-1].isdigit()}{indices}"


class Registers:
    """Allocates registers: `x = r.inputs("x", 2)` first, then `mu = r.new("mu", 32)` …; each gives a View."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._given: dict[str, int] = {}  # names as they were given → groups
        self._identifiers = Identifiers()
        self._starts: list[int] = []
        self._closed = False
        self.width = 0
        self.inputs_count = 0

    def inputs(self, name: str, *shape: int, label: str = "") -> View:
        """Registers that hold the input at t = 0. All inputs come before all others, as y(0) = (x, 0, …) says."""
        if self.inputs_count != self.width:
            raise SpecError(f"inputs come first: call inputs({name!r}, …) before new(…)")
        view = self._new(name, shape, label, "x")
        self.inputs_count = self.width
        return view

    def variables(self, names: Sequence[str]) -> View:
        """One input for each name, as one view. A group that is added under one of these names later gets another."""
        first = self.width
        for name in names:
            self.inputs(name)
        for name in names:
            del self._given[name]
        return dense(first, (self.width - first,))

    def new(self, name: str, *shape: int, label: str = "") -> View:
        """Registers that start at 0. No shape means one register of shape (1,). A name that is no short identifier, or
        that differs from another only in case, becomes the label, and the registers get a name like it."""
        return self._new(name, shape, label, role(name) if isinstance(name, str) else "")

    def _new(self, name: str, shape: tuple[int, ...], label: str, letters: str) -> View:
        if not isinstance(name, str):
            raise SpecError(f"the name of a register group is a text, got {name!r}")
        if not name or name in self._given:
            raise SpecError(f"register group {name!r}: names must be new and not empty")
        view = self._view(name, shape)
        self._given[name] = len(self._groups)
        short = self._identifiers.name(name, view.size > 1, letters)
        return self._append(short, view, label if label or short == name else name)

    def numbered(self, letters: str, *shape: int, label: str = "") -> View:
        """The same under the next free name of `u1, u2, …` for the letters `u`."""
        view = self._view(letters, shape)
        return self._append(self._identifiers.numbered(letters, view.size > 1), view, label)

    def _view(self, name: str, shape: tuple[int, ...]) -> View:
        """The next registers."""
        shape = shape or (1,)
        if self._closed:
            raise SpecError(
                f"register group {name!r}: these registers belong to a program and cannot grow: extend a copy()"
            )
        if any(not isinstance(n, int | np.integer) or n < 1 for n in shape):
            raise SpecError(f"register group {name!r} has shape {shape}: every size must be an integer ≥ 1")
        view = dense(self.width, tuple(int(n) for n in shape))
        if self.width + view.size > MAX_WIDTH:
            raise SpecError(f"{self.width + view.size} registers: the limit is {MAX_WIDTH}")
        return view

    def _append(self, name: str, view: View, label: str) -> View:
        self._groups.append(Group(name, view, clean(label, NAME)))
        self._starts.append(self.width)
        self.width += view.size
        return view

    def close(self) -> None:
        """Accept no more registers: a program is built on these."""
        self._closed = True

    def __repr__(self) -> str:
        groups = joined((f"{g.name} {list(g.view.shape)}" for g in self._groups), ", ", SHOWN)
        return f"Registers: W = {self.width}, of them {counted(self.inputs_count, 'input')}: {groups}"

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def __getitem__(self, name: str) -> View:
        named = (n for n, group in enumerate(self._groups) if name in (group.name, group.label))
        number = self._given[name] if name in self._given else next(named, None)
        if number is not None:
            return self._groups[number].view
        names = joined((group.name for group in self._groups), ", ", SHOWN)
        raise SpecError(f"no registers called {name!r}: there are {names}")

    def group(self, register: int) -> Group:
        """The group that a register belongs to."""
        if not 0 <= register < self.width:
            raise SpecError(f"register {register} is outside 0 … {self.width - 1}")
        return self._groups[bisect_right(self._starts, register) - 1]

    def name(self, register: int) -> str:
        """`p1`, or `mu3` and `lam2_1` in a group of more: a register as terminal, axes, report and files call it."""
        group = self.group(register)
        return group.element(register - group.view.offset)

    def names(self, ref: Ref) -> str:
        """`mu`, if that is a whole group, `(mu1, mu2)`, or `(mu1, …, mu7)`."""
        flat = _without_repetition(ref)
        if flat.size == 0:
            return "nothing"
        first, last = (int(flat.at(np.array([n]))[0]) for n in (0, flat.size - 1))
        group = self.group(first)
        if first == group.view.offset and flat.size == group.view.size == last - first + 1:
            return group.name
        if flat.size > LISTED:
            return f"({self.name(first)}, …, {self.name(last)})"
        listed = ", ".join(self.name(int(register)) for register in flat.indices().reshape(-1))
        return listed if flat.size == 1 else f"({listed})"

    def copy(self, inputs: int | None = None) -> Registers:
        """A copy that can grow, with another number of inputs if wanted."""
        other = Registers()
        other._groups, other._starts = list(self._groups), list(self._starts)
        other._given, other._identifiers = dict(self._given), self._identifiers.copy()
        other.width = self.width
        other.inputs_count = self.inputs_count if inputs is None else inputs
        return other

    def extend(self, other: Registers) -> None:
        """Append the groups of `other`; a name that is taken is changed."""
        for group in other:
            view = self._view(group.name, group.view.shape)
            self._append(self._identifiers.name(group.name, view.size > 1), view, group.label)


def _without_repetition(ref: Ref) -> Ref:
    """The same registers, each axis that repeats them left out."""
    if not isinstance(ref, View) or 0 not in ref.strides or ref.size == 0:
        return ref
    axes = [(n, s) for n, s in zip(ref.shape, ref.strides, strict=True) if s != 0]
    return View(ref.offset, tuple(n for n, _ in axes), tuple(s for _, s in axes))
