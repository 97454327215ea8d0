"""What is proved holds at every sampled point, what is refuted does not hold at its point, and the rest says so."""

from __future__ import annotations

import math
import multiprocessing
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph import Network
from integraph.certify.bounds.cells import bounded
from integraph.certify.properties import search
from integraph.certify.properties.margins import margins
from integraph.certify.properties.replay import leaf
from integraph.certify.properties.search import Ending
from integraph.certify.search import pool
from integraph.clock import DeadlineError
from integraph.errors import SourceError, UsageError
from integraph.frontends.property.names import Names
from integraph.frontends.property.sentence import parse
from integraph.numbers.arrays import Floats
from law import examples
from networks import random_network
from workers import share_at_once

BOX = (-1.0, 1.0)


def controller() -> Network:
    return random_network((2, 8, 6, 2), "tanh", seed=7)


def open_property() -> str:
    """What is true, and no enclosure proves it."""
    middle = float(controller()(np.zeros((1, 2)))[0, 0])
    return f"y0 >= {middle:.4f} or y0 <= {middle:.4f}"


def values(text: str, x: Floats, y: Floats) -> Any:
    """The text by numpy, with | and & for or and and."""
    names = {f"x{n}": x[:, n] for n in range(x.shape[1])} | {f"y{n}": y[:, n] for n in range(y.shape[1])}
    return eval(text, {"maximum": np.maximum, "abs": np.abs}, names)


PAIRS = (  # of ours, of numpy's
    ("y0 <= {a}", "y0 <= {a}"),
    ("y1 - y0 > {a}", "y1 - y0 > {a}"),
    ("y0 <= {a} + 0.5*x1 and y1 >= -{b}", "(y0 <= {a} + 0.5*x1) & (y1 >= -{b})"),
    ("not y0 <= {a} or y1 < {b}", "~(y0 <= {a}) | (y1 < {b})"),
    ("x0 > 0 implies y0 > y1 - {b}", "(x0 <= 0) | (y0 > y1 - {b})"),
    ("abs(y0*y1) < {a} or y0 > max(y1, x0)", "(abs(y0*y1) < {a}) | (y0 > maximum(y1, x0))"),
    ("-{b} <= y0 <= {a}", "(-{b} <= y0) & (y0 <= {a})"),
)


@given(
    st.sampled_from(PAIRS),
    st.floats(-1, 2),
    st.floats(0, 2),
    st.integers(0, 99),
    st.sampled_from(["tanh", "relu", "sin"]),
)
@examples(25, deadline=None)
def test_random_nets_and_properties(pair: tuple[str, str], a: float, b: float, seed: int, name: str) -> None:
    texts = [text.format(a=f"({a:.2f})" if a < 0 else f"{a:.2f}", b=f"{b:.2f}") for text in pair]
    network = random_network((2, 5, 4, 2), name, seed=seed)
    proof = integraph.prove(texts[0], network, BOX, seconds=0.3)
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(*BOX, (4000, 2)), rng.choice(BOX, (20, 2))])
    if proof.status == "proved":
        assert values(texts[1], x, network(x)).all()
        assert len(proof.remaining) == 0
    elif proof.status == "refuted":
        assert proof.point is not None
        assert not values(texts[1], proof.point[None], network(proof.point[None]))[0]
        assert (np.abs(proof.point) <= 1).all()
    else:
        good = values(texts[1], x, network(x))
        inside = (proof.remaining[:, None, 0] <= x) & (x <= proof.remaining[:, None, 1])
        assert (good | inside.all(2).any(0)).all()  # wherever it fails, it is said to be open
    if proof.certificate is not None:
        assert integraph.check(proof, network).holds


@pytest.mark.parametrize("width", [1e-2, 1e-6])
def test_false_only_in_a_corner(width: float) -> None:
    corner = [([[1.0, 1.0]], [-2.0 + width], "relu"), ([[1 / width]], [0.0])]  # is 0 but for x0 + x1 > 2 − width
    network = integraph.network(corner)
    assert integraph.prove("y0 <= 0.5", network, BOX).status == "refuted"
    assert integraph.prove("y0 <= 0.999999", network, BOX).status == "refuted"
    inside = integraph.prove(f"y0 <= 1 or x0 > {1 - width / 4}", network, BOX, seconds=2)
    assert inside.status != "refuted"
    assert integraph.prove("y0 <= 1.001", network, BOX).status == "proved"


def test_a_hidden_peak_is_not_proved_away() -> None:
    peak = "exp(-((x - 0.1234567)^2 + (y - 0.7654321)^2)*1e8)"
    proof = integraph.prove("y0 <= 0.5", f"{peak}", [(0, 1), (0, 1)], seconds=5)
    assert proof.status == "refuted"
    assert integraph.prove("y0 <= 1.01", peak, [(0, 1), (0, 1)], seconds=5).status == "proved"


