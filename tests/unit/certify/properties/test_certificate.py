"""Certificates of properties survive a file; none that was altered, forged or is about something else passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

import integraph
from integraph import PropertyCertificate
from integraph.certify.certificate.tree import Split
from integraph.certify.problem import Box
from integraph.certify.properties.certificate import fault, parse
from integraph.certify.properties.encoding import decoded, encoded
from integraph.certify.properties.replay import functions, leaf
from integraph.certify.properties.replay.rows import Row
from integraph.errors import FileError
from integraph.targets.property import Comparison
from networks import random_network

NET = random_network((2, 8, 6, 2), "tanh", seed=7)


@cache
def made() -> PropertyCertificate:
    high = integraph.bound(NET, (-1, 1), gap=0.01).high[0]
    proof = integraph.prove(f"y0 <= {high + 0.02:.4f} or abs(y0*x0) > 5", NET, (-1, 1))
    assert proof.certificate is not None
    return proof.certificate


@cache
def refuted() -> PropertyCertificate:
    proof = integraph.prove("y0 <= 0 and y1 <= 0", NET, (-1, 1))
    assert proof.certificate is not None
    return proof.certificate


def test_it_survives_a_file_and_its_check(tmp_path: Path) -> None:
    for certificate in (made(), refuted()):
        path = tmp_path / "proof.json"
        certificate.save(path)
        assert PropertyCertificate.load(path) == certificate
        checked = integraph.check(path, NET)
        assert checked.holds
        assert checked.status == certificate.status
        assert "<table" in certificate._repr_html_()
    assert len(made().cases[0].parts) >= 4


def test_bytes_that_were_altered() -> None:
    data = str(made()).encode()
    for place in range(0, len(data), max(1, len(data) // 200)):
        with pytest.raises(ValueError, match=r"certificate|altered|reads|malformed"):
            parse(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for other in (data[:-1], data + b" ", b"", b"{}", b"[" * 100_000):
        with pytest.raises(ValueError, match=r"certificate|altered"):
            parse(other)


def _tree(change: Callable[[list[Split | None]], list[Split | None]]) -> PropertyCertificate:
    one = made().cases[0]
    return replace(made(), cases=(replace(one, tree=tuple(change(list(one.tree)))),))


def _first(nodes: list[Any], change: Callable[[Split], Any]) -> list[Any]:
    place = next(n for n, node in enumerate(nodes) if node is not None)
    return [*nodes[:place], change(nodes[place]), *nodes[place + 1 :]]


def _threshold(by: Fraction) -> PropertyCertificate:
    one = made().cases[0]
    clause = one.stated.clause
    assert not isinstance(clause, Comparison)
    first = clause.parts[0]
    assert isinstance(first, Comparison)
    parts = (replace(first, threshold=first.threshold - by), *clause.parts[1:])
    return replace(made(), cases=(replace(one, stated=replace(one.stated, clause=replace(clause, parts=parts))),))


FORGERIES: dict[str, Callable[[], PropertyCertificate]] = {
    "a dropped leaf": lambda: _tree(lambda nodes: nodes[:-1]),
    "a leaf more": lambda: _tree(lambda nodes: [*nodes, None]),
    "one leaf for all": lambda: _tree(lambda nodes: [None]),
    "a subtree dropped": lambda: _tree(lambda nodes: _first(nodes, lambda node: None)),
    "a swapped axis": lambda: _tree(
        lambda nodes: _first(nodes, lambda node: Split(1 - node.axis, node.at * 0.9 + 0.95))
    ),
    "an axis that is none": lambda: _tree(lambda nodes: _first(nodes, lambda node: Split(7, node.at))),
    "a split outside": lambda: _tree(lambda nodes: _first(nodes, lambda node: Split(node.axis, 1.0))),
    "a smaller threshold": lambda: _threshold(Fraction(1, 2)),
    "a larger box": lambda: replace(made(), cases=(replace(made().cases[0], box=Box((-9.0, -9.0), (9.0, 9.0))),)),
    "an inverted box": lambda: replace(made(), cases=(replace(made().cases[0], box=Box((1.0, 1.0), (-1.0, -1.0))),)),
    "no cases": lambda: replace(made(), cases=()),
    "another source": lambda: replace(made(), source="0" * 64),
    "a program": lambda: replace(made(), program="x", closeness="{}", delta=0.1),
    "a distance": lambda: replace(made(), delta=0.1),
    "fewer assumptions": lambda: replace(made(), assumed=()),
    "a degree that is none": lambda: replace(made(), degree=3),
    "a point where it holds": lambda: replace(made(), point=(0.0, 0.0)),
    "a point outside": lambda: replace(refuted(), point=(3.0, 0.0)),
    "another point": lambda: replace(refuted(), point=_good_point()),
}


def _good_point() -> tuple[float, ...]:
    x = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    good = x[(NET(x) <= -0.01).all(1)]
    return tuple(good[0].tolist())


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_under_a_new_seal(name: str) -> None:
    forged = FORGERIES[name]().sealed() if name != "no cases" else FORGERIES[name]()
    checked = integraph.check(forged, NET) if forged.cases else None
    assert checked is None or not checked.holds
    assert checked is None or (checked.status == "unknown" and checked.reason)
    assert checked is not None or fault(forged)


def test_a_broken_seal_and_another_net(tmp_path: Path) -> None:
    assert not integraph.check(replace(made(), degree=1), NET).holds
    other = random_network((2, 8, 6, 2), "tanh", seed=8)
    assert "another source" in integraph.check(made(), other).reason
    last = NET.layers[-1]
    near = integraph.network([*NET.layers[:-1], (last.A, np.nextafter(last.b, np.inf))])
    assert "another source" in integraph.check(made(), near).reason
    path = tmp_path / "proof.json"
    path.write_bytes(str(made()).encode()[:-1])
    with pytest.raises(FileError, match="cannot read the certificate"):
        integraph.check(path, NET)


def test_a_shrunk_box_proves_less_and_says_so() -> None:
    smaller = replace(
        made(), cases=(replace(made().cases[0], box=Box((-0.5, -0.5), (0.5, 0.5)), tree=(None,)),)
    ).sealed()
    checked = integraph.check(smaller, NET)
    assert not checked.holds or "[-0.5, 0.5]^2" in checked.claim


def test_a_leaf_that_is_not_proved_is_noticed() -> None:
    """The bounds that are just enough with their remainders are not without them: one leaf, a threshold between."""
    one = made().cases[0]
    box = one.parts[0]
    low, high = (np.array(ends) for ends in (box.low, box.high))
    top = NET(np.random.default_rng(0).uniform(low, high, (2000, 2)))[:, 0].max()
    forged = integraph.prove(f"y0 <= {top + 1:.3f}", NET, list(zip(box.low, box.high, strict=True))).certificate
    assert forged is not None
    clause = forged.cases[0].stated.clause
    assert isinstance(clause, Comparison)
    tight = replace(clause, threshold=Fraction(float(top) - 1e-6))
    stated = replace(forged.cases[0].stated, clause=tight)
    assert not integraph.check(replace(forged, cases=(replace(forged.cases[0], stated=stated),)).sealed(), NET).holds


def test_a_checker_without_remainders_would_be_fooled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the tests: a remainder that is dropped lets a false leaf pass."""
    net = random_network((1, 4, 1), "sin", seed=3, weight=3.0)
    x = np.linspace(-1, 1, 2001)[:, None]
    top = float(net(x).max())
    stated = integraph.prove(f"y0 <= {top + 2:.6f}", net, (-1, 1)).certificate
    assert stated is not None
    clause = stated.cases[0].stated.clause
    assert isinstance(clause, Comparison)
    false = replace(stated.cases[0].stated, clause=replace(clause, threshold=Fraction(top - 0.05)))
    box = Box((-1.0,), (1.0,))
    assert not leaf.holds(net, false, box, 2, 0.0)
    right = functions.settled
    monkeypatch.setattr(
        functions,
        "settled",
        lambda row: right(Row(row.space, row.p[:1] + [arb(0)] * (len(row.p) - 1), {}, arb(0), row.p[0])),
    )
    assert leaf.holds(net, false, box, 2, 0.0)


