"""Programs to be stored, files to be forged: what the tests of storage share."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from integraph import Index, Program, Registers, build, load, segment
from integraph.errors import FileError
from integraph.gadgets import affine, drain, ramp, raw
from integraph.program import Budget, Probe, storage

Tensors = dict[str, Any]


def bits(array: Any) -> tuple[Any, ...]:
    array = np.asarray(array)
    return array.dtype.str, array.shape, array.tobytes()


def everything(p: Program) -> list[Any]:
    """All that a program holds, bit by bit."""
    readout, budget = p.readout, p.budget
    found: list[Any] = [p.width, p.inputs, p.outputs, [(g.name, g.view) for g in p.registers], p.source]
    found += [repr(p.proven), repr(p.seen), None if p.scales is None else bits(p.scales)]
    found += [bits(a.astype(np.int64)) for a in (readout.indptr, readout.indices)] + [bits(readout.data)]
    if budget is not None:
        found += [bits(budget.low), bits(budget.high)]
        found += [part.hex() for part in (budget.approximation, budget.residue, budget.rounding)]
    for probe in p.probes:
        found += [probe.label, probe.segment, type(probe.ref), bits(probe.ref.indices())]
        found += [probe.scale.hex(), probe.shift.hex(), probe.layer]
    for s in p.segments:
        found += [s.label, float(s.duration).hex(), float(s.rate).hex()]
        for b in s.blocks:
            found += [b.op.name, [(type(ref), bits(ref.indices())) for ref in b.refs()]]
            found += [sorted((name, bits(array)) for name, array in b.tensors.items())]
    return found


def controls(p: Program) -> list[bytes]:
    c = p.controls()
    return [a.tobytes() for a in (c.segment, c.i, c.j, c.k, c.value)]


def small() -> Program:
    """As few bytes as possible, with a view, a list, a state scale, both kinds of tensors, a budget and a probe."""
    r = Registers()
    r.inputs("x", 2)
    z = r.new("z", 2)
    program = build(r, [segment("s", affine(z, Index([[1], [0]]), w=[[2.0], [3.0]], b=-0.5))], z)
    scaled = program.rescale_states([1.0, 2.0, 4.0, 8.0]).with_errors(proven=0.1)
    return replace(scaled, budget=Budget([-1.0, 0.0], [1.0, 0.0], 0.0, 0.1, 1e-16), probes=(Probe("z", 0, z, 2.0),))


def refused(path: Path, match: str, **limits: int) -> None:
    with pytest.raises(FileError, match=match) as caught:
        load(path, **limits)
    assert type(caught.value) is FileError
    assert caught.value.__cause__ is None
    assert str(caught.value).startswith(str(path))


@functools.cache
def rich() -> Program:
    r = Registers()
    x, z, y = r.inputs("x", 4), r.new("z", 3), r.new("y", 3)
    rng = np.random.default_rng(3)
    first = affine(z, x, w=rng.normal(size=(3, 4)), b=rng.normal(size=3))
    segments = [
        segment("one", first, ramp(Index([8, 7, 9]), b=1.0)),
        segment("two", drain(z, y, w=rng.normal(size=(3, 3)), r=2.0)),
        segment("three", raw(z, x, A=rng.normal(size=(3, 7)))),
    ]
    program = build(r, segments, z).rescale_states(np.full(10, 2.0))
    probes = (Probe("layer 1", 0, z, 2.0, -0.5), Probe("list", 2, Index([[9, 0]])))
    return replace(program, budget=Budget(-np.ones(4), np.arange(4.0), 1e-7, 2e-8, 1e-15), probes=probes)


def forge(path: Path, document: Any, tensors: Tensors, digest: str = "", **metadata: str) -> None:
    """A file whose seal fits its content."""
    text = document if isinstance(document, str) else json.dumps(document)
    digest = digest or rich().digest
    facts = {"format": "integraph program", "version": "2", "digest": digest, "program": text}
    facts["seal"] = storage._seal(digest, text, tensors)
    save_file(tensors, path, {**facts, **metadata})
