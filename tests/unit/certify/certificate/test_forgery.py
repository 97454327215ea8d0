"""Certificates that were altered, forged or never were any: none of them passes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import integraph
from certificate_cases import CASES, certificate, network_case
from integraph.certify.certificate.certificate import Certificate, parse
from integraph.certify.certificate.tree import Leaf, Split
from integraph.certify.problem import Box
from integraph.certify.proof import Proof
from integraph.errors import FileError


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_altered_in_any_byte_is_refused(
    case: Callable[[], tuple[integraph.Program, object, Proof]], tmp_path: Path
) -> None:
    data = str(certificate(case)).encode()
    path = tmp_path / "proof.json"
    rng = np.random.default_rng(0)
    step = max(1, len(data) // 1500)
    for place in [*range(0, len(data), step)]:
        for bit in (0, int(rng.integers(1, 8))):
            with pytest.raises(ValueError, match=r"certificate|altered|reads|malformed"):
                parse(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        with pytest.raises(ValueError, match=r"certificate|altered|reads|malformed"):
            parse(data[:place] + data[place + 1 :])
    for other in (data[:-1], data + b" ", b" " + data, data + data, b""):
        path.write_bytes(other)
        with pytest.raises(FileError, match="cannot read the certificate"):
            integraph.check(path, case()[0], case()[1])


def _first_leaf(found: Certificate, change: Callable[[Leaf], Leaf]) -> Certificate:
    place = next(n for n, node in enumerate(found.tree) if isinstance(node, Leaf))
    leaf = found.tree[place]
    assert isinstance(leaf, Leaf)
    return replace(found, tree=(*found.tree[:place], change(leaf), *found.tree[place + 1 :]))


def _worst(found: Certificate, factor: float) -> Certificate:
    """All bounds, and the claim, made smaller."""
    tree = tuple(Leaf(n.bits, (n.uppers[0] * factor,)) if isinstance(n, Leaf) else n for n in found.tree)
    return replace(found, tree=tree, upper=max(n.uppers[0] for n in tree if isinstance(n, Leaf)))


def _collapsed(found: Certificate) -> Certificate:
    """One leaf for the whole box, with the bound that many boxes proved."""
    return replace(found, tree=(Leaf(64, (found.upper,)),))


def _moved_split(found: Certificate) -> Certificate:
    root = found.tree[0]
    assert isinstance(root, Split)
    return replace(found, tree=(Split(root.axis, found.box.high[root.axis]), *found.tree[1:]))


FORGERIES: dict[str, Callable[[Certificate], Certificate]] = {
    "a smaller claim": lambda c: replace(c, upper=c.upper / 2),
    "a larger claim": lambda c: replace(c, upper=c.upper * 2),
    "smaller bounds": lambda c: _worst(c, 0.9),
    "one bound is smaller": lambda c: _first_leaf(c, lambda leaf: replace(leaf, uppers=(leaf.uppers[0] / 2,))),
    "one bound is negative": lambda c: _first_leaf(c, lambda leaf: replace(leaf, uppers=(-1.0,))),
    "two bounds in a leaf": lambda c: _first_leaf(c, lambda leaf: replace(leaf, uppers=leaf.uppers * 2)),
    "no bits": lambda c: _first_leaf(c, lambda leaf: replace(leaf, bits=0)),
    "too many bits": lambda c: _first_leaf(c, lambda leaf: replace(leaf, bits=10**9)),
    "a leaf is lost": lambda c: replace(c, tree=c.tree[:-1]),
    "a leaf too many": lambda c: replace(c, tree=(*c.tree, c.tree[-1])),
    "no tree": lambda c: replace(c, tree=()),
    "one leaf for all": _collapsed,
    "a split at the border": _moved_split,
    "another box": lambda c: replace(c, box=Box(c.box.low, tuple(2 * v for v in c.box.high))),
    "a box of another dimension": lambda c: replace(c, box=Box(c.box.low[:1], c.box.high[:1])),
    "an empty box": lambda c: replace(c, box=Box(c.box.high, c.box.low)),
    "an infinite box": lambda c: replace(c, box=Box(c.box.low, (math.inf,) * 2)),
    "a larger lower bound": lambda c: replace(c, lower=c.lower * 1.01),
    "a lower bound without a point": lambda c: replace(c, point=None),
    "a point outside": lambda c: replace(c, point=(7.0, 7.0)),
    "a point of another dimension": lambda c: replace(c, point=(0.5,)),
    "another program": lambda c: replace(c, program="0" * 64 + "-53"),
    "another target": lambda c: replace(c, target="0" * 64),
    "it assumes less": lambda c: replace(c, assumed=()),
    "it assumes more": lambda c: replace(c, assumed=(*c.assumed, "the result")),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("case", CASES)
def test_false_numbers_under_a_new_seal_are_found_out(
    name: str, case: Callable[[], tuple[integraph.Program, object, Proof]]
) -> None:
    program, source, _ = case()
    forged = FORGERIES[name](certificate(case))
    assert not integraph.check(forged, program, source), "the old seal"
    checked = integraph.check(forged.sealed(), program, source)
    assert not checked
    assert checked.reason


HOSTILE = [
    b"\x00\xff", b"[]", b"{}", b"null", b'{"format": 1}', b"[" * 100_000, b"9" * 10_000, b'"' + b"a" * 100,
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE)
def test_what_is_no_certificate_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_bytes(data)
    with pytest.raises(FileError, match="cannot read the certificate"):
        integraph.check(path, *network_case()[:2])


@pytest.mark.parametrize("field", ["low", "eps", "upper", "point", "tree", "assumed", "program", "seal"])
def test_wrong_types_are_refused(field: str) -> None:
    for value in (None, 1.5, True, "text", [], {}, [[]], [[1]], [[1, 2, 3]], [[10**30, 0]], [["split", 0]], [1, 10**9]):
        document = json.loads(str(certificate(network_case)))
        if document[field] == value:
            continue
        document[field] = value
        with pytest.raises(ValueError, match=r"certificate|altered|malformed"):
            parse(json.dumps(document, separators=(",", ":")).encode())
