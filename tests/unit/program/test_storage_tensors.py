"""Files whose tensors are hostile: sealed and well formed, but not to be believed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.program.schema import encode
from stored import Tensors, everything, forge, refused, rich


def swap(name: str, change: Callable[[Any], Any]) -> Callable[[Tensors], None]:
    def apply(tensors: Tensors) -> None:
        tensors[name] = np.ascontiguousarray(change(tensors[name].copy()))

    return apply


def entry(value: Any, where: int = 0) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array.reshape(-1)[where] = value
        return array

    return change


TENSOR_CASES: dict[str, tuple[Callable[[Tensors], Any], str]] = {
    "NaN": (swap("t0", entry(np.nan)), "segment 0 'one': tensor 'w' of affine holds nan"),
    "infinity": (swap("t0", entry(-np.inf)), "holds -inf"),
    "overflow in the terms": (swap("t0", entry(1.7e308)), "was altered|every control must be finite"),
    "another value": (swap("t0", entry(0.25)), "was altered: its blocks do not give the terms that its digest names"),
    "float32": (swap("t0", lambda a: a.astype(np.float32)), "tensor 't0' is F32: needs F64 or I64"),
    "bool": (swap("t0", lambda a: a > 0), "tensor 't0' is BOOL: needs F64 or I64"),
    "shape": (swap("t0", lambda a: a.T), r"affine: tensor 'w' has shape \(4, 3\)"),
    "axes": (swap("t0", lambda a: a.reshape((1,) * 40 + a.shape)), "at most 32 axes"),
    "empty": (swap("t0", lambda a: a[:0]), "affine: tensor 'w' has shape"),
    "extra": (lambda t: t.update(t77=np.zeros(3)), "tensor 't77' is not used by the program"),
    "missing": (lambda t: t.pop("t0"), "tensor 't0' is missing"),
    "register 10 of 10": (swap("t3", entry(10)), "uses registers 7 … 10, there are 10"),
    "register −1": (swap("t3", entry(-1)), "uses registers -1"),
    "register 2⁶³ − 1": (swap("t3", entry(2**63 - 1)), "there are 10"),
    "register twice": (swap("t3", entry(7)), "lists a register twice"),
    "raw row": (swap("t6", entry(3)), "raw: rows must be"),
    "raw row −1": (swap("t6", entry(-1)), "raw: rows must be"),
    "raw factor": (swap("t6", entry(7, 1)), "raw: factors must be within −1 … 6"),
    "raw lengths": (swap("t7", lambda a: a[1:]), "raw: index"),
    "rows of the read-out": (swap("t8", entry(2, 1)), "was altered|not a matrix"),
    "rows from 1": (swap("t8", entry(1)), "not a matrix"),
    "rows backwards": (swap("t8", entry(4, 1)), "not a matrix"),
    "rows past the end": (swap("t8", entry(2**62, 3)), "not a matrix"),
    "column of the read-out": (swap("t9", entry(10)), "the read-out is not a matrix with 10 columns"),
    "column −1": (swap("t9", entry(-1)), "not a matrix"),
    "read-out value": (swap("t10", entry(np.inf)), "the read-out holds inf"),
    "scale 0": (swap("t11", entry(0.0)), "state scales must be 10 positive numbers"),
    "scale NaN": (swap("t11", entry(np.nan)), "the state scales holds nan"),
    "scales too few": (swap("t11", lambda a: a[1:]), "state scales must be 10"),
    "box NaN": (swap("t12", entry(np.nan)), "budget: low holds nan: the box must be finite"),
    "box infinite": (swap("t13", entry(np.inf)), "budget: high holds inf"),
    "box inside out": (swap("t12", entry(3.5, 3)), "budget: input 3 has low = 3.5 > high = 3.0"),
    "box too small": (lambda t: [swap(n, lambda a: a[1:])(t) for n in ("t12", "t13")], "has 3 sides, the program 4"),
    "box of two axes": (lambda t: [swap(n, lambda a: a[:, None])(t) for n in ("t12", "t13")], r"shape \(4, 1\)"),
    "probe register 10": (swap("t14", entry(10)), "probe 'list' reads registers 0 … 10, there are 10"),
    "probe register −1": (swap("t14", entry(-1)), "probe 'list' reads registers -1 … 0"),
    "probe of too many": (swap("t14", lambda a: np.zeros(11, np.int64)), "reads 11 registers: needs 1 to 10"),
}


@pytest.mark.parametrize("name", TENSOR_CASES)
def test_hostile_tensors(path: Path, name: str) -> None:
    change, match = TENSOR_CASES[name]
    document, tensors = encode(rich())
    change(tensors)
    forge(path, document, tensors)
    refused(path, match)


def test_the_names_used_above_are_those_of_the_file() -> None:
    document, _ = encode(rich())
    assert document["segments"][0][3][0][3] == {"w": "t0", "b": "t1"}
    assert document["segments"][0][3][1][1] == ["t3"]
    assert document["segments"][2][3][0][3] == {"index": "t6", "value": "t7"}
    assert (document["readout"], document["scales"]) == (["t8", "t9", "t10"], "t11")
    assert (document["budget"][:2], document["probes"][1][2]) == (["t12", "t13"], "t14")


@pytest.mark.parametrize("formula", ["sin(x)", "1/(1 + x)", "sin(x)/(1 + x)"])
@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_weights_of_nothing_are_not_kept(path: Path, formula: str, weight: float) -> None:
    """Files of earlier versions hold a weight of no operand, which no hash is about."""
    program = integraph.compile(formula)
    program.save(path)
    fresh = path.read_bytes()
    document, tensors = encode(program)
    grown = [
        block for step in document["segments"] for block in step[3] if "spiral" in block[0] or "powers" in block[0]
    ]
    assert grown
    assert all("w" not in block[3] for block in grown)
    for block in grown:
        block[3]["w"] = "idle"
    forge(path, document, tensors | {"idle": np.array([weight])}, program.digest)
    old = integraph.load(path)
    assert everything(old) == everything(program)
    old.save(path)
    assert path.read_bytes() == fresh
