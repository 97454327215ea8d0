"""Real certificates of each kind, ways to alter them under a seal that fits, and a judge of what is made of them."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import integraph
from integraph.certify.certificate.certificate import Certificate
from integraph.errors import FileError, IntegraphError
from networks import random_network

Case = tuple[integraph.Program, Any, dict[str, Any]]
Place = tuple[Any, ...]
SLACK = 1e-13  # of values in float64
DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 64, 4096, 4097, 2**31, 2**53, 2**64,
    10**300, 10**4000, 0.5, 1e308, "", "infinite", "leaf",
    "split", "Infinity", "\ud800", "\u202e\x1b[2J\n", "x" * 5000,
    [], {}, [[]], {"a": 1}, [0, 0], [1, 0], [-1, 0], [3, -1],
    [1, 1023], [1, 1024], [-1, 1023], [1, -1074], [1, -1075], [1, 10**9], [2**53 - 1, 971], [1, 0, 0], [True, False],
    ["leaf", 64, [[1, 0]]], ["leaf", 2, ["infinite"]], ["split", 0, [1, -1]], ["split", -1, [1, -1]], DEEP,
]  # fmt: skip


@cache
def of_network() -> Case:
    network = random_network((2, 3, 1), "tanh", output="tanh")
    program = integraph.compile(network, 1e-4)
    return program, network, _document(program, network, gap=0.02)


@cache
def of_theorem_1() -> Case:
    source = "sin(3*x)*exp(-y)"
    program = integraph.compile(source, 1e-2, method="lean")
    return program, source, _document(program, source, gap=0.5)


@cache
def of_formula() -> Case:
    source = "abs(x - 0.3) + 0.1*y"
    program = integraph.compile(source, 1e-2)
    return program, source, _document(program, source, gap=1.0, boxes=300)


CASES = [of_network, of_theorem_1, of_formula]


def _document(program: integraph.Program, source: Any, **options: Any) -> dict[str, Any]:
    found = integraph.certify(program, source, workers=1, **options).certificate
    assert found is not None
    assert integraph.check(found, program, source).status == "proved"
    document = json.loads(str(found))
    assert len(document["tree"]) >= 3
    return document


def sealed(document: dict[str, Any]) -> bytes:
    """As whoever knows the format would write it."""
    text = json.dumps({**document, "seal": ""}, separators=(",", ":"))
    return json.dumps({**document, "seal": hashlib.sha256(text.encode()).hexdigest()}, separators=(",", ":")).encode()


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Of every part of a document."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


def changed(document: dict[str, Any], path: Place, change: str, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(document)
    inside: Any = found
    for key in path[:-1]:
        inside = inside[key]
    key = path[-1]
    if change == "lost":
        del inside[key]
    elif change == "twice" and isinstance(inside, list):
        inside.insert(key, copy.deepcopy(inside[key]))
    elif change == "more" and type(inside[key]) is int:
        inside[key] += 1
    elif change == "less" and type(inside[key]) is int:
        inside[key] -= 1
    elif change == "backwards" and isinstance(inside[key], list):
        inside[key].reverse()
    else:
        inside[key] = copy.deepcopy(value)
    return found


def judge(case: Case, data: bytes, file: Path) -> None:
    """A refusal, or a verdict that is true."""
    program, source, _ = case
    file.write_bytes(data)
    try:
        certificate = integraph.Certificate.load(file)
    except FileError:
        return
    assert str(certificate).encode() == data
    assert certificate._repr_html_()
    checked = integraph.check(certificate, program, source)
    assert repr(checked)
    if not checked:
        assert checked.status == "unknown"
        assert checked.reason
        return
    assert true(case, certificate), certificate


def true(case: Case, certificate: Certificate) -> bool:
    """What it says, at points of its box, in float64 and up to its rounding."""
    program, source, _ = case
    low, high = np.array(certificate.box.low), np.array(certificate.box.high)
    share = np.random.default_rng(0).random((500, len(low)))
    x = np.clip(low * (1 - share) + high * share, low, high)
    x = np.concatenate([x, [low, high], [certificate.point] if certificate.point else np.empty((0, len(low)))])
    target = source if isinstance(source, integraph.Network) else integraph.function(source).values
    try:
        values = target(x)
        off = np.abs(program(x) - values).max(1)
    except IntegraphError:
        return True  # not in float64
    slack = SLACK * (1 + np.abs(values).max(1))
    good = bool((off <= certificate.upper + slack).all())
    if certificate.point is not None:
        good = good and off[-1] >= certificate.lower - slack[-1]
    if certificate.status == "proved" and certificate.eps is not None:
        good = good and bool((off <= certificate.eps + slack).all())
    if certificate.status == "refuted":
        good = good and certificate.eps is not None and bool((off > certificate.eps - slack).any())
    return good