def test_equality_decides_strict_from_not_strict() -> None:
    line = integraph.network([([[1.0]], [0.0])])
    assert integraph.prove("y <= 1", line, (0, 1), seconds=0.2).status != "refuted"
    assert integraph.prove("y < 1", line, (0, 1)).status == "refuted"
    assert integraph.prove("y >= 0 and y - x <= 0", line, (0, 1), seconds=0.2).status != "refuted"
    assert integraph.prove("y <= 0.1", line, (0, 0.1)).status == "refuted"  # the float64 0.1 is above a tenth
    assert integraph.prove("y < 0.1 or y >= 0.1", line, (0, 1), seconds=0.2).status == "unknown"


def squashed(kind: str) -> Network:
    """Its outputs come closer to the ends of their image than float64 can tell."""
    net = controller()
    return integraph.network([*net.layers[:-1], (200 * net.layers[-1].A, net.layers[-1].b, kind)])


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("y0 >= 0 and y1 + 2*y0 >= 0", "relu"),
        ("y0 <= 1 and y1 in [0, 1]", "sigmoid"),
        ("y0 - y1 <= 2", "tanh"),
        ("y in [0, 1]", "min(max(3*x, 0), 1)"),
        ("y >= 0", "abs(x)"),
    ],
)
def test_what_holds_with_equality_by_the_last_operation(text: str, source: str) -> None:
    given = source if "x" in source else squashed(source)
    proof = integraph.prove(text, given, BOX)
    assert proof.status == "proved"
    assert integraph.check(proof, given).holds


def test_an_image_is_no_proof_that_there_is_a_value() -> None:
    assert integraph.prove("y >= 0", "sqrt(x - 0.5)", (0, 1), seconds=0.1).status == "unknown"
    assert integraph.prove("y > 0", "abs(x)", BOX).status == "refuted"


