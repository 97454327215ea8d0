"""Hostile and newer files: sealed and well formed, but not to be believed."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from integraph import Registers, build, load, segment
from integraph.errors import FileError
from integraph.gadgets import affine
from integraph.program import storage
from integraph.program.schema import encode
from law import examples
from slow import mostly_slow
from stored import Tensors, forge, refused, rich

SHARED_FOLDER = {"suppress_health_check": [HealthCheck.function_scoped_fixture]}

Document = dict[str, Any]


def put(*keys: Any) -> Callable[[Document], Any]:
    """Replace what is at a path in the document: the last key is the new value."""

    def change(document: Document) -> None:
        *where, last, value = keys
        functools.reduce(lambda part, key: part[key], where, document)[last] = value

    return change


HUGE = 10**15
BLOCK = ("segments", 0, 3, 0)  # affine: operation, targets, operands, tensors
TARGET, OPERAND = (*BLOCK, 1, 0), (*BLOCK, 2, 0)
CASES: dict[str, tuple[Callable[[Document], Any], str]] = {
    "not an object": (lambda d: d.clear(), "the document has the keys"),
    "extra key": (put("code", "print(1)"), "the document has the keys"),
    "missing key": (lambda d: d.pop("scales"), "the document has the keys"),
    "registers": (put("registers", 3), "registers is 3: needs list"),
    "group": (put("registers", 0, ["x"]), r"a register group is \['x'\]: needs a list of 2"),
    "group name": (put("registers", 0, 0, 5), "the name of a register group is 5: needs str"),
    "empty name": (put("registers", 0, 0, ""), "register group ''.*not empty"),
    "same names": (put("registers", 1, 0, "x"), "register group 'x': names must be new"),
    "no sizes": (put("registers", 0, 1, []), "needs 1 to 32 sizes"),
    "many sizes": (put("registers", 0, 1, [1] * 40), "needs 1 to 32 sizes"),
    "size 0": (put("registers", 0, 1, [0]), "needs 1 to 32 sizes"),
    "size −1": (put("registers", 0, 1, [-1]), "needs 1 to 32 sizes"),
    "size true": (put("registers", 0, 1, [True]), "is True: needs int"),
    "size 1.5": (put("registers", 0, 1, [1.5]), "is 1.5: needs int"),
    "too wide": (put("registers", 0, 1, [HUGE]), "more than 100000000 registers.*raise max_registers"),
    "too wide together": (put("registers", 0, 1, [2**62, 2**62, 2**62]), "more than 100000000 registers"),
    "inputs": (put("inputs", "4"), "the number of inputs is '4': needs int"),
    "inputs −1": (put("inputs", -1), "-1 inputs do not fit"),
    "inputs huge": (put("inputs", HUGE), "inputs do not fit"),
    "segments": (put("segments", {}), "segments is {}: needs list"),
    "segment": (put("segments", 0, 5), "segment 0 is 5: needs a list of 4"),
    "label": (put("segments", 0, 0, None), "segment 0, label is None: needs str"),
    "duration number": (put("segments", 0, 1, 1.0), "segment 0, duration is 1.0: needs str"),
    "duration text": (
        put("segments", 0, 1, "1.0"),
        "segment 0, duration is '1.0': needs a number as float.hex writes it",
    ),
    "duration overflow": (put("segments", 0, 1, "0x1p99999"), "as float.hex writes it"),
    "duration 0": (put("segments", 0, 1, (0.0).hex()), "duration must be finite and > 0, got 0.0"),
    "duration inf": (put("segments", 0, 1, "inf"), "duration must be finite"),
    "rate nan": (put("segments", 0, 2, "nan"), "rate must be finite"),
    "blocks": (put("segments", 0, 3, "x"), "segment 0, blocks is 'x': needs list"),
    "block": (put(*BLOCK, []), r"segment 0, block 0 is \[\]: needs a list of 4"),
    "operation": (put(*BLOCK, 0, "os.system"), "unknown operation 'os.system'"),
    "operation type": (put(*BLOCK, 0, ["affine"]), "operation is .*: needs str"),
    "targets": (put(*BLOCK, 1, {}), "targets is {}: needs list"),
    "no target": (put(*BLOCK, 1, []), r"segment 0, block 0: affine has 1 targets \('z',\), got 0"),
    "tensors": (put(*BLOCK, 3, []), r"tensors is \[\]: needs dict"),
    "unknown tensor role": (put(*BLOCK, 3, "q", "t0"), r"segment 0, block 0: affine takes the tensors .* not \['q'\]"),
    "missing weights": (lambda d: d["segments"][0][3][0][3].pop("w"), "affine needs the tensor 'w'"),
    "unknown tensor": (put(*BLOCK, 3, "w", "t99"), "tensor 't99' is missing or not float64"),
    "tensor name": (put(*BLOCK, 3, "w", 0), "a tensor name is 0: needs str"),
    "integers as weights": (put(*BLOCK, 3, "b", "t3"), "tensor 't3' is missing or not float64"),
    "floats as registers": (put(*TARGET, "t0"), "tensor 't0' is missing or not int64"),
    "view": (put(*TARGET, [0, [3]]), "view is .*: needs a list of 3"),
    "view null": (put(*TARGET, None), "view is None"),
    "offset": (put(*TARGET, 0, "4"), "offset is '4': needs int"),
    "offset −1": (put(*TARGET, 0, -1), r"\[-1, \[3\], \[1\]\] leaves the registers 0 … 9"),
    "offset huge": (put(*TARGET, 0, 10**30), "leaves the registers"),
    "offset past the end": (put(*TARGET, 0, 8), "leaves the registers"),
    "shape": (put(*TARGET, 1, 3), "shape is 3: needs list"),
    "shape −1": (put(*TARGET, 1, [-1]), "is not a view"),
    "shape 0": (put(*TARGET, 1, [0]), r"target 'z' has shape \(0,\), which holds no register"),
    "shape huge": (put(*TARGET, [0, [HUGE], [0]]), "is above the limit of terms"),
    "shape overflows": (put(*TARGET, [0, [2**33, 2**33], [0, 0]]), "is above the limit of terms"),
    "shape huge and 0": (put(*TARGET, [0, [0, HUGE], [0, 0]]), "is above the limit of terms"),
    "axes differ": (put(*TARGET, [0, [3], [1, 1]]), "is not a view"),
    "many axes": (put(*TARGET, [0, [1] * 33, [0] * 33]), "is not a view of at most 32 axes"),
    "strides": (put(*TARGET, [4, [3], [1.0]]), "strides is 1.0: needs int"),
    "strides huge": (put(*TARGET, [4, [3], [HUGE]]), "leaves the registers"),
    "strides negative": (put(*TARGET, [4, [3], [-3]]), "leaves the registers"),
    "more lanes than registers": (put(*TARGET, [0, [10**9], [0]]), "writes more registers than the 10 there are"),
    "lanes twice": (put(*TARGET, [4, [3], [0]]), "lists a register twice in target 'z'"),
    "operand shape": (put(*OPERAND, [0, [3, 5], [0, 0]]), "segment 0, block 0: affine: tensor 'w' has shape"),
    "operand without axes": (put(*OPERAND, [0, [], []]), r"operand 'x' has shape \(\), needs \(3,\)"),
    "operand moves": (put(*OPERAND, [4, [3, 4], [0, 1]]), "reads register z.* operands must be frozen"),
    "another operation": (put("segments", 0, 3, 1, 0, "decay"), "decay takes the tensors"),
    "read-out": (put("readout", []), r"the read-out is \[\]: needs a list of 3"),
    "read-out mixed": (lambda d: d["readout"].reverse(), "is missing or not int64"),
    "read-out other": (lambda d: put("readout", 0, d["readout"][1])(d), "not used by the program|not a matrix"),
    "scales": (put("scales", 2.0), "a tensor name is 2.0: needs str"),
    "scales other": (put("scales", "t0"), "not used by the program"),
    "source": (put("source", None), "the source is None: needs str"),
    "proven": (put("proven", 0.1), "the proven error is 0.1: needs str"),
    "seen": (put("seen", "small"), "the largest difference found, seen, is 'small'"),
    "budget": (put("budget", 0.1), "the budget is 0.1: needs a list of 5"),
    "budget parts": (put("budget", []), r"the budget is \[\]: needs a list of 5"),
    "budget low": (put("budget", 0, [0.0] * 4), r"a tensor name is \[0.0, .*: needs str"),
    "budget other low": (put("budget", 0, "t0"), r"low has shape \(3, 4\), high \(4,\)"),
    "budget swapped": (
        lambda d: put("budget", [*d["budget"][1::-1], *d["budget"][2:]])(d),
        "low .* > high",
    ),
    "budget list as box": (put("budget", 0, "t3"), "tensor 't3' is missing or not float64"),
    "approximation": (put("budget", 2, 1e-7), "budget, approximation is 1e-07: needs str"),
    "approximation −1": (put("budget", 2, (-1.0).hex()), "budget: approximation must be finite and ≥ 0, got -1.0"),
    "residue NaN": (put("budget", 3, "nan"), "budget: residue must be finite and ≥ 0, got nan"),
    "rounding infinite": (put("budget", 4, "inf"), "budget: rounding must be finite and ≥ 0, got inf"),
    "rounding text": (put("budget", 4, "0.1"), "budget, rounding is '0.1': needs a number as float.hex writes it"),
    "budget overflows": (lambda d: [put("budget", n, (1.7e308).hex())(d) for n in (2, 3)], "sum of its parts"),
    "probes": (put("probes", None), "probes is None: needs list"),
    "probe": (put("probes", 0, ["layer 1", 0]), "probe 0 is .*: needs a list of 5"),
    "probe layer": (put("probes", 0, ["z", 0, [2, [2], [1]], *["0x1.0000000000000p+0"] * 2, 0]), "counted from 1"),
    "probe layer text": (
        put("probes", 0, ["z", 0, [2, [2], [1]], *["0x1.0000000000000p+0"] * 2, "1"]),
        "probe 0, layer is '1': needs int",
    ),
    "probe label": (put("probes", 0, 0, 1), "probe 0, label is 1: needs str"),
    "probe segment": (put("probes", 0, 1, "0"), "probe 0, segment is '0': needs int"),
    "probe segment true": (put("probes", 0, 1, True), "probe 0, segment is True: needs int"),
    "probe segment 3": (put("probes", 0, 1, 3), "probe 'layer 1' is read after segment 3: the segments are 0 … 2"),
    "probe segment −1": (put("probes", 0, 1, -1), "is read after segment -1"),
    "probe segment huge": (put("probes", 0, 1, 10**400), "is read after segment 1000"),
    "probe view": (put("probes", 0, 2, 0, 8), r"probe 0: \[8, \[3\], \[1\]\] leaves the registers 0 … 9"),
    "probe of nothing": (put("probes", 0, 2, [0, [0], [0]]), "reads 0 registers: needs 1 to 10"),
    "probe of too much": (put("probes", 0, 2, [0, [10**9], [0]]), "reads 1,000,000,000 registers: needs 1 to 10"),
    "probe huge": (put("probes", 0, 2, [0, [HUGE], [0]]), "is above the limit of terms"),
    "probe floats": (put("probes", 1, 2, "t0"), "tensor 't0' is missing or not int64"),
    "probe scale": (put("probes", 0, 3, 2.0), "probe 0, scale is 2.0: needs str"),
    "probe scale NaN": (put("probes", 0, 3, "nan"), "probe 'layer 1': the scale must be finite, got nan"),
    "probe shift": (put("probes", 0, 4, "-inf"), "probe 'layer 1': the shift must be finite, got -inf"),
    "other terms": (put(*OPERAND, 2, [1, 0]), "was altered: its blocks do not give the terms"),
}


@mostly_slow("name", CASES, quick=25)
def test_hostile_documents(path: Path, name: str) -> None:
    change, match = CASES[name]
    document, tensors = encode(rich())
    change(document)
    forge(path, document, tensors)
    tracemalloc.start()
    refused(path, match)
    assert tracemalloc.get_traced_memory()[1] < 40e6
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[" * 100_000, "not JSON that we can read"),
        ("[" * 100_000 + "]" * 100_000, "not JSON that we can read|needs dict"),
        ('{"a": 1, "a": 2}', "names a key twice"),
        ("9" * 5000, "not JSON that we can read"),
        ("NaN", "the document is nan: needs dict"),
        ("", "not JSON that we can read"),
        ("null", "the document is None: needs dict"),
        (json.dumps({"x" * 100_000: 1}), "the document has the keys"),
    ],
)
def test_hostile_json(path: Path, text: str, match: str) -> None:
    forge(path, text, {})
    refused(path, match)
    with pytest.raises(FileError) as caught:
        load(path)
    assert len(str(caught.value)) < 2000


def test_newer_and_foreign_versions(path: Path) -> None:
    document, tensors = encode(rich())
    forge(path, {"anything": "else"}, tensors, version="7", more="metadata")
    refused(path, f"format version 7, this Integraph reads up to {storage.VERSION}: update it")
    for version in ("0", "", "x", "1.0", "9" * 400, "-1", "٣"):
        forge(path, document, tensors, version=version)
        refused(path, "unknown or missing metadata|not a program of Integraph")
    forge(path, document, tensors, format="another program")
    refused(path, "this is a safetensors file, but not a program of Integraph")
    forge(path, document, tensors, more="metadata")
    refused(path, "unknown or missing metadata: needs digest, format, program, seal, version")
    forge(path, document, tensors, seal="0" * 64)
    refused(path, "the file is damaged: its checksum does not match its contents")
    save_file({"weight": np.zeros(3, np.float32)}, path)
    refused(path, "this is a safetensors file, but not a program of Integraph")


def test_limits(path: Path) -> None:
    rich().save(path)
    size, width, terms = path.stat().st_size, 10, rich().terms
    assert load(path, max_bytes=size, max_registers=width, max_terms=2 * terms).digest == rich().digest
    refused(path, f"{size} bytes are more than the limit {size - 1}.*raise max_bytes", max_bytes=size - 1)
    refused(path, "more than 9 registers.*raise max_registers", max_registers=width - 1)
    refused(path, "segment 2, block 0 brings the program above the limit of terms.*raise max_terms", max_terms=40)


def test_a_small_file_with_many_terms(path: Path) -> None:
    """Views of stride 0 say 4e9 terms in 1 kB; nothing is built for them before they are refused."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 2)
    document, tensors = encode(build(r, [segment("s", affine(z, x, w=[[1.0], [2.0]]))], z))
    document["segments"][0][3][0][2][0] = [0, [2, 4_000_000_000 // 2], [0, 0]]
    forge(path, document, tensors)
    tracemalloc.start()
    refused(path, r"register 1 has 2000000000 terms in one segment: the limit is \d+")
    document["segments"][0][3] *= 2
    forge(path, document, tensors)
    refused(path, "above the limit of terms")
    assert tracemalloc.get_traced_memory()[1] < 60e6  # 16 MB of it to warm the allocator
    tracemalloc.stop()


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Document, Tensors]:
    """A document with parts replaced by others of its own or by odd values."""
    document, tensors = encode(rich())
    document, tensors = copy.deepcopy(document), dict(tensors)
    odd = [
        None,
        True,
        0,
        1,
        -1,
        3,
        10,
        2**31,
        2**63,
        10**30,
        1.5,
        "",
        "t0",
        "t2",
        "inf",
        [],
        {},
        [0, [3], [1]],
        "raw",
        "tanh",
    ]
    for _ in range(draw(st.integers(1, 3))):
        part: Any = document
        while True:
            keys = list(part) if isinstance(part, dict) else range(len(part))
            if not keys:
                break
            key = draw(st.sampled_from(list(keys)))
            if not isinstance(part[key], dict | list) or not part[key] or draw(st.integers(0, 4)) == 0:
                part[key] = copy.deepcopy(draw(st.sampled_from([*odd, *document.values()])))
                break
            part = part[key]
    return document, tensors


@given(mutations())
@examples(200, **SHARED_FOLDER)
def test_whatever_a_document_says(path: Path, forged: tuple[Document, Tensors]) -> None:
    forge(path, *forged)
    with contextlib.suppress(FileError):  # and nothing else
        assert load(path).digest == rich().digest
