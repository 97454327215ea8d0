"""The pictures of error and trajectory against numpy, and `plot` with good and bad arguments."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph import Program, Registers, build, segment
from integraph.errors import UsageError
from integraph.gadgets import affine, exp, ln, ramp
from integraph.plot import PICTURES, gallery, matplotlib_renderer, pictures, plot, subject
from integraph.plot.error import error
from integraph.plot.picture import Curve, Heat, Panel, Picture
from integraph.plot.places import influential
from integraph.plot.trajectory import trajectory
from pictures import SKEW, WAVE, curves, drawn
from transformers import to_graph, transformer

RNG = np.random.default_rng(5)


def heat(panel: Panel) -> Heat:
    (mark,) = panel.marks
    assert isinstance(mark, Heat)
    return mark


def growing() -> Program:
    """z(t) = e^{xt} in the second segment, after z = 1 was loaded."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    return build(r, [segment("load", ramp(z, b=1.0)), segment("grow", exp(z, x))], z)


@pytest.mark.slow
def test_error_of_one_input_is_that_of_numpy() -> None:
    program = integraph.compile(WAVE, 1e-6, method="lean")
    found = drawn(error(subject(program)))
    values, off = found.frames[0].panels
    x = curves(values)["source"].x
    wanted = np.exp(-x) * np.sin(9 * x)
    assert np.allclose(curves(values)["source"].y, wanted, rtol=0, atol=1e-15)
    assert np.allclose(curves(values)["program"].y, program(x)[:, 0], rtol=0, atol=1e-15)
    difference = curves(off)["difference"].y
    assert np.allclose(difference, np.abs(program(x)[:, 0] - wanted), rtol=1e-6, atol=1e-15)
    assert off.log_y
    assert difference.min() > 0
    levels = {level.label.split()[0]: level.y for level in off.levels}
    assert levels["promised"] == program.budget.total
    assert 1e-17 < levels["rounding"] < 1e-15


def test_map_of_two_inputs_has_its_axes_right() -> None:
    program = integraph.compile(SKEW, box=[(0, 1), (0, 2)])
    values, off = drawn(error(subject(program))).frames[0].panels
    mark = heat(values)
    x, y = np.meshgrid(mark.x, mark.y)
    assert (mark.x[-1], mark.y[-1], values.x, values.y) == (1.0, 2.0, "x", "y")
    assert np.allclose(mark.z, np.sin(3 * x) * np.exp(-y) / (1 + x * y), rtol=0, atol=1e-14)
    assert "rounding level" in off.title
    assert np.nanmax(heat(off).z) < 16


@pytest.mark.slow
def test_slices_fix_the_other_inputs() -> None:
    program = integraph.compile("sin(a+2*b)*exp(-c*d)+a*d^2", 1e-2, method="lean")
    shown = subject(program)
    found = drawn(error(shown))
    assert len(found.frames) == 12
    assert found.slider == "slice"
    frame = next(f for f in found.frames if f.label.startswith("b and d, the rest at the centre"))
    mark = heat(frame.panels[0])
    b, d = np.meshgrid(mark.x, mark.y)
    assert np.abs(mark.z - (np.sin(0.5 + 2 * b) * np.exp(-0.5 * d) + 0.5 * d**2)).max() <= program.budget.total + 1e-12
    worst = shown.sample.worst
    frame = next(f for f in found.frames if f.label.startswith("a and c, the rest where"))
    mark = heat(frame.panels[1])
    a, c = np.meshgrid(mark.x, mark.y)
    points = np.stack([a, np.full_like(a, worst[1]), c, np.full_like(a, worst[3])], -1).reshape(-1, 4)
    true = np.sin(points[:, 0] + 2 * points[:, 1]) * np.exp(-points[:, 2] * points[:, 3])
    true += points[:, 0] * points[:, 3] ** 2
    assert np.allclose(10 ** mark.z.ravel(), np.abs(true - program(points)[:, 0]), rtol=1e-6, atol=1e-14)


