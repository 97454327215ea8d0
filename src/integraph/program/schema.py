"""What a program file says: a JSON document and the tensors that it names.

    registers  [[name, shape, label], …]             inputs     how many of them hold the input
    segments   [[label, duration, rate, blocks], …]  readout    [indptr, indices, data] of C in compressed rows
    blocks     [[operation, targets, operands, {tensor: name}], …]
    scales     tensor or null                        source, proven, seen as in Program
    budget     [low, high, approximation, residue, rounding] or null; low and high are tensors
    probes     [[label, segment, registers, scale, shift, layer], …]
    bits       the precision that the flow needs, where that is more than 53
    domain     [low, high], tensors, where there is one
    origin     {source, kind, method, eps, options, variables, box, version}, where there is one, as in Origin; an
               option is a text, an integer, a truth value, or [float]

An empty label is left out, and so is a layer that is None. Files of version 0.1 have neither, and long names: when such
a file is loaded, a name that is no identifier becomes a label. A reference to registers is [offset, shape, strides], or
the name of an int64 tensor that lists them. A float is its hexadecimal text, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.program.annotations import PARTS
from integraph.program.block import Block, Tensor
from integraph.program.document import checked
from integraph.program.engine import DOUBLE
from integraph.program.origin import Origin
from integraph.program.program import Program
from integraph.program.views import Index, Ref


def encode(program: Program) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The document and the tensors it names; an array that several blocks share is stored once."""
    names: dict[tuple[object, ...], str] = {}
    tensors: dict[str, Tensor] = {}

    def name(array: Tensor, kind: str = "<f8") -> str:
        key = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
        if key not in names:
            names[key] = f"t{len(names)}"
            tensors[names[key]] = np.ascontiguousarray(array, kind).reshape(array.shape)  # 0-d must stay 0-d
        return names[key]

    def place(ref: Ref) -> Any:
        if isinstance(ref, Index):
            return name(ref.registers, "<i8")
        strides = [
            int(s) if n > 1 and ref.size else 0 for n, s in zip(ref.shape, ref.strides, strict=True)
        ]  # 1 long: goes nowhere
        return [int(ref.offset), [int(n) for n in ref.shape], strides]

    def block(b: Block) -> list[Any]:
        weights = {role: name(array, "<i8" if role in b.op.integers else "<f8") for role, array in b.tensors.items()}
        return [b.op.name, [place(ref) for ref in b.targets], [place(ref) for ref in b.operands], weights]

    readout, budget = program.readout, program.budget
    document = {
        "registers": [[g.name, list(g.view.shape), *[g.label][: bool(g.label)]] for g in program.registers],
        "inputs": program.inputs,
        "segments": [
            [
                checked(str, s.label, "a label"),
                float(s.duration).hex(),
                float(s.rate).hex(),
                [block(b) for b in s.blocks],
            ]
            for s in program.segments
        ],
        "readout": [name(readout.indptr, "<i8"), name(readout.indices, "<i8"), name(readout.data)],
        "scales": None if program.scales is None else name(program.scales),
        "source": checked(str, program.source, "the source"),
        "proven": None if program.proven is None else float(program.proven).hex(),
        "seen": None if program.seen is None else float(program.seen).hex(),
        "budget": None
        if budget is None
        else [name(budget.low), name(budget.high), *(float(getattr(budget, part)).hex() for part in PARTS)],
        "probes": [
            [p.label, p.segment, place(p.ref), p.scale.hex(), p.shift.hex(), *[p.layer][: p.layer is not None]]
            for p in program.probes
        ],
    }
    if program.bits > DOUBLE:
        document["bits"] = program.bits
    if program.domain is not None:
        document["domain"] = [name(program.domain.low), name(program.domain.high)]
    if program.origin is not None:
        document["origin"] = _origin(program.origin, name)
    return document, tensors


def _origin(origin: Origin, name: Callable[[Tensor], str]) -> dict[str, Any]:
    return {
        "source": origin.source,
        "kind": origin.kind,
        "method": origin.method,
        "eps": None if origin.eps is None else float(origin.eps).hex(),
        "options": {key: [o.hex()] if isinstance(o, float) else o for key, o in origin.options.items()},
        "variables": list(origin.variables),
        "box": None if origin.box is None else [name(origin.box.low), name(origin.box.high)],
        "version": origin.version,
    }
