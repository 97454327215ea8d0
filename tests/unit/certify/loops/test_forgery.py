"""Files that were made by hand, with a seal that fits: each is refused with a reason, soon, and without a traceback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import integraph
from integraph.certify.loops.certificate import CertifiedStep, fault, parse
from integraph.certify.problem import Box
from integraph.errors import FileError, IntegraphError

SETTING = {
    "plant": {"x": "v", "v": "u - sin(x) + w"},
    "controller": "-2*v",
    "period": 0.2,
    "steps": 2,
    "start": {"x": (0.9, 1.0), "v": 0},
    "disturbances": {"w": (-0.1, 0.1)},
}


@pytest.fixture(scope="module")
def result():
    proved = integraph.loop(**SETTING, spec="x <= 1.1 always", progress=False)
    assert integraph.check(proved, proved)
    return proved


def sealed(given: dict[str, Any]) -> bytes:
    """The text of a certificate with the seal of its contents."""
    given = {name: value for name, value in given.items() if name != "seal"}
    text = json.dumps({**given, "seal": ""}, separators=(",", ":"))
    return json.dumps({**given, "seal": hashlib.sha256(text.encode()).hexdigest()}, separators=(",", ":")).encode()


def placed(given: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The document with another value somewhere in it."""
    at: Any = given
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return given


STEP = ("cells", 0, 0, 0)
VALUES = {
    "an infinite end": ((*STEP, 3, 0), "infinite"),
    "an infinite start": (("high", 0), "infinite"),
    "an end beyond float64": ((*STEP, 3, 0), [1, 2000]),
    "an end of many digits": ((*STEP, 3, 0), [1 << 60, -60]),
    "an end that is a text": ((*STEP, 3, 0), "1"),
    "an end that is true": ((*STEP, 3, 0), [True, 0]),
    "an end twice": ((*STEP, 3, 0), [2, 0]),
    "a box upside down": ((*STEP, 3, 0), [-9, 0]),
    "a box of one state": ((*STEP, 3), [[1, 0]]),
    "a step longer than a period": ((*STEP, 0), -1),
    "a step that is too short": ((*STEP, 0), 17),
    "a step of half a halving": ((*STEP, 0), "1"),
    "order 0": ((*STEP, 1), 0),
    "order 25": ((*STEP, 1), 25),
    "order 10^9": ((*STEP, 1), 10**9),
    "a step of three numbers": (STEP, [1, 2, 3]),
    "periods that are no list": (("cells",), 7),
    "no cells": (("cells",), []),
    "a tree without leaves": (("tree",), [[0, [1, 0]]]),
    "a tree of no nodes": (("tree",), []),
    "a tree that divides nothing": (("tree",), [[9, [1, 0]], 0, 0]),
    "a tree that is deep": (("tree",), [[0, [1, -k]] for k in range(1, 1000)]),
    "a status of its own": (("status",), "certain"),
    "a status that is a number": (("status",), 1),
    "a long specification": (("spec",), "x <= 1 and " * 5000 + "x <= 1"),
    "a specification in colour": (("spec",), "x <= 1\u001b[31m"),
    "states that are numbers": (("states",), [1, 2]),
    "another version": (("version",), 2),
    "another format": (("format",), "integraph certificate"),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, result) -> None:
    place, value = VALUES[name]
    with pytest.raises(ValueError, match=r".{10}"):
        parse(sealed(placed(json.loads(str(result.certificate())), place, value)))


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "half of it": lambda data: data[: len(data) // 2],
    "deep lists": lambda data: b"[" * 100_000 + b"]" * 100_000,
    "deep cells": lambda data: data.replace(b'"cells":[', b'"cells":' + b"[" * 50_000, 1),
    "NaN": lambda data: data.replace(b'"version":1', b'"version":NaN', 1),
    "a number of many digits": lambda data: data.replace(b'"version":1', b'"version":' + b"9" * 100_000, 1),
    "a float": lambda data: data.replace(b'"version":1', b'"version":1.0', 1),
    "a field twice": lambda data: data.replace(b'"version":1', b'"version":1,"version":1', 1),
    "spaces": lambda data: data.replace(b":", b": ", 1),
    "bytes that are no text": lambda data: b"\xff" + data,
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes(name: str, result, tmp_path) -> None:
    path = tmp_path / "forged.json"
    path.write_bytes(BYTES[name](str(result.certificate()).encode()))
    with pytest.raises(FileError):
        integraph.check(path, result)


@pytest.mark.parametrize("end", [float("nan"), float("inf"), -float("inf")])
def test_ends_in_memory(end: float, result) -> None:
    """Certificates that were never in a file."""
    certificate = result.certificate()
    for box in (Box((end, 0.0), (1.0, 0.0)), Box((0.9, 0.0), (end, 0.0)), Box((0.9, end), (1.0, end))):
        assert fault(replace(certificate, box=box))
        assert not integraph.check(replace(certificate, box=box).sealed(), result)
        first, *rest = certificate.cells[0]
        wrong = (tuple(replace(step, box=box) for step in first), *rest)
        assert not integraph.check(replace(certificate, cells=(wrong,)).sealed(), result)


def test_a_box_around_everything(result) -> None:
    """A box that holds all solutions is no proof by itself: its remainder is."""
    certificate = result.certificate()
    huge = Box((-1e300, -1e300), (1e300, 1e300))
    path = tuple(tuple(CertifiedStep(0, 3, huge) for _ in range(1)) for _ in range(2))
    checked = integraph.check(replace(certificate, cells=(path,)).sealed(), result)
    assert not checked
    assert checked.reason


@pytest.mark.parametrize("spec", ["", "x", "x <= q", "x <= __import__('os')"])
def test_specifications_that_are_none(spec: str, result) -> None:
    with pytest.raises(IntegraphError):
        integraph.check(replace(result.certificate(), spec=spec).sealed(), result)


@pytest.mark.parametrize(
    "change",
    [
        {"degrees": (1.5,)}, {"degrees": ("2",)}, {"degrees": (True,)}, {"tree": None}, {"cells": (None,)},
        {"cells": ((None,),)}, {"box": None}, {"box": Box(("0", "0"), ("1", "1"))}, {"box": Box((0, 0), (10**400, 1))},
        {"states": None}, {"disturbance": None},
    ],
    ids=str,
)  # fmt: skip
def test_contents_of_wrong_types_in_memory(change: dict[str, Any], result) -> None:
    checked = integraph.check(replace(result.certificate(), **change), result)
    assert not checked
    assert checked.reason
