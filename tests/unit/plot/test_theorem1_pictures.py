"""Pictures of Theorem 1: axes that show small values beside large ones, the frontier, Lemma 4 without a program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import QuadMesh

import integraph
from integraph.errors import UsageError
from integraph.plot import axes, colours, matplotlib_renderer, plot
from integraph.plot.frontier import frontier
from integraph.plot.picture import Curve, Heat, Panel, alone
from integraph.plot.sparsity import sparsity
from integraph.plot.subject import subject
from integraph.plot.trade_off import trade_off
from integraph.plot.trajectory import trajectory
from integraph.report.panel_data import panel_data


@pytest.mark.slow
def test_psi_is_seen_beside_its_reciprocal() -> None:
    """λ of Lemma 4 goes through ψ ≥ e^{−2c} and (ψ − 1)/ψ: as printed, a linear axis shows a needle and zeros."""
    program = integraph.compile("sin(3*x)", 1e-1, method="paper", order=2)
    picture = trajectory(subject(program))
    assert not isinstance(picture, str)
    top, *rest = picture.frames[picture.first].panels
    assert top.log_y
    assert top.y.startswith("|value|, at most")
    values = np.concatenate([mark.y for mark in top.marks if isinstance(mark, Curve)])
    known = values[np.isfinite(values)]
    assert known.min() > 0
    assert known.max() > 1e20 * np.median(known)
    assert not rest[-1].log_y
    assert "shows |value|" in picture.says


def test_values_of_one_size_stay_on_a_linear_axis() -> None:
    picture = trajectory(subject(integraph.compile("sin(3*x)*exp(-y)")))
    assert not isinstance(picture, str)
    assert not any(panel.log_y for panel in picture.frames[0].panels)
    assert "|value|" not in picture.says


@pytest.mark.slow
def test_no_plan_is_below_the_frontier() -> None:
    """By brute force over all pairs of plans."""
    program = integraph.compile("sin(3*x)*exp(-y)", 1e-2, method="lean")
    picture = trade_off(subject(program))
    assert not isinstance(picture, str)
    panel = picture.frames[0].panels[-1]
    assert panel.title.startswith("width against depth")
    curves = {mark.name: mark for mark in panel.marks if isinstance(mark, Curve)}
    line, plans = curves["lean: frontier"], curves["lean: plans"]
    every = set(zip(plans.x.tolist(), plans.y.tolist(), strict=True))
    best = {a for a in every if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in every)}
    assert len(best) >= 2
    assert best <= set(zip(line.x.tolist(), line.y.tolist(), strict=True))
    assert {a for a in every if a in set(zip(line.x.tolist(), line.y.tolist(), strict=True))} == best
    assert "the paper's: frontier" in curves
    assert all(text.startswith("order ") for text in plans.text)


def test_one_plan_is_no_frontier() -> None:
    from integraph.constructions.theorem1.task import task

    function = integraph.function("x^2")
    one = task(function, integraph.compile("x^2").box, 1e-1, method="lean", order=3)
    assert frontier([("lean", one, 0)], Curve(np.ones(1), np.ones(1), "here")) is None


def test_plus_has_one_colour_in_all_renderers() -> None:
    z = np.array([[-1.0, 1.0], [0.5, -0.5]])
    heat = Panel("", "x", "y", (Heat(np.arange(2.0), np.arange(2.0), z, "value", True),))
    light = colours.scales()[panel_data(heat)["marks"][0]["scale"]][0]
    drawn = matplotlib_renderer.draw(alone("signs", "Signs", "", heat))
    mesh = next(part for part in drawn.axes[0].collections if isinstance(part, QuadMesh))
    for share in (0.0, 1.0):
        wanted = light[-1] if share else light[0]
        assert "#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in mesh.get_cmap()(share)[:3])) == wanted
    plus, minus = light[-1], light[0]
    picture = sparsity(subject(integraph.compile("x - y^2")))
    assert not isinstance(picture, str)
    dots = {mark.name: mark.colour for mark in picture.frames[0].panels[0].marks if isinstance(mark, Curve)}
    assert axes.colour(dots["positive"]) == colours.PALETTE[0][0]
    hue = {name: [int(text[n : n + 2], 16) for n in (1, 3, 5)] for name, text in (("plus", plus), ("minus", minus))}
    for name, sign in (("positive", "plus"), ("negative", "minus")):
        red, _, blue = (int(axes.colour(dots[name])[n : n + 2], 16) for n in (1, 3, 5))
        assert (blue > red) == (hue[sign][2] > hue[sign][0])


def test_numbers_stand_beside_the_axis_and_not_above_it() -> None:
    """A power of ten above the axis was written over the name of the first segment."""
    for low, high in ((-3e21, 4e21), (0.0, 1.0), (1.0 - 1e-9, 1.0), (0.0, 3e-7)):
        curve = Curve(np.array([0.0, 1.0]), np.array([low, high]), "y")
        drawn = matplotlib_renderer.draw(alone("one", "One", "", Panel("", "x", "y", (curve,))))
        drawn.canvas.draw()
        axis = drawn.axes[0].yaxis
        assert axis.get_offset_text().get_text() == ""
        labels = [text.get_text() for text in axis.get_ticklabels()]
        assert len(set(labels)) == len(labels)
        assert all(float(text) == pytest.approx(at, abs=1e-2 * (high - low)) for text, at in
                   zip(labels, axis.get_ticklocs(), strict=True))  # fmt: skip


@pytest.mark.slow
def test_a_partition_without_a_program(tmp_path: Path) -> None:
    path = tmp_path / "partition.svg"
    drawn = plot("partition", path=path, N=5, c=30)
    lines = [line for line in drawn.axes[0].get_lines() if line.get_zorder() == 3]
    assert len(lines) == 7  # ψ_0 … ψ_5 and their sum
    for k, line in enumerate(lines[:6]):
        x, y = line.get_data()
        assert np.allclose(y, integraph.Partition(5, 30)(np.asarray(x))[k])
    assert "N = 5, c = 30" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "named", "wanted"),
    [
        (("trajectory",), {}, "a program is needed, got 'trajectory'"),
        (("partition",), {"N": 3}, "needs N and c"),
        (("partition",), {"N": 3, "c": -1.0}, "finite c > 0"),
    ],
)
def test_refusals(arguments: tuple[object, ...], named: dict[str, object], wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted):
        plot(*arguments, **named)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="leave them out"):
        plot(integraph.compile("x^2"), "partition", N=3, c=20)