def test_properties_as_data() -> None:
    stated = made().cases[0].stated
    assert decoded(encoded(stated)) == stated
    good = encoded(stated)
    for wrong in (
        [0, *good[1:]], [*good[:3], [">=", 9, "1"]], [*good[:3], [">=", 0, "1/0"]],
        [*good[:3], [">=", 0, "nan"]], [*good[:3], ["xor", [">=", 0, "1"], [">=", 0, "1"]]],
        [*good[:3], ["and", [">=", 0, "1"]]],
        [*good[:2], [["linear", [[0, 0]], []]], [">=", 0, "1"]], [*good[:2], [["linear", [], []]], [">=", 0, "1"]],
        [*good[:2], [["formula", ["y0"], [["variable", [], "y0"], ["system", [0], ""]], 1]], [">=", 0, "1"]],
        [*good[:2], [["formula", ["y0"], [["neg", [0], ""]], 0]], [">=", 0, "1"]],
        [*good[:2], [["formula", ["y0"], [["variable", [], "y0"], ["power", [0, 0], "100000"]], 1]], [">=", 0, "1"]],
        [*good[:2], [["formula", ["y9"], [["variable", [], "y9"]], 0]], [">=", 0, "1"]],
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            decoded(wrong)
    deep: list[Any] = [">=", 0, "1"]
    for _ in range(500):
        deep = ["and", deep, [">=", 0, "1"]]
    with pytest.raises(ValueError, match="deep"):
        decoded([*good[:3], deep])
