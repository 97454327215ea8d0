"""A gadget: equations (→ terms), closed form from any start, domain, description.

A block applies a gadget to many registers at once; a *lane* is one register, or one set of registers, that it treats
like all the others, as in SIMD.

`Elementwise` gadgets are data: a table of equations and one closed form. In the table a row is
`(target, number, factor, …)`: it adds number · Π factors to the derivative of `target`; a factor is a target, an
operand or a tensor. The first operand may be an affine form a·x + b of its register (Lemma 1 needs it); products of
such forms are expanded.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.functions.namespace import Array, Arrays, Functions, Tensors
from integraph.numbers.arrays import Floats, Indices, broadcasts
from integraph.program import ONE, Block, Op, Ref, Terms, View
from integraph.program.terms import terms
from integraph.program.views import row_major
from integraph.program.wording import right_side, times


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """End values of the targets, and quantities that stay > 0 as long as the solution exists."""

    ends: tuple[Array, ...]
    alive: Mapping[str, Array] = field(default_factory=dict)  # target → quantity


class Gadget(Op):
    """An operation with meaning. Calling it makes a block: targets, then operands, tensors by name."""

    domain: ClassVar[str] = ""  # what a start must satisfy, in words
    exact: ClassVar[bool] = True  # has a closed form

    def __init_subclass__(cls) -> None:
        """A class without a docstring takes that of its module."""
        cls.__doc__ = cls.__doc__ or sys.modules[cls.__module__].__doc__

    def __repr__(self) -> str:
        return f"<gadget {self.name}({', '.join(self.targets + self.operands)})>"

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        self.roles(refs)
        given = {name: t for name, t in tensors.items() if t is not None}
        return Block(self, refs[: len(self.targets)], refs[len(self.targets) :], given)

    def roles(self, refs: tuple[Any, ...]) -> None:
        """One view for every target and operand, or a SpecError."""
        need = len(self.targets) + len(self.operands)
        if len(refs) != need or not all(isinstance(r, Ref) for r in refs):
            names, got = ", ".join((*self.targets, *self.operands)), ", ".join(type(r).__name__ for r in refs)
            raise SpecError(f"{self.name}({names}) takes {need} register views (from Registers), got ({got})")

    @abstractmethod
    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        """The state after time t from any start. Arrays have the lanes' shape and a last axis of inputs."""


def arguments(block: Block, states: Floats) -> tuple[tuple[Array, ...], tuple[Array, ...], dict[str, Array]]:
    """Start, operands and tensors as `closed` takes them, from state-major states (W, B). Views are not copied."""
    return with_affine_form(
        block, tuple(ref.of(states) for ref in block.targets), tuple(ref.of(states) for ref in block.operands)
    )


def with_affine_form(
    block: Block, start: Arrays, operands: Arrays, given: Tensors | None = None
) -> tuple[tuple[Array, ...], tuple[Array, ...], dict[str, Array]]:
    """The same from the arrays of targets and operands: the first operand of an elementwise gadget is a·x + b. `given`
    are the tensors where they are not those of the block, with an axis of inputs."""
    tensors: dict[str, Array] = dict(given or {name: value[..., None] for name, value in block.tensors.items()})
    if isinstance(block.op, Elementwise) and operands:
        first = operands[0] * tensors["a"] if "a" in tensors else operands[0]
        operands = (first + tensors["b"] if "b" in tensors else first, *operands[1:])
    return start, operands, tensors


Equation = tuple[Any, ...]  # (target, number, factor, …)


