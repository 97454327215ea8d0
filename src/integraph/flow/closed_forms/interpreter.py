"""The operations of closed forms, run by an array library that differentiates: jax or PyTorch.

Inputs are the first axis; what depends on parameters only lacks it. One convention makes derivatives right at 0: of
|x|, max(x, 0) and every choice, the branch of x ≥ 0.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from integraph.flow.closed_forms.liveness import spoils
from integraph.flow.closed_forms.operations import ELEMENTWISE, ClosedForms, Operation
from integraph.flow.closed_forms.slices import Slices, slices
from integraph.flow.closed_forms.smooth_functions import smooth_functions
from integraph.flow.closed_forms.taylor_steps import Controls, Field, field

Array = Any
Key = tuple[int, int]  # an operation, and which of its arguments; INDEX for the indices of a gather
INDEX = -1
LETTERS = string.ascii_letters[1:]  # of lanes; the inputs are a


@dataclass(frozen=True)
class Library:
    """jax.numpy or torch, and what the two do not call the same."""

    module: Any
    functions: Mapping[str, Callable[..., Array]]  # equal, power, erf
    reductions: Mapping[str, Callable[[Array], Array]]  # over the last axis
    permute: Callable[[Array, tuple[int, ...]], Array]
    einsum: Callable[..., Array]
    matmul: Callable[[Array, Array], Array]
    held: Callable[[Array], Array]  # without its derivatives
    unit_flow: Callable[[Library, Field, Array], Array]  # by the steps of `taylor_steps`
    decayed_tanh: Callable[..., tuple[Array, Array]] | None = None  # where it pays; with λ₀ = None for 0


def elementwise(library: Library) -> dict[str, Callable[..., Array]]:
    """A function for each elementwise operation, and for those of `operations.SMOOTH`."""
    xp = library.module
    table = {op: getattr(xp, one.numpy) for op, one in ELEMENTWISE.items() if op not in library.functions}
    table |= library.functions
    table |= {
        "abs": lambda x: xp.where(x < 0, -x, x),
        "maximum": lambda x, y: xp.where(x < y, y, x),
        "minimum": lambda x, y: xp.where(y < x, y, x),
    }
    return table | smooth_functions(table)


class Interpreter:
    def __init__(self, forms: ClosedForms, library: Library) -> None:
        self.forms, self.library, self.table = forms, library, elementwise(library)
        self.slices: dict[int, Slices] = {}
        covered = spoils(forms.operations, forms.outputs)
        self.spoilt = {number for number in forms.finite if number in covered}
        self.axes = [len(own.lanes) for own in forms.operations]
        for number, own in enumerate(forms.operations):
            if own.indices is not None:
                known = slices(own.indices, forms.operations[own.arguments[0]].size)
                if known is not None:
                    self.slices[number] = known

    def constants(self) -> Iterator[tuple[Key, NDArray[Any]]]:
        """What `run` wants as arrays of the library."""
        for number, own in enumerate(self.forms.operations):
            yield from (((number, k), a) for k, a in enumerate(own.arguments) if not isinstance(a, int))
            if own.indices is not None and number not in self.slices:
                yield (number, INDEX), own.indices.reshape(-1)

    def run(self, constants: Mapping[Key, Array], parameters: Mapping[str, Array], x: Array) -> Array:
        """Outputs (B, outputs): NaN where a guard fails, as are then their derivatives."""
        xp, forms = self.library.module, self.forms
        values: list[Array] = []
        for number, own in enumerate(forms.operations):
            given = [values[a] if isinstance(a, int) else constants[number, k] for k, a in enumerate(own.arguments)]
            if own.op == "input":
                values.append(x)
            elif own.op == "parameter":
                values.append(parameters[own.name])
            elif own.op in self.table:
                values.append(self.table[own.op](*given))
            elif own.op == "gather":
                values.append(self._gather(number, own, given[0], constants))
            else:
                values.append(getattr(self, f"_{own.op}")(own, *given))
            if number in self.spoilt:  # the guard is added: NaN where it fails
                values[number] = values[number] + xp.where(xp.isfinite(values[number]), 0.0, xp.nan)
        outputs = xp.broadcast_to(values[forms.outputs], (x.shape[0], *forms.operations[forms.outputs].lanes))
        fine = self._every(xp.isfinite(outputs), 1)
        rest = [number for number in forms.finite if number not in self.spoilt]
        for which, test in ((rest, xp.isfinite), (forms.positive, lambda value: value > 0)):
            for number in which:
                fine = fine & self._every(test(values[number]), self.axes[number])
        return outputs * xp.where(fine, 1.0, xp.nan)[..., None]

    def _every(self, truth: Array, axes: int) -> Array:
        """Whether all lanes are true: one axis at a time, since the libraries differ on several."""
        for _ in range(axes):
            truth = truth.all(-1)
        return truth

    def _lead(self, own: Operation, x: Array) -> tuple[int, ...]:
        """(B,), or () for what depends on parameters only."""
        return tuple(x.shape[: x.ndim - self.axes[own.arguments[0]]])

    def _sum(self, own: Operation, x: Array) -> Array:
        return self.library.reductions["sum"](x)

    def _product(self, own: Operation, x: Array) -> Array:
        return self.library.reductions["product"](x)

    def _largest(self, own: Operation, x: Array) -> Array:
        return self.library.reductions["largest"](x)

    def _held(self, own: Operation, x: Array) -> Array:
        return self.library.held(x)

    def _decayed_tanh(self, own: Operation, v: Array, alpha: Array, lam: Array | None = None) -> tuple[Array, Array]:
        assert self.library.decayed_tanh is not None
        return self.library.decayed_tanh(v, alpha, lam)

    def _alpha(self, own: Operation, pair: tuple[Array, Array]) -> Array:
        return pair[0]

    def _lam(self, own: Operation, pair: tuple[Array, Array]) -> Array:
        return pair[1]

    def _reshape(self, own: Operation, x: Array) -> Array:
        return x.reshape((*self._lead(own, x), *own.lanes))

    def _broadcast(self, own: Operation, x: Array) -> Array:
        lead = () if not isinstance(own.arguments[0], int) else self._lead(own, x)
        return self.library.module.broadcast_to(x, (*lead, *own.lanes))

    def _matmul(self, own: Operation, x: Array, matrix: Array) -> Array:
        return self.library.matmul(x, matrix)

    def _free_flow(self, own: Operation, y: Array, x: Array, *controls: Array) -> Array:
        xp, lead = self.library.module, tuple(y.shape[:-1]) or tuple(x.shape[:-1])
        start = xp.broadcast_to(y, (*lead, y.shape[-1])).reshape(-1, y.shape[-1])
        frozen = x.reshape(-1, x.shape[-1]) if x.shape[-1] else None
        end = self.library.unit_flow(self.library, field(self.library, Controls(*controls), frozen), start)
        return end.reshape(*lead, *own.lanes)

    def _concatenate(self, own: Operation, *rows: Array) -> Array:
        lead: tuple[int, ...] = ()
        for row in rows:
            lead = tuple(row.shape[:-1]) or lead
        whole = [self.library.module.broadcast_to(row, (*lead, row.shape[-1])) for row in rows]
        return self.library.module.concatenate(whole, -1)

    def _contract(self, own: Operation, *factors: Array) -> Array:
        """Axes of length 1 have no letter."""
        axes, texts, squeezed = len(own.lanes) + 1, [], []
        for argument, factor in zip(own.arguments, factors, strict=True):
            lanes = self.forms.operations[argument].lanes if isinstance(argument, int) else argument.shape
            lanes = (1,) * (axes - len(lanes)) + tuple(lanes)
            lead = factor.shape[: factor.ndim - (self.axes[argument] if isinstance(argument, int) else argument.ndim)]
            text = "".join(LETTERS[k] for k, n in enumerate(lanes) if n > 1)
            squeezed.append(factor.reshape((*lead, *(n for n in lanes if n > 1))))
            texts.append(("a" if lead else "") + text)
        kept = "".join(LETTERS[k] for k, n in enumerate(own.lanes) if n > 1)
        batch = "a" if any(text.startswith("a") for text in texts) else ""
        value = self.library.einsum(f"{','.join(texts)}->{batch}{kept}", *squeezed)
        return value.reshape((*value.shape[: len(batch)], *own.lanes))

    def _gather(self, number: int, own: Operation, row: Array, constants: Mapping[Key, Array]) -> Array:
        lead, known = self._lead(own, row), self.slices.get(number)
        if known is None:
            return row[..., constants[number, INDEX]].reshape((*lead, *own.lanes))
        rows: tuple[int, ...] = ()
        for cut in known.cuts:
            folded = row[..., : cut.length].reshape((*lead, *rows, -1, cut.size))
            row, rows = folded[..., cut.first : cut.stop, :], (*rows, cut.stop - cut.first)
        row, skip = row[..., known.first], len(lead)
        row = self.library.permute(row, (*range(skip), *(skip + axis for axis in known.order)))
        return self.library.module.broadcast_to(row.reshape((*lead, *known.shape)), (*lead, *own.lanes))