def test_what_does_not_exist_is_a_gap_and_said() -> None:
    program = integraph.compile("ln(x)", box=(0.1, 1))
    found = drawn(error(subject(program, box=(-1, 1))))
    values, off = found.frames[0].panels
    x = curves(values)["source"].x
    for curve in (curves(values)["source"], curves(values)["program"], curves(off)["difference"]):
        assert np.array_equal(np.isnan(curve.y), x <= 0), curve.name
    assert f"{np.count_nonzero(x <= 0)} of {len(x)} values do not exist" in found.says
    assert "promised" not in [level.label.split()[0] for level in off.levels]  # not for this box


def test_outputs_have_frames_and_the_worst_is_first() -> None:
    program = integraph.compile(["x", "exp(-x)*sin(9*x)", "x^2"], 1e-4, method="lean")
    shown = subject(program)
    found = drawn(error(shown))
    assert [frame.label for frame in found.frames] == ["output 1", "output 2", "output 3"]
    assert found.first == shown.seen.output
    x = curves(found.frames[2].panels[0])["source"].x
    assert np.array_equal(curves(found.frames[2].panels[0])["source"].y, x**2)


def test_without_a_source_there_is_only_the_program() -> None:
    found = drawn(error(subject(growing())))
    (panel,) = found.frames[0].panels
    (curve,) = panel.marks
    assert isinstance(curve, Curve)
    assert np.allclose(curve.y, np.exp(curve.x), rtol=1e-14)
    with pytest.raises(UsageError, match="give what was compiled"):
        plot(growing(), "error")


def test_a_source_can_be_a_python_function_or_a_network() -> None:
    shown = subject(growing(), lambda x: np.exp(x))
    assert shown.seen.largest < 1e-14
    net = integraph.network([(np.eye(2), None, "tanh"), (np.ones((1, 2)), None)])
    seen = subject(integraph.compile(net, 1e-6), net).seen
    assert 0 < seen.largest <= 1e-6
    true = np.tanh(seen.points).sum(1)
    assert np.allclose(true, net(seen.points)[:, 0])
    with pytest.raises(UsageError, match="1 → 1, the source 2 → 1"):
        subject(growing(), net)


def test_trajectory_follows_the_closed_form() -> None:
    found = drawn(trajectory(subject(growing(), box=(-2, 1)), x=[-1.5]))
    (frame,) = found.frames
    marks = {name: mark for panel in frame.panels for name, mark in curves(panel).items()}
    t = marks["z"].x
    assert np.allclose(marks["z"].y, np.where(t <= 1, t, np.exp(-1.5 * (t - 1))), rtol=1e-13)
    assert np.array_equal(marks["x"].y, np.full_like(t, -1.5))
    assert [(span.start, span.end, span.label) for span in frame.panels[0].spans] == [(0, 1, "load"), (1, 2, "grow")]


def test_the_largest_difference_is_that_of_all_that_is_drawn() -> None:
    """A needle between random points, on the grid of the picture: 401 points of a line."""
    program = integraph.compile("x^2")
    shown = subject(program, lambda x: x**2 + np.where(np.abs(x - 0.4025) < 1e-9, 7.0, 0.0))
    assert shown.seen is not None
    assert (shown.seen.largest, shown.seen.worst[0]) == (pytest.approx(7.0), pytest.approx(0.4025))
    assert "is 7, at x = 0.4025" in drawn(error(shown)).says
    for text in ("x*y", "x*y+z+t*u"):
        other = subject(integraph.compile(text), f"{text} + x^40*y^3/9")
        tops = [panel.title for frame in drawn(error(other)).frames for panel in frame.panels if "up to" in panel.title]
        assert max(float(title.split()[-1]) for title in tops) <= float(f"{other.seen.largest:.2g}")


