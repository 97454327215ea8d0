"""Sparsity, rates, partition, trade-off and layers against what they are pictures of, computed another way."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import integraph
from integraph import Partition, Program, Registers, build, segment
from integraph.constructions.theorem1.planner import plan
from integraph.gadgets import decay, log_cosh, ramp
from integraph.plot import subject
from integraph.plot.labels import shortened_label
from integraph.plot.layers import layers
from integraph.plot.partition import figure, partition, read_back
from integraph.plot.picture import Bars, Curve, Heat, Panel, Picture
from integraph.plot.rates import rates
from integraph.plot.sparsity import shown_segments, sparsity
from integraph.plot.trade_off import trade_off
from pictures import SKEW, WAVE, curves, drawn

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def lean() -> Program:
    return integraph.compile(SKEW, 1e-3, method="lean")


def network() -> integraph.Network:
    rng = np.random.default_rng(3)
    return integraph.network([(rng.normal(size=(5, 2)), rng.normal(size=5), "tanh"), (rng.normal(size=(1, 5)), None)])


def terms_of(program: Program, number: int) -> list[tuple[int, int, int, float]]:
    found = program.controls()
    columns = (part[found.segment == number].tolist() for part in (found.i, found.j, found.k, found.value))
    return list(zip(*columns, strict=True))


def dots(panel: Panel) -> list[tuple[float, float, str]]:
    """(column, row, sign) of all dots; a row is rounded to its register."""
    found = [mark for mark in panel.marks if isinstance(mark, Curve) and mark.name in ("positive", "negative")]
    return sorted((x, round(y), mark.name) for mark in found for x, y in zip(mark.x, mark.y, strict=True))


@pytest.mark.slow
def test_dots_are_the_terms_of_eq_1(lean: Program) -> None:
    found = drawn(sparsity(subject(lean)))
    assert len(found.frames) == lean.depth
    for number, frame in enumerate(found.frames):
        terms = terms_of(lean, number)
        sign = {True: "positive", False: "negative"}
        linear, products = frame.panels
        assert dots(linear) == sorted((k, i, sign[value > 0]) for i, j, k, value in terms if j == -1)
        wanted = [(at, i, sign[value > 0]) for i, j, k, value in terms if j != -1 for at in (j, k)]
        assert dots(products) == sorted(wanted)
        joined = next(mark for mark in products.marks if mark.name == "product")
        pairs = sorted(map(tuple, joined.x.reshape(-1, 3)[:, :2].tolist()))
        assert pairs == sorted((j, k) for _, j, k, _ in terms if j != -1)


@pytest.mark.slow
def test_many_terms_are_counted(monkeypatch: pytest.MonkeyPatch, lean: Program) -> None:
    module = importlib.import_module("integraph.plot.sparsity")
    monkeypatch.setattr(module, "DOTS", 0)
    monkeypatch.setattr(module, "BINS", 7)
    found = drawn(sparsity(subject(lean)))
    for number, frame in enumerate(found.frames):
        terms = terms_of(lean, number)
        wanted = np.zeros((2, 7, 7))
        for i, j, k, _ in terms:
            row, column = (i * 7 // lean.width), (k * 7 // lean.width)
            if j == -1 and k != -1:
                wanted[0, row, column] += 1
            elif j != -1:
                for factor in {j, k}:
                    wanted[1, row, factor * 7 // lean.width] += 1
        for panel, counts in zip(frame.panels, wanted, strict=True):
            (mark,) = panel.marks
            assert isinstance(mark, Heat)
            assert np.allclose(np.nan_to_num(10**mark.z, nan=0.0), counts)


def test_of_many_segments_all_kinds_are_shown() -> None:
    r = Registers()
    x = r.inputs("x", 1)
    labels = [f"sum {n}" for n in range(60)]
    labels[31] = "rare"
    program = build(r, [segment(label, ramp(x, b=1.0)) for label in labels], x)
    chosen = shown_segments(program)
    assert len(chosen) == len(set(chosen)) == 24
    assert {0, 31, 59} <= set(chosen)
    assert "24 of 60 segments" in drawn(sparsity(subject(program))).says


def test_rates_are_those_of_the_controls(lean: Program) -> None:
    (panel,) = drawn(rates(subject(lean))).frames[0].panels
    largest, own = [], []
    for number in range(lean.depth):
        terms = terms_of(lean, number)
        largest.append(max(abs(value) for *_, value in terms))
        own.append(max([abs(value) for i, j, k, value in terms if j == -1 and k == i], default=np.nan))
    found = curves(panel)
    assert np.array_equal(found["largest control"].y, np.repeat(largest, 2))
    assert np.array_equal(found["fastest decay"].y, np.repeat(own, 2), equal_nan=True)
    corners = [[0.5, 0.5], [0, 0], [0, 1], [1, 0], [1, 1]]
    assert np.isclose(np.nanmax(found["stiffness"].y), lean.stiffness(corners, points=5), rtol=1e-12)
    assert [span.label for span in panel.spans] == [s.label for s in lean.segments]


def test_stiffness_of_decay_is_its_rate_in_its_segment() -> None:
    r = Registers()
    x = r.inputs("x", 2)
    program = build(r, [segment("slow", decay(x, r=3.0)), segment("fast", decay(x, r=70.0))], x)
    found = curves(drawn(rates(subject(program))).frames[0].panels[0])
    for name in ("stiffness", "fastest decay", "largest control"):
        assert np.allclose(found[name].y, [3.0, 3.0, 70.0, 70.0], rtol=1e-12), name


@pytest.mark.parametrize("method", ["lean", "remark", "paper"])
def test_the_partition_is_read_back_from_the_program(method: str) -> None:
    program = integraph.compile("sin(4*x)*y/2+x", 1e-1, method=method, order=2, box=[(0, 2), (-1, 1)])
    said = re.search(r"N = (\d+), c = ([\d.]+)", program.source)
    assert said is not None
    assert read_back(program) == Partition(int(said[1]), float(said[2]))
    assert f"N = {said[1]}" in drawn(partition(subject(program))).title


def test_ln_cosh_alone_is_no_partition() -> None:
    r = Registers()
    x, m, l = r.inputs("x", 1), r.new("m", 2), r.new("l", 2)

    def found(*shifts: float) -> Partition | str:
        blocks = log_cosh(m, l, x.broadcast((2,)), a=8.0, b=np.array(shifts))
        return read_back(build(r, [segment("ln cosh", blocks)], l))

    assert found(-2.0, -6.0) == Partition(2, 8.0)
    assert "Theorem 1" in found(-2.0, -5.0)
    assert "Theorem 1" in partition(subject(integraph.compile("ln(cosh(3*x-1))")))


def test_figure_1_is_lemma_4() -> None:
    linear, logarithmic, supports = figure(Partition(3, 20.0)).frames[0].panels
    gamma = [mpmath.mpf(2 * k - 1) / 6 for k in range(1, 4)]

    def psi(k: int, x: float) -> mpmath.mpf:
        steps = [mpmath.mpf(1), *(mpmath.tanh(20 * (mpmath.mpf(x) - g)) for g in gamma), mpmath.mpf(-1)]
        return (steps[k] - steps[k + 1]) / 2

    for k, name in enumerate(("ψ₀", "ψ₁", "ψ₂", "ψ₃")):
        curve = curves(linear)[name]
        some = slice(None, None, 16)
        with mpmath.workprec(120):
            wanted = np.array([float(psi(k, x)) for x in curve.x[some].tolist()])
        assert np.allclose(curve.y[some], wanted, rtol=1e-11, atol=0)
        assert curve.y.min() > 1e-10
    assert np.allclose(curves(linear)["their sum"].y, 1.0, rtol=0, atol=1e-15)
    (level,) = logarithmic.levels
    with mpmath.workprec(120):
        assert np.isclose(level.y, float((1 - mpmath.tanh(mpmath.mpf(20) / 6)) / 2), rtol=1e-14)
    assert [mark.x.tolist() for mark in supports.marks] == [[0, 1 / 3], [0, 2 / 3], [1 / 3, 1], [2 / 3, 1]]


def test_a_large_partition_is_shown_in_part() -> None:
    found = figure(Partition(300, 4000.0))
    assert "24 of 301 functions" in found.says
    assert max(mark.x.max() for mark in found.frames[0].panels[0].marks) <= 23 / 300


@pytest.mark.slow
def test_plans_of_theorem_1_and_where_this_program_is() -> None:
    program = integraph.compile(WAVE, 1e-4, method="lean")
    order = int(re.search(r"order (\d+)", program.source)[1])
    width, depth, _ = drawn(trade_off(subject(program))).frames[0].panels
    for panel, size in ((width, "width"), (depth, "depth")):
        ours = curves(panel)[f"lean, order {order}"]
        for eps in (1e-2, 1e-8):
            again = integraph.plan(WAVE, eps, order=order).chosen
            assert ours.y[ours.x == eps] == getattr(again, size)
        here = curves(panel)["this program"]
        assert (here.x[0], here.y[0]) == (program.budget.total, getattr(program, size))
    assert curves(width)["the paper's choice"].y[0] == integraph.plan(WAVE, 1e-1, method="paper").chosen.width


@pytest.mark.slow
def test_plans_of_two_inputs(lean: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the smallest ε, and the paper's with the same order: bounds of higher derivatives would take long."""
    module = importlib.import_module("integraph.plot.trade_off")
    tried = []
    monkeypatch.setattr(module, "plan", lambda task: tried.append(task) or plan(task))
    order = int(re.search(r"order (\d+)", lean.source)[1])
    width, depth, both = drawn(trade_off(subject(lean))).frames[0].panels
    assert min(task.eps for task in tried if task.method == "lean") == 1e-6
    assert {task.order for task in tried} == {order}
    assert len({id(task.known) for task in tried}) == 1
    theirs = integraph.plan(SKEW, 1e-1, method="paper", order=order).chosen
    assert curves(width)[f"the paper's, order {order}"].y[0] == theirs.width
    assert curves(depth)[f"the paper's, order {order}"].y[0] == theirs.depth
    assert both.title == "width against depth, ε = 0.001"
    others = curves(both)[next(name for name in curves(both) if name.endswith(": plans"))]
    assert len(others.x) > 1
    assert (lean.width, lean.depth) in list(zip(others.x, others.y, strict=True))


