"""From the document of a file (see `schema`) to a program. Nothing in a document is trusted.

Every value is checked before it is used, and nothing is allocated by a size that the document claims before that size
is compared with the limits.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import scipy

from integraph.errors import FileError, SpecError
from integraph.program.annotations import PARTS, Budget, Domain, Probe
from integraph.program.bands import bound
from integraph.program.block import Block, Tensor, operation
from integraph.program.engine import DOUBLE
from integraph.program.origin import Option, Origin
from integraph.program.program import Program
from integraph.program.registers import Registers
from integraph.program.segment import Segment
from integraph.program.views import Index, Ref, View
from integraph.text import counted

KEYS = ("registers", "inputs", "segments", "readout", "scales", "source", "proven", "seen", "budget", "probes")
OPTIONAL = {"bits", "domain", "origin"}
ORIGIN = ("source", "kind", "method", "eps", "options", "variables", "box", "version")
MAX_AXES = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a program a reader accepts."""

    registers: int
    terms: int


def decode(document: object, tensors: Mapping[str, Tensor], limits: Limits) -> Program:
    """The program, which has passed the spec; raises FileError or SpecError."""
    top = checked(dict, document, "the document")
    if set(top) - OPTIONAL != set(KEYS):
        raise FileError(f"the document has the keys {_show(sorted(top))}, needs {', '.join(KEYS)}")
    registers = _registers(top["registers"], limits.registers)
    reader = _Decoder(tensors, registers.width, limits.terms)
    segments = tuple(reader.segment(n, part) for n, part in enumerate(checked(list, top["segments"], "segments")))
    readout = reader.readout(top["readout"])
    scales = None if top["scales"] is None else reader.tensor(top["scales"], np.float64)
    budget = None if top["budget"] is None else reader.budget(top["budget"])
    domain = reader.domain(top["domain"]) if "domain" in top else None
    origin = reader.origin(top["origin"]) if "origin" in top else None
    probes = tuple(reader.probe(n, part) for n, part in enumerate(checked(list, top["probes"], "probes")))
    unused = sorted(set(tensors) - reader.used)
    if unused:
        raise FileError(f"tensor {_show(unused[0])} is not used by the program")
    return Program(
        registers.copy(inputs=checked(int, top["inputs"], "the number of inputs")),
        segments,
        readout,
        scales,
        checked(str, top["source"], "the source"),
        None if top["proven"] is None else _float(top["proven"], "the proven error"),
        None if top["seen"] is None else _float(top["seen"], "the largest difference found, seen,"),
        budget,
        probes,
        checked(int, top.get("bits", DOUBLE), "the number of bits"),
        domain,
        origin,
    )