@pytest.mark.parametrize("text", ["x^2*y", "3*x"])
def test_what_is_not_rounding_is_not_called_so(text: str) -> None:
    """A wrong source, and a program with another weight."""
    program = integraph.compile(text)
    excuse = "exact: the difference found is the rounding of float64"
    assert excuse in drawn(error(subject(program))).says
    weights = replace(program, readout=program.readout * 1.001)
    for one, source in ((program, f"{text} + 1e-6*x"), (weights, text)):
        says = drawn(error(subject(one, source))).says
        assert excuse not in says
        assert "exact, but the difference found exceeds the rounding of float64" in says
    net = integraph.network([(np.eye(2), None, "tanh"), (np.ones((1, 2)), None)])
    off = integraph.network([(np.eye(2), None, "tanh"), (1.01 * np.ones((1, 2)), None)])
    assert "The promise is not kept" in drawn(gallery(subject(integraph.compile(net), off))["layers"]).says


@pytest.mark.slow
def test_the_end_of_numbers() -> None:
    """Sides longer than float64 holds are refused, large values are drawn; warnings would be errors."""
    for text in ("x^2", "x*y", "x+y+z", "tanh(x)"):
        program = integraph.compile(text)
        for picture in pictures(subject(program, box=(-1e150, 1e150))):
            matplotlib_renderer.draw(picture)._repr_png_()
        with pytest.raises(UsageError, match=r"side 0 of the box is \[-1e\+308, 1e\+308\]: pictures end at 1e\+150"):
            program.plot("error", box=(-1e308, 1e308))


def test_a_trajectory_begins_where_the_output_moves() -> None:
    """sin(3x)·y is 0 or nearly so at all corners: there most registers may move, but not the output."""
    program = integraph.compile("sin(3*x)*y", 1e-3, method="lean")
    found = drawn(trajectory(subject(program)))
    label = found.frames[found.first].label
    x, y = (float(part.split(" = ")[1]) for part in label.split(", ")[:2])
    assert abs(math.sin(3 * x) * y) > 1e-2


def test_the_input_of_a_trajectory_is_named(tmp_path: Path) -> None:
    program = integraph.compile(SKEW)
    found = drawn(trajectory(subject(program), x=[0.25, 0.75]))
    assert found.title == "Registers through the segments: x = 0.25, y = 0.75"
    program.plot(x=[0.25, 0.75], path=tmp_path / "way.svg")
    assert "x = 0.25, y = 0.75" in (tmp_path / "way.svg").read_text()


@pytest.mark.slow
def test_trajectory_has_a_frame_for_centre_and_corners() -> None:
    program = integraph.compile(SKEW, 1e-3, method="lean")
    found = drawn(trajectory(subject(program)))
    assert found.slider == "input"
    assert len(found.frames) == 6
    assert "x = 0, y = 1, a corner" in [frame.label for frame in found.frames]
    assert "largest difference was found" in found.frames[-1].label
    assert len({len(frame.panels) for frame in found.frames}) == 1


def test_states_in_other_units_are_given_points_in_those_units() -> None:
    scaled = growing().rescale_states(4.0)
    assert np.allclose(subject(scaled).run(np.array([[0.7]])), math.exp(0.7), rtol=1e-14)
    marks = [curves(panel) for panel in drawn(trajectory(subject(scaled), x=[1.0])).frames[0].panels]
    ends = {name: mark.y[-1] for panel in marks for name, mark in panel.items()}
    assert ends["x"] == 0.25
    assert math.isclose(ends["z"], math.e / 4, rel_tol=1e-14)


def test_of_many_registers_some_are_chosen_and_said() -> None:
    net = integraph.network([(RNG.normal(size=(60, 3)), None, "tanh"), (RNG.normal(size=(2, 60)), None)])
    program = integraph.compile(net, 1e-6, method="wide")
    found = drawn(trajectory(subject(program, net)))
    assert f"40 of {program.width} registers" in found.says
    shown = {name for panel in found.frames[0].panels for name in curves(panel)}
    assert len(shown) == 40
    read = [program.registers.name(int(n)) for n in np.unique(program.readout.indices)[:8]]
    assert shown.issuperset(read)
    groups = {mark.group for panel in found.frames[0].panels for mark in curves(panel).values()}
    assert groups == {group.name for group in program.registers}