@pytest.mark.slow
def test_processes_prove_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a network and a formula of outputs; parts and leaves are jobs, and no process is left."""
    share_at_once(monkeypatch)
    monkeypatch.setattr(search, "batch_size", lambda *_: 2)
    monkeypatch.setattr(search, "QUARTER", 1)
    shared, kinds = pool.Pool._shared, set()

    def counted(self: Any, jobs: Any) -> Any:
        kinds.update(kind for kind, _ in jobs)
        return shared(self, jobs)

    monkeypatch.setattr(pool.Pool, "_shared", counted)
    net = random_network((3, 12, 12, 2), "tanh", seed=3)
    top = integraph.bound(net, BOX, gap=0.02).high[0]
    for text in (f"y0 <= {top + 0.1:.3f}", f"y0 <= {top + 0.3:.3f} or y0*y1 > 99"):
        one, two = (integraph.prove(text, net, BOX, workers=workers) for workers in (1, 2))
        assert one.status == "proved"
        assert one.certificate == two.certificate
        assert one.cells == two.cells > 8
        assert one.certificate is not None
        whole = tuple(replace(part, tree=(None,)) for part in one.certificate.cases)
        for certificate in (one.certificate, replace(one.certificate, cases=whole).sealed()):
            checks = [replace(integraph.check(certificate, net, workers=w), seconds=0.0) for w in (1, 2)]
            assert checks[0] == checks[1]
            assert checks[0].holds == (certificate is one.certificate)
    assert kinds >= set(search.Kind)
    assert not multiprocessing.active_children()


def test_differences_share_what_they_have_in_common() -> None:
    """Two outputs that are nearly equal: their difference is known far better than either."""
    net = controller()
    last = net.layers[-1]
    twice = integraph.network([*net.layers[:-1], (np.stack([last.A[0], last.A[0] + 1e-3]), np.zeros(2))])
    cell = np.full((1, 2), -0.5), np.full((1, 2), 0.5)
    apart = bounded(twice, *cell, 2, 1)
    together = margins(twice, parse("y1 - y0 <= 1", Names(2, 2))).cells(*cell, 2)
    assert (together.most - together.least)[0, 0] < 0.05 * (apart.most - apart.least)[0].sum()


def test_seconds_memory_and_what_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    proof = integraph.prove(open_property(), controller(), BOX, seconds=0.3)
    assert time.monotonic() - begun < 3
    assert (proof.status, proof.ending, proof.certificate) == ("unknown", Ending.SECONDS, None)
    assert f"unknown: the time is over after {proof.cells:,} boxes, {len(proof.remaining):,} remain" in repr(proof)
    assert 0.5 < proof.proved < 1
    volume = (proof.remaining[:, 1] - proof.remaining[:, 0]).prod(1).sum() / 4
    assert math.isclose(volume, 1 - proof.proved, rel_tol=1e-6)
    assert "remaining" in repr(proof)
    assert "<table" in proof._repr_html_()
    with pytest.raises(UsageError, match="no certificate"):
        integraph.check(proof, controller())
    monkeypatch.setattr(search, "MOST", 100)
    assert integraph.prove(open_property(), controller(), BOX).ending is Ending.MEMORY


def test_a_checker_that_does_not_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any) -> bool:
        raise DeadlineError

    monkeypatch.setattr(leaf, "holds", late)
    proof = integraph.prove("y0 < 1000", controller(), BOX, workers=1)
    assert (proof.status, proof.ending, proof.proved) == ("unknown", Ending.CHECK, 0.0)
    assert "the checker had not confirmed it when the time was over after 1 box, 1 remain" in repr(proof)


def test_an_interrupt_keeps_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    step, steps = search.Search._step, []

    def interrupted(self: Any, show: Any) -> Any:
        steps.append(1)
        if len(steps) > 8:
            raise KeyboardInterrupt
        return step(self, show)

    monkeypatch.setattr(search.Search, "_step", interrupted)
    proof = integraph.prove(open_property(), controller(), BOX)
    assert (proof.status, proof.ending) == ("unknown", Ending.INTERRUPTED)
    assert len(proof.remaining) > 1


@pytest.mark.parametrize("box", [(1, 0), (0, math.nan), (-math.inf, 1), [(0, 1)] * 3])
def test_boxes_that_are_none(box: Any) -> None:
    with pytest.raises(UsageError, match="box"):
        integraph.prove("y0 <= 2", controller(), box)


def test_a_point_is_a_box() -> None:
    assert integraph.prove("y0 <= 2", controller(), (0.5, 0.5)).status == "proved"
    assert integraph.prove("y0 >= 2", controller(), (0.5, 0.5)).status == "refuted"


def test_no_value_is_not_a_proof() -> None:
    for formula in ("1/(x - 0.3)", "ln(x - 0.3)", "sqrt(x - 0.5)"):
        assert integraph.prove("y > -1e300 or y < 1e300", formula, (0, 1), seconds=0.1).status == "unknown"


def test_what_says_nothing_is_refused() -> None:
    net = controller()
    with pytest.raises(UsageError, match="nothing of the outputs"):
        integraph.prove("x0 <= 2", net)
    with pytest.raises(UsageError, match="longer than float64 holds"):
        integraph.prove("y < 2", "tanh(x)", (-1.7e308, 1.7e308), progress=False)
    with pytest.raises(SourceError, match="at column 1"):
        integraph.prove("y2 <= 2", net)
    for seconds in (0, -1, math.nan, math.inf, True):
        with pytest.raises(UsageError, match="seconds"):
            integraph.prove("y0 <= 2", net, seconds=seconds)
    with pytest.raises(UsageError, match="workers"):
        integraph.prove("y0 <= 2", net, workers=0)
    with pytest.raises(UsageError, match="scheduler"):
        integraph.prove("y0 <= 2", net, workers=2, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="is for programs"):
        integraph.prove("y0 <= 2", net, compiled_from=net)
    with pytest.raises(UsageError, match="only be called"):
        integraph.prove("y0 <= 2", lambda x: x * 2, (0, 1))


def test_bounds_of_many_inputs_are_sparse() -> None:
    """As many quantities as inputs: their matrix has one number each, and ranges are those of exact fractions."""
    count, parts = 200, 40
    network = integraph.network([(np.ones((1, count)) / count, np.zeros(1))])
    bounds = " or ".join(f"x{n} < 0.{n % 9 + 1}" for n in range(count)) + " or x0 - 3*x1 > 0.1 or y0 <= 2"
    made = margins(network, parse(bounds, Names(count, 1)))
    assert made.inputs.nnz == count + 2
    rng = np.random.default_rng(0)
    low, wide = rng.normal(size=(parts, count)), rng.uniform(size=(parts, count))
    high = low + wide
    cells = made.cells(low, high, 1)
    points = low + wide * rng.uniform(size=low.shape)
    values = made.values(points)
    assert (cells.least <= values).all()
    assert (values <= cells.most).all()
    for least, first, second in zip(cells.least[:, count], low[:, 0], high[:, 1], strict=True):
        assert least <= Fraction(first) - 3 * Fraction(second) <= least + 1e-13
    assert np.array_equal(cells.least[:, 5], low[:, 5])
    assert cells.peaks.shape == (parts, 1, count)


def test_inputs_have_one_name_everywhere() -> None:
    """They count from 0 in properties, in what is said of them and in VNN-LIB; registers count from 1."""
    net = random_network((2, 3, 1), "tanh")
    wrong = integraph.prove("y0 <= x1 - 9", net, BOX)
    assert "x0, x1 in [-1, 1]^2" in repr(wrong)
    assert wrong.point is not None
    assert f"x0 = {wrong.point[0]:.6g}, x1 = {wrong.point[1]:.6g}" in repr(wrong)
    with pytest.raises(SourceError, match="inputs x0, x1; the first input is x0"):
        integraph.prove("y0 <= x2", net, BOX)
    assert integraph.compile(net).describe().startswith("x1, x2 ")
    assert " inputs, in properties x0, x1\n" in integraph.compile(net).describe()
    named = "x*y"
    assert "x, y in [-1, 1]^2" in repr(integraph.prove("y0 <= 2", named, BOX))
    assert "x, y in [-1, 1]^2" in str(integraph.bound(named, BOX))
    assert "in properties" not in integraph.compile(named).describe()