@dataclass(slots=True)
class _Decoder:
    tensors: Mapping[str, Tensor]
    width: int
    terms_left: int
    indices: dict[str, Index] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def segment(self, number: int, part: object) -> Segment:
        where = f"segment {number}"
        label, duration, rate, blocks = _parts(part, 4, where)
        parts = enumerate(checked(list, blocks, f"{where}, blocks"))
        return Segment(
            checked(str, label, f"{where}, label"),
            tuple(self.block(f"{where}, block {n}", part) for n, part in parts),
            _float(duration, f"{where}, duration"),
            _float(rate, f"{where}, rate"),
        )

    def block(self, where: str, part: object) -> Block:
        op, targets, operands, tensors = _parts(part, 4, where)
        gadget = operation(checked(str, op, f"{where}, operation"))
        refs = [self.ref(where, ref) for ref in checked(list, targets, f"{where}, targets")]
        reads = [self.ref(where, ref) for ref in checked(list, operands, f"{where}, operands")]
        if any(ref.size > self.width for ref in refs):
            raise FileError(f"{where} writes more registers than the {self.width} there are")
        weights = {
            role: self.tensor(name, np.int64 if role in gadget.integers else np.float64)
            for role, name in checked(dict, tensors, f"{where}, tensors").items()
        }
        try:
            block = Block(gadget, tuple(refs), tuple(reads), weights)
        except SpecError as error:
            raise FileError(f"{where}: {error}") from None
        self.terms_left -= max(bound(block), *(ref.size for ref in block.refs()))
        if self.terms_left < 0:
            raise FileError(f"{where} brings the program above the limit of terms: if you trust it, raise max_terms")
        return block

    def ref(self, where: str, part: object) -> Ref:
        if isinstance(part, str):
            if part not in self.indices:
                self.indices[part] = Index(self.tensor(part, np.int64))
            return self.indices[part]
        offset, shape, strides = _parts(part, 3, f"{where}, view")
        sizes, steps = _ints(shape, f"{where}, shape"), _ints(strides, f"{where}, strides")
        if len(sizes) != len(steps) or len(sizes) > MAX_AXES or any(n < 0 for n in sizes):
            raise FileError(f"{where}: {_show(part)} is not a view of at most {MAX_AXES} axes")
        if math.prod(max(n, 1) for n in sizes) > self.terms_left:
            raise FileError(f"{where}: a view of shape {_show(sizes)} is above the limit of terms")
        steps = tuple(s if n > 1 and 0 not in sizes else 0 for n, s in zip(sizes, steps, strict=True))  # as written
        view = View(checked(int, offset, f"{where}, offset"), sizes, steps)
        low, high = view.extent() if view.size else (view.offset, view.offset - 1)
        if low < 0 or high >= self.width:
            raise FileError(f"{where}: {_show(part)} leaves the registers 0 … {self.width - 1}")
        return view

    def tensor(self, name: object, kind: type[np.generic]) -> Tensor:
        tensor = self.tensors.get(checked(str, name, "a tensor name"))
        if tensor is None or tensor.dtype != kind or tensor.ndim > MAX_AXES:
            raise FileError(f"tensor {_show(name)} is missing or not {kind.__name__} with at most {MAX_AXES} axes")
        self.used.add(str(name))
        return tensor

    def readout(self, part: object) -> scipy.sparse.csr_array:
        indptr, indices, data = _parts(part, 3, "the read-out")
        starts, columns = self.tensor(indptr, np.int64), self.tensor(indices, np.int64)
        values = self.tensor(data, np.float64)
        good = starts.ndim == columns.ndim == 1 and columns.shape == values.shape and len(starts) > 1
        good = good and starts[0] == 0 and starts[-1] == len(columns) and bool((starts[1:] >= starts[:-1]).all())
        if not good or (len(columns) and not 0 <= columns.min() <= columns.max() < self.width):
            raise FileError(f"the read-out is not a matrix with {counted(self.width, 'column')} in compressed rows")
        return scipy.sparse.csr_array((values, columns, starts), shape=(len(starts) - 1, self.width))

    def budget(self, part: object) -> Budget:
        low, high, *texts = _parts(part, 2 + len(PARTS), "the budget")
        parts = [_float(text, f"budget, {name}") for name, text in zip(PARTS, texts, strict=True)]
        return Budget(self.tensor(low, np.float64), self.tensor(high, np.float64), *parts)

    def domain(self, part: object) -> Domain:
        low, high = _parts(part, 2, "the domain")
        return Domain(self.tensor(low, np.float64), self.tensor(high, np.float64))

    def origin(self, part: object) -> Origin:
        top = checked(dict, part, "the origin")
        if set(top) != set(ORIGIN):
            raise FileError(f"the origin has the keys {_show(sorted(top))}, needs {', '.join(ORIGIN)}")
        options = checked(dict, top["options"], "the options of the origin")
        names = checked(list, top["variables"], "the variables of the origin")
        return Origin(
            checked(str, top["source"], "the source of the origin"),
            checked(str, top["kind"], "the kind of the origin"),
            checked(str, top["method"], "the method of the origin"),
            None if top["eps"] is None else _float(top["eps"], "the eps of the origin"),
            {name: _option(value, f"the option {_show(name)} of the origin") for name, value in options.items()},
            tuple(checked(str, name, "a variable of the origin") for name in names),
            None if top["box"] is None else self.domain(top["box"]),
            checked(str, top["version"], "the version of the origin"),
        )

    def probe(self, number: int, part: object) -> Probe:
        where = f"probe {number}"
        label, segment, ref, scale, shift, *layer = _parts_and_one(part, 5, where)
        return Probe(
            checked(str, label, f"{where}, label"),
            checked(int, segment, f"{where}, segment"),
            self.ref(where, ref),
            _float(scale, f"{where}, scale"),
            _float(shift, f"{where}, shift"),
            *(checked(int, number, f"{where}, layer") for number in layer),
        )


def _registers(part: object, limit: int) -> Registers:
    registers = Registers()
    for group in checked(list, part, "registers"):
        name, shape, *labels = _parts_and_one(group, 2, "a register group")
        sizes = _ints(shape, "the shape of a register group")
        if not sizes or len(sizes) > MAX_AXES or min(sizes) < 1:
            raise FileError(f"register group {_show(name)} has shape {_show(sizes)}: needs 1 to {MAX_AXES} sizes ≥ 1")
        if registers.width + math.prod(sizes) > limit:
            raise FileError(f"more than {limit} registers: if you trust the file, raise max_registers")
        label = "".join(checked(str, label, "the label of a register group") for label in labels)
        registers.new(checked(str, name, "the name of a register group"), *sizes, label=label)
    return registers


def checked(kind: type[T], value: object, what: str) -> T:
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise FileError(f"{what} is {_show(value)}: needs {kind.__name__}")


def _option(value: object, what: str) -> Option:
    """A float is stored in a list of its own, so that an integer is not taken for one."""
    if isinstance(value, list):
        return _float(_parts(value, 1, what)[0], what)
    return value if isinstance(value, bool | int) else checked(str, value, what)


def _ints(value: object, what: str) -> tuple[int, ...]:
    return tuple(checked(int, n, what) for n in checked(list, value, what))


def _parts(value: object, count: int, what: str) -> list[Any]:
    if isinstance(value, list) and len(value) == count:
        return value
    raise FileError(f"{what} is {_show(value)}: needs a list of {count}")


def _parts_and_one(value: object, count: int, what: str) -> list[Any]:
    """So many parts, and perhaps one more."""
    return _parts(value, count + (isinstance(value, list) and len(value) == count + 1), what)


def _float(value: object, what: str) -> float:
    text = checked(str, value, what)
    try:
        number = float.fromhex(text)
    except (ValueError, OverflowError):
        number = math.nan
    if number.hex() != text:
        raise FileError(f"{what} is {_show(text)}: needs a number as float.hex writes it")
    return number


def _show(value: object) -> str:
    return reprlib.repr(value)