def test_registers_of_other_sizes_have_their_own_panel() -> None:
    r = Registers()
    x, big, small = r.inputs("x", 1), r.new("big"), r.new("small")
    blocks = affine(big, x, w=1e6), affine(small, x, w=1e-3)
    found = drawn(trajectory(subject(build(r, [segment("both", *blocks)], small)), x=[1.0]))
    assert [sorted(curves(panel)) for panel in found.frames[0].panels] == [["big"], ["x"], ["small"]]


def test_inputs_that_fail_are_left_out_and_said() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [segment("ln", ln(x, z))], z)
    found = drawn(trajectory(subject(program, box=(-1.0, 1.0))))
    assert len(found.frames) == 2
    assert "the lowest corner" in found.says
    assert "blows up" in found.says
    assert "reaches the end" in trajectory(subject(program), x=[-1.0])


def test_programs_without_segments_and_with_one_register() -> None:
    r = Registers()
    x = r.inputs("x", 1)
    nothing, one = build(r, [], x), build(r, [segment("up", ramp(x, b=1.0))], x)
    found = gallery(subject(nothing))
    assert isinstance(found["error"], Picture)
    assert "no segments" in found["trajectory"]
    assert "no segments" in found["sparsity"]
    names = [picture.name for picture in pictures(subject(one))]
    assert names == ["error", "trajectory", "sparsity", "rates"]
    point = drawn(error(subject(one, box=(1.0, 2.0))))
    assert curves(point.frames[0].panels[0])["program"].y[0] == 2.0
    assert "single point" in error(subject(one, box=(1.0, 1.0)))


@pytest.mark.slow
def test_many_inputs_and_a_transformer_stay_small() -> None:
    net = transformer(4, 8, 2, 32, 2)
    graph = to_graph(net)
    told: list[str] = []
    found = gallery(subject(integraph.compile(graph), graph), told.append)
    assert told == list(PICTURES)
    frame = drawn(found["error"]).frames[0]
    assert "output" in found["error"].says
    assert len(frame.panels) == 2
    numbers = sum(
        part.size
        for picture in found.values()
        if isinstance(picture, Picture)
        for one in picture.frames
        for panel in one.panels
        for mark in panel.marks
        for part in ((mark.z,) if isinstance(mark, Heat) else (mark.y,) if isinstance(mark, Curve) else (mark.values,))
    )
    assert numbers < 500_000
    twenty = integraph.compile("+".join(f"x{n}^2" for n in range(20)))
    assert "6 of 190 pairs" in drawn(error(subject(twenty))).says


@pytest.mark.slow
def test_of_very_many_inputs_some_are_tried() -> None:
    wide = subject(integraph.compile([(np.ones((1, 100_000)), None)], box=(0.0, 1e-5)))
    assert influential(wide) == ([0, 1, 2, 3], 25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"what": "eror"}, "'error', 'trajectory'"),
        ({"what": "rates", "x": [0.5]}, "leave it out"),
        ({"x": [0.1, 0.2]}, "one input"),
        ({"x": [math.nan]}, "not finite"),
        ({"what": "partition"}, "Theorem 1"),
        ({"path": "picture.gif"}, r"\.png, \.svg, \.pdf"),
        ({"box": (1, 0)}, "low ≤ high"),
    ],
)
def test_misuse_is_explained(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        integraph.compile(WAVE).plot(**arguments)


@pytest.mark.slow
def test_plot_needs_neither_display_nor_pyplot() -> None:
    code = (
        f"import sys, integraph; figure = integraph.compile({WAVE!r}).plot(x=[0.3]);"
        "assert figure._repr_png_()[:4] == b'\\x89PNG'; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env={"PATH": ""})