class Elementwise(Gadget):
    """The same small ODE in every lane. All targets and operands have one shape, tensors broadcast to it."""

    equations: ClassVar[tuple[Equation, ...]]
    meaning: ClassVar[str] = ""  # what it computes, from which start
    tensors: ClassVar[tuple[str, ...]] = ("a", "b")  # the operand is a·x + b

    def check(self, block: Block) -> None:
        shape = block.targets[0].shape
        for role, ref in zip(self.targets + self.operands, block.refs(), strict=True):
            if ref.shape != shape:
                raise SpecError(
                    f"{self.name}: {role!r} has shape {ref.shape}, {self.targets[0]!r} has {shape}: they must agree"
                )
        for name, tensor in block.tensors.items():
            fits(self.name, name, tensor.shape, shape)
        roles = {*self.targets, *self.operands, *block.tensors}
        missing = [factor for _, _, *factors in self.equations for factor in factors if factor not in roles]
        if missing:
            raise SpecError(
                f"{self.name} needs the tensor {missing[0]!r}: give {missing[0]}=… as a number or an array that "
                f"broadcasts to {shape}"
            )

    def form(self, block: Block, lanes: Indices, factor: str) -> list[tuple[Array, Array]]:
        """A factor as a sum of (coefficient, register)."""
        if factor in self.targets:
            return [(1.0, block.targets[self.targets.index(factor)].at(lanes))]
        position = self.operands.index(factor)
        register = block.operands[position].at(lanes)
        if position == 0 and ("a" in block.tensors or "b" in block.tensors):
            parts = [(lane_values(block, "a", lanes) if "a" in block.tensors else 1.0, register)]
            return parts + ([(lane_values(block, "b", lanes), ONE)] if "b" in block.tensors else [])
        return [(1.0, register)]

    def _row(self, block: Block, role: int, lanes: Indices) -> list[tuple[Array, Array, Array]]:
        """(j, k, value) of every term of target `role`."""
        terms: list[tuple[Array, Array, Array]] = []
        for target, number, *factors in self.equations:
            if target != self.targets[role]:
                continue
            value: Array = float(number)
            forms: list[list[tuple[Array, Array]]] = []
            for factor in factors:
                if factor in self.targets or factor in self.operands:
                    forms.append(self.form(block, lanes, factor))
                else:
                    value = value * lane_values(block, factor, lanes)
            left, right = (forms + [[(1.0, ONE)], [(1.0, ONE)]])[:2]
            if len(forms) == 2 and factors[-1] == factors[-2]:  # a square: both orders of a mixed term at once
                (p, j), *rest = left
                terms += [(j, j, value * p * p)]
                terms += [part for q, k in rest for part in ((j, k, value * p * q * 2.0), (k, k, value * q * q))]
            else:
                terms += [(j, k, value * p * q) for p, j in left for q, k in right]
        return terms

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        row = sorted(self._row(block, role, lanes), key=_first)
        shape = (len(lanes), len(row))
        j, k, value = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape)
        for column, (left, right, coefficient) in enumerate(row):
            j[:, column], k[:, column], value[:, column] = left, right, coefficient
        return terms(block.targets[role].at(lanes)[:, None], j, k, value)

    def per_lane(self, block: Block, role: int) -> int:
        affine = self.operands[:1] if "b" in block.tensors else ()  # two parts, a·x and b
        rows = [factors for target, _, *factors in self.equations if target == self.targets[role]]
        return sum(2 ** sum(factor in affine for factor in factors) for factors in rows)

    def count(self, block: Block) -> int | None:
        """Affine operands can make two terms equal or a coefficient 0; plain ones cannot."""
        if block.tensors:
            return None
        return sum(self.per_lane(block, role) * ref.size for role, ref in enumerate(block.targets))

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [(target, right_side(self.equations, target)) for target in self.targets]

    def words(self, block: Block) -> str:
        return f"{times(self.name, block.targets[0].size)}: {self.meaning}{self._operand_words(block)}"

    def _operand_words(self, block: Block) -> str:
        if self.operands and ("a" in block.tensors or "b" in block.tensors):
            parts = "a·" * ("a" in block.tensors) + self.operands[0] + " + b" * ("b" in block.tensors)
            return f" with {parts} in place of {self.operands[0]}"
        return ""


def _first(term: tuple[Array, Array, Array]) -> tuple[int, int]:
    low, high = sorted(int(np.ravel(part)[0]) for part in term[:2])
    return low, high


def fits(op: str, name: str, shape: tuple[int, ...], into: tuple[int, ...]) -> None:
    """A tensor must broadcast to its lanes."""
    if not broadcasts(shape, into):
        raise SpecError(
            f"{op}: tensor {name!r} has shape {shape}, which does not broadcast to {into}: give a number or that shape"
        )


def lane_values(block: Block, name: str, lanes: Indices, shape: tuple[int, ...] | None = None) -> Floats:
    """A tensor's values at flat lane positions: (lanes,), or (lanes, R) if `shape` has one axis more than the lanes."""
    tensor, lead = block.tensors[name], block.targets[0].shape
    rest = () if shape is None else shape[len(lead) :]
    padded = (1,) * (len(lead) + len(rest) - tensor.ndim) + tensor.shape
    head, tail = padded[: len(lead)], padded[len(lead) :]
    steps = tuple(0 if n == 1 else step for n, step in zip(head, row_major(head), strict=True))
    rows = View(0, lead, steps).at(lanes)
    return np.broadcast_to(tensor.reshape(math.prod(head), *tail)[rows], (len(lanes), *rest))


def row(view: Ref) -> Ref:
    """The view with a last axis of length 1: one lane reads one register."""
    if isinstance(view, View):
        return view[..., None]
    return type(view)(view.registers[..., None])