def test_one_cell_needs_no_partition() -> None:
    program = integraph.compile("exp(x)*y", 1e-1, method="lean")
    assert "N = 0" in program.source
    assert partition(subject(program)) == "Theorem 1 with one cell (N = 0) needs no partition of unity"
    assert "as those of Theorem 1 are" in partition(subject(integraph.compile("x^2")))


def test_curves_of_nothing_have_no_name() -> None:
    """No register of x² decays."""
    panel = drawn(rates(subject(integraph.compile("x^2")))).frames[0].panels[0]
    assert "fastest decay" not in curves(panel)
    assert all(np.isfinite(curve.y).any() for curve in curves(panel).values())
    r = Registers()
    x = r.inputs("x", 1)
    assert rates(subject(build(r, [segment("wait")], x))) == "all of its rates are zero: nothing moves"


def test_names_at_a_matrix_are_apart(lean: Program) -> None:
    found = drawn(sparsity(subject(lean)))
    assert lean.width > 32
    for panel in found.frames[0].panels:
        across = np.array([at for at, _ in panel.x_ticks])
        assert across[0] == -1
        assert np.diff(across).min() >= (lean.width - 1) / 24
        assert panel.y_ticks[-1] == (lean.width - 1, shortened_label(lean.registers.name(lean.width - 1), 16))
        assert panel.y_ticks[0][0] == 0
    r = Registers()
    x = r.inputs("x", 1)
    one = drawn(sparsity(subject(build(r, [segment("fall", decay(x, r=1.0))], x))))
    assert one.frames[0].label == "0 fall, 1 term"


