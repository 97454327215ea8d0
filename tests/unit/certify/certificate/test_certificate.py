"""Certificates: data that proves what it says, that nobody can alter, and that is checked without the search."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flint import arb

import integraph
from certificate_cases import CASES, FORMULA, certificate, network_case, smooth_case
from integraph.certify.certificate.certificate import parse, rounded_up
from integraph.certify.certificate.tree import Leaf
from integraph.certify.network.difference import NetworkDifference
from integraph.certify.problem import Box
from integraph.certify.proof import Proof
from integraph.certify.search.stop import Stop
from integraph.errors import FileError, UsageError
from integraph.numbers.arb import conversion
from networks import random_network


@pytest.mark.parametrize("case", CASES)
def test_a_proof_is_checked(case: Callable[[], tuple[integraph.Program, object, Proof]], tmp_path: Path) -> None:
    program, source, proof = case()
    found = certificate(case)
    assert proof.status == "proved"
    assert proof.seen is not None
    assert proof.promised is not None
    assert 0 < proof.lower <= proof.seen <= proof.proven <= 1.5 * proof.seen * (1 + 1e-6)
    assert proof.proven <= proof.promised
    assert len(found.tree) > 1
    checked = integraph.check(found, program, source)
    assert checked
    assert checked.boxes == sum(isinstance(node, Leaf) for node in found.tree)
    path = tmp_path / "proof.json"
    found.save(path)
    assert integraph.check(path, program, source)
    assert integraph.check(str(path), program, source)
    again = parse(path.read_bytes())
    assert again == found
    found.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["proof.json"]


@pytest.mark.parametrize("case", CASES)
def test_assumptions_as_version_0_1_worded_them(
    case: Callable[[], tuple[integraph.Program, object, Proof]],
) -> None:
    program, source, _ = case()
    now = certificate(case)
    old = replace(now, assumed=("the balls of Arb enclose what they should", *now.assumed[1:])).sealed()
    assert old.assumed != now.assumed
    assert parse(str(old).encode()) == old
    assert integraph.check(old, program, source)
    none = replace(now, assumed=now.assumed[1:]).sealed()
    assert integraph.check(none, program, source).reason == "its assumptions are not those of such a proof"


def test_another_program_or_target() -> None:
    program, network, proof = network_case()
    assert proof.certificate is not None
    other = integraph.compile(network, 1e-5)
    assert "another program" in integraph.check(proof.certificate, other, network).reason
    layers = [replace(network.layers[0], b=network.layers[0].b + 1e-15), network.layers[1]]
    assert "another target" in integraph.check(proof.certificate, program, layers).reason
    assert "another target" in integraph.check(proof.certificate, program, FORMULA).reason
    smooth, formula, found = smooth_case()
    assert found.certificate is not None
    assert "another target" in integraph.check(found.certificate, smooth, "sin(3*x)*exp(-y) + 0").reason
    assert integraph.check(found.certificate, smooth, integraph.function(formula))


def test_a_refutation_is_checked_too() -> None:
    program, network, _ = network_case()
    proof = integraph.certify(program, network, 1e-9)
    assert proof.status == "refuted"
    assert proof.point is not None
    assert proof.lower > 1e-9
    off = abs(program(np.array(proof.point)) - network(np.array(proof.point)))[0]
    assert off == pytest.approx(proof.lower, rel=1e-6)
    assert proof.certificate is not None
    assert proof.certificate.status == "refuted"
    assert integraph.check(proof.certificate, program, network)
    moved = replace(proof.certificate, point=(0.0, 0.0), lower=proof.lower * 10).sealed()
    assert not integraph.check(moved, program, network)


def test_an_exhausted_budget_is_unknown_and_still_a_bound() -> None:
    program, network, _ = network_case()
    seen = integraph.certify(program, network).seen
    assert seen is not None
    proof = integraph.certify(program, network, seen * 1.0001, boxes=3)
    assert (proof.status, proof.stopped) == ("unknown", Stop.BOXES)
    assert proof.stopped.message in proof.reason
    assert math.isfinite(proof.upper)
    assert proof.certificate is not None
    assert proof.certificate.status == "unknown"
    assert integraph.check(proof.certificate, program, network)


def test_numbers_are_exact() -> None:
    wide = Box((-3.0, 0.0), (1.7976931348623157e308, 1.0))
    for value in (0.0, 5e-324, 1.0, 0.1, 1.7976931348623157e308, 3.0, -2.5):
        found = replace(certificate(network_case), box=wide, eps=abs(value), point=(value, 0.1)).sealed()
        again = parse(str(found).encode())
        assert again.eps == abs(value)
        assert again.point == (value, 0.1)
        assert again.box == wide
    text = json.loads(str(certificate(network_case)))
    assert "." not in str(text["tree"])
    for bound in (1e-300, 0.1, 1.0, 3.3e-7, 1.7e308):
        assert bound <= rounded_up(bound) <= bound * (1 + 2.0**-22) or math.isinf(rounded_up(bound))


def test_rounding_a_bound_up_does_not_undo_a_proof() -> None:
    program, network, _ = network_case()
    bound = NetworkDifference(program, network).upper(Box((0.0, 0.0), (1.0, 1.0)), 64)[0]
    for eps in (bound, math.nextafter(bound, 1.0), bound * (1 + 1e-9)):
        proof = integraph.certify(program, network, eps)
        assert (proof.status, proof.boxes) == ("proved", 1)
        assert bound <= proof.upper <= eps
        assert integraph.check(proof.certificate, program, network)


def test_missing_files_and_wrong_arguments() -> None:
    program, network, proof = network_case()
    with pytest.raises(FileError, match="nowhere"):
        integraph.check("/nowhere/proof.json", program, network)
    with pytest.raises(FileError, match="path"):
        integraph.check(3, program, network)  # type: ignore[arg-type]
    for call in (
        lambda: integraph.certify(network, program),
        lambda: integraph.certify(program, network, -1.0),
        lambda: integraph.certify(program, network, math.nan),
        lambda: integraph.certify(program, network, gap=math.inf),
        lambda: integraph.certify(program, network, boxes=0),
        lambda: integraph.certify(program, network, seconds=0),
        lambda: integraph.certify(program, network, box=(1, 0)),
        lambda: integraph.certify(program, network, box=[(0, math.inf), (0, 1)]),
        lambda: integraph.check(proof.certificate, network, program),
    ):
        with pytest.raises(UsageError):
            call()


def test_the_checker_shares_no_search_code() -> None:
    code = (
        "import sys, integraph.certify.certificate.replay\n"
        "searching = ('integraph.certify.search', 'integraph.certify.proof')\n"
        "print([m for m in sys.modules if m.startswith(searching)])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_three_numbers_are_shown_together() -> None:
    text = repr(network_case()[2])
    assert all(word in text for word in ("promised", "proven", "difference found", "assumed", "boxes", "bits"))
    assert text.index("promised") < text.index("proven") < text.index("\ndifference found")


def test_sources_that_cannot_be_proved() -> None:
    program = integraph.compile(lambda x: np.sin(3 * x), 1e-3, inputs=1, norm=1e5)
    proof = integraph.certify(program, lambda x: np.sin(3 * x))
    assert (proof.status, proof.stopped) == ("unknown", Stop.REFUSED)
    assert "formula" in proof.reason
    assert integraph.certify(program, "sin(3*x)").status == "proved"


def test_floats_of_balls_are_outside() -> None:
    for text in ("1e400", "-1e400", "1e-400", "-1e-400", "0.1", "-0.1", "1", "0", "1.7976931348623157e308"):
        ball = arb(text)
        low, high = conversion.below(ball), conversion.above(ball)
        assert (math.isinf(low) and low < 0) or arb(low) <= ball.upper()
        assert (math.isinf(high) and high > 0) or arb(high) >= ball.lower()
        assert low < math.inf
        assert high > -math.inf
        assert conversion.smallest(ball) <= conversion.largest(ball)
        assert conversion.smallest(ball) < math.inf


def test_a_check_says_what_is_proved() -> None:
    program, network, proof = network_case()
    checked = integraph.check(proof, program, network)
    assert checked.status == "proved"
    assert "[0, 1]^2" in repr(checked)
    refuted = integraph.check(integraph.certify(program, network, 1e-9), program, network)
    assert refuted
    assert refuted.status == "refuted"
    point = integraph.certify(program, network, box=(0.5, 0.5))
    assert "[0.5, 0.5]^2" in repr(point)
    assert "[0.5, 0.5]^2" in repr(integraph.check(point, program, network))
    nothing = integraph.certify(program, random_network((2, 3, 3, 1), "tanh"))
    assert nothing.status == "unknown"
    assert "assumed" not in repr(nothing)
    with pytest.raises(UsageError, match="no certificate"):
        integraph.check(nothing, program, network)


def test_sources_of_another_shape_are_refused() -> None:
    program, network, _ = network_case()
    for source in ("x*y*z", "x", ["x*y", "x"], lambda x, y, z: x, random_network((3, 3, 1), "tanh")):
        with pytest.raises(UsageError, match=r"2 → 1|different numbers of inputs"):
            integraph.certify(program, source, 1e-3)
    with pytest.raises(UsageError, match="scheduler"):
        integraph.certify(program, network, workers=2, scheduler="tcp://127.0.0.1:1")
    for options in ({"boxes": 1.5}, {"boxes": "x"}, {"workers": 0}, {"seconds": math.nan}, {"seconds": "x"}):
        with pytest.raises(UsageError):
            integraph.certify(program, network, **options)


@pytest.mark.slow
def test_rectifiers_keep_their_promise_whatever_epsilon() -> None:
    """Sizes are not negative though the ball around one reaches below 0, and k·norm may be larger than 1."""
    rng = np.random.default_rng(0)
    sizes = (5, 24, 24, 24, 1)
    layers = [(rng.uniform(-1, 1, (n, m)), rng.uniform(-1, 1, n), "relu") for m, n in itertools.pairwise(sizes)]
    for eps in (1e-3, 1e-8):
        program = integraph.compile(layers, eps, box=(-3, 2))
        assert integraph.certify(program, layers, boxes=1).status == "proved"
