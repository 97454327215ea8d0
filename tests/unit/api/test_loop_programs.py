"""A closed loop as one program: its values are those of DOP853, period by period."""

from __future__ import annotations

import subprocess
from math import sin
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.errors import UsageError
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from integraph.targets.graph_conversion import inlined, to_graph
from integraph.targets.network import from_layers
from lazy import needs, needs_command
from loop_truth import trajectory

RNG = np.random.default_rng(1)
NET = from_layers(
    [(RNG.normal(size=(8, 2)), RNG.normal(size=8) / 4, "tanh"), (RNG.normal(size=(1, 8)) / 8 - 0.1, np.zeros(1), None)]
)
SETTING = {"period": 0.2, "steps": 5, "start": {"x": (0.8, 0.9), "v": (0.5, 0.6)}, "spec": "x <= 4", "progress": False}


@pytest.mark.slow
def test_a_pendulum_under_a_network(tmp_path: Path) -> None:
    result = integraph.loop({"x": "v", "v": "-sin(x) - 0.5*v + u"}, NET, **SETTING)
    program = integraph.loop_program(result)
    assert program.box is not None
    starts = np.random.default_rng(0).uniform(program.box.low, program.box.high, (5, 2))
    field = lambda y, u: [y[1], -sin(y[0]) - 0.5 * y[1] + u[0]]  # noqa: E731
    truth = np.array([trajectory(result.loop, field, start)[0][-1] for start in starts])
    assert np.abs(program(starts) - truth).max() < 1e-10
    assert np.abs(program(starts, engine="taylor") - truth).max() < 1e-10
    program.save(tmp_path / "loop.integraph")
    assert (integraph.load(tmp_path / "loop.integraph")(starts) == program(starts)).all()
    for name in ("cora", "juliareach", "flowstar", "dreal"):
        text = program.export(tmp_path / f"loop.{name}", name).read_text()
        assert "0.8" in text
        assert "0.9" in text


@pytest.mark.slow
@pytest.mark.parametrize("steps", [35, 500])
def test_many_periods_share_registers(steps: int, tmp_path: Path) -> None:
    setting = {**SETTING, "period": 0.1, "steps": steps, "start": {"x": (0.8, 0.801), "v": 0.5}}
    result = integraph.loop({"x": "v", "v": "-sin(x) + u"}, "-0.05*v", **setting)
    program = integraph.loop_program(result)
    assert program.width == integraph.loop_program(result, 1).width
    program.save(tmp_path / "loop.integraph")
    start = np.array([0.8005, 0.5])
    truth = trajectory(result.loop, lambda y, u: [y[1], u[0] - sin(y[0])], start)[0][-1]
    assert np.abs(truth).max() > 0.1
    assert np.abs(integraph.load(tmp_path / "loop.integraph")(start[None], engine="taylor") - truth).max() < 1e-10


@pytest.mark.slow
def test_constants_and_limits() -> None:
    result = integraph.loop(
        {"x": "v", "v": "u - k*x"}, {"u": "-2*v"}, parameters={"k": (0.9, 1)}, limits=(-0.8, 0.8), scale=1.5, **SETTING
    )
    with pytest.raises(integraph.errors.SourceError, match="eps"):
        integraph.loop_program(result)
    program = integraph.loop_program(result, 2, eps=1e-3)
    start = np.array([[0.85, 0.55, 0.95]])
    assert program(start) == pytest.approx(integraph.simulate(result.loop, start)[2], abs=5e-3)


def test_a_discrete_loop_and_refusals() -> None:
    setting = {**SETTING, "discrete": True, "steps": 3}
    result = integraph.loop({"x": "x + v", "v": "v + 0.1*u"}, "-x*v", offset=0.5, **setting)
    program = integraph.loop_program(result)
    start = np.array([[0.85, 0.55]])
    assert program(start) == pytest.approx(integraph.simulate(result.loop, start)[-1], abs=1e-10)
    moved = integraph.loop({"x": "x + w", "v": "v + 0.1*u"}, "-x", disturbances={"w": (-1, 1)}, **setting)
    with pytest.raises(UsageError, match="disturbances"):
        integraph.loop_program(moved)
    with pytest.raises(UsageError, match="periods"):
        integraph.loop_program(result, 4)
    other = integraph.loop({"x": "x + v", "v": "v + 0.1*u"}, integraph.compile("x + v", variables="x v"), **setting)
    with pytest.raises(UsageError, match="compiled from"):
        integraph.loop_program(other)