def sizes(picture: Picture) -> dict[str, tuple[float, float]]:
    width, depth = (panel.marks[0] for panel in picture.frames[0].panels[:2])
    assert isinstance(width, Bars)
    assert isinstance(depth, Bars)
    return dict(zip(width.names, zip(width.values, depth.values, strict=True), strict=True))


def test_sizes_of_networks_are_those_of_programs() -> None:
    net = network()
    narrow = integraph.compile(net, 1e-7)
    found = drawn(trade_off(subject(narrow, net)))
    wide = integraph.compile(net, 1e-7, method="wide", free="clean")
    shown = sizes(found)
    assert shown["narrow"] == shown["this program"] == (narrow.width, narrow.depth)
    assert shown["wide, clean"] == (wide.width, wide.depth)
    rate = curves(found.frames[0].panels[2])
    assert rate["this program"].y == narrow.rate
    tight, paper = rate["narrow, our bound"], rate["narrow, the paper's bound"]
    assert tight.y[tight.x == 1e-6] == integraph.compile(net, 1e-6).rate
    assert paper.y[paper.x == 1e-6] == integraph.compile(net, 1e-6, bound="paper").rate


def test_sizes_of_exact_programs_are_their_layouts() -> None:
    text = "exp(sin(exp(sin(exp(sin(x*y))))))"
    program = integraph.compile(text, free="clean")
    shown = sizes(drawn(trade_off(subject(program))))
    for free in ("keep", "clean"):
        again = integraph.compile(text, free=free)
        assert shown[free] == (again.width, again.depth)
    assert shown["this program"] == shown["clean"] != shown["keep"]


def test_an_origin_that_cannot_be_has_no_trade_off() -> None:
    program = integraph.compile("exp(x)", 1e-2, method="lean")
    assert program.origin is not None
    odd = program.annotate(origin=replace(program.origin, options={"order": 10**4000}))
    assert "no plans of the origin that the program names: order = 1000" in trade_off(subject(odd))


def test_unknown_sources_have_no_trade_off() -> None:
    r = Registers()
    x = r.inputs("x", 1)
    program = build(r, [segment("up", ramp(x, b=1.0))], x)
    assert "not known" in trade_off(subject(program))
    assert "no network" in layers(subject(program))


def test_layers_are_compared_with_numpy() -> None:
    net = network()
    program = integraph.compile(net, 1e-5)
    shown = subject(program, net)
    (panel,) = drawn(layers(shown)).frames[0].panels
    (bars,) = panel.marks
    assert bars.names == ("layer 1", "output")
    x = shown.seen.points[:256]
    hidden = np.tanh(x @ net.layers[0].A.T + net.layers[0].b)
    (probe,) = (p for p in program.probes if p.label == "layer 1")
    end = float(np.cumsum([s.duration for s in program.segments])[probe.segment])
    state = program.flow(x, times=[end]).path[:, 0]
    seen = probe.scale * state[:, probe.ref.indices().ravel()] + probe.shift
    assert np.isclose(bars.values[0], np.abs(seen - hidden).max(), rtol=1e-3)
    true = hidden @ net.layers[1].A.T + net.layers[1].b
    assert np.isclose(bars.values[1], np.abs(program(x) - true).max(), rtol=1e-3)
    assert panel.levels[0].y == program.budget.total