def test_graphs_inside_of_graphs() -> None:
    build = Builder("outer")
    x = build.input("x", (2,))
    inner = to_graph(integraph.function("a*b, a - 3, 7", variables="a b").expression, "inner")
    outer: Graph = build.graph([inlined(build, inner, build.apply("mul", x, build.constant([2.0, 3.0])))])
    assert outer.values([[1.0, 4.0]])[0] == pytest.approx([24.0, -1.0, 7.0])


ENGINES = ("exact", "taylor", "oracle", "precise", "jax")


@pytest.mark.slow
@needs("jax")
def test_every_engine_agrees_with_the_simulation() -> None:
    """In discrete time all engines run it; a lifted plant has no closed form, which `exact` needs, and says so."""
    setting = {**SETTING, "steps": 3}
    discrete = integraph.loop({"x": "x + 0.2*v", "v": "v + 0.2*(u - x^2)"}, NET, discrete=True, **setting)
    smooth = integraph.loop({"x": "v", "v": "-sin(x) - 0.5*v + u"}, NET, **setting)
    starts = np.random.default_rng(0).uniform((0.8, 0.5), (0.9, 0.6), (3, 2))
    for result, able in ((discrete, ENGINES), (smooth, ENGINES[1:])):
        program, wanted = integraph.loop_program(result), integraph.simulate(result.loop, starts)[-1]
        for engine in ENGINES:
            if engine in able:
                assert np.abs(program(starts, engine=engine) - wanted).max() < 1e-12
            else:
                with pytest.raises(UsageError, match="taylor"):
                    program(starts, engine=engine)


STUBS = {  # what CORA's functions are here: sets are their middle, and reach integrates it
    "interval": "function x = interval(low, high)\n  x = (low + high)/2;\nend\n",
    "polyZonotope": "function x = polyZonotope(x)\nend\n",
    "zonotope": "function x = zonotope(x)\nend\n",
    "nonlinearSys": "function s = nonlinearSys(f, n, m)\n  s = f;\nend\n",
    "reach": """function R = reach(f, params, options)
  y = params.R0;  h = options.timeStep;
  for n = 1:round(params.tFinal/h)
    a = f(y, 0);  b = f(y + h/2*a, 0);  c = f(y + h/2*b, 0);  d = f(y + h*c, 0);
    y = y + h/6*(a + 2*b + 2*c + d);
  end
  R.timePoint.set = {y};
end
""",
}


@pytest.mark.slow
@needs_command("octave-cli", "octave")
def test_the_file_for_cora_runs_in_octave(tmp_path: Path) -> None:
    """Its syntax, its loop over segments and its equations, with functions that stand for CORA's."""
    result = integraph.loop({"x": "v", "v": "-sin(x) - 0.5*v + u"}, NET, **SETTING)
    program = integraph.loop_program(result, 1)
    program.export(tmp_path / "closed.m", "cora")
    for name, text in STUBS.items():
        (tmp_path / f"{name}.m").write_text(text)
    name = (tmp_path / "closed.m").read_text().split("reached = ")[1].split("(")[0]
    (tmp_path / "closed.m").rename(tmp_path / f"{name}.m")
    script = f"r = {name}(); printf('%.15g ', r{{end}}.timePoint.set{{end}});"
    done = subprocess.run(["octave-cli", "--quiet", "--eval", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    registers = np.array(done.stdout.split(), float)
    wanted = integraph.simulate(result.loop, [[0.85, 0.55]])[1, 0]
    assert np.abs(program.readout @ registers - wanted).max() < 1e-7
