"""Every kind of controller has a certificate, and the checker's tube holds trajectories under it."""

from __future__ import annotations

from math import sin

import numpy as np
import pytest

import integraph
from integraph.certify.loops.certification import path
from integraph.certify.loops.replay import check, graphs, programs
from integraph.certify.loops.replay.polynomials import exponents, variable
from integraph.certify.loops.replay.rows import Row, of_ball
from integraph.certify.problem import Box
from integraph.errors import UsageError
from integraph.frontends.formula.parser import parse
from integraph.numbers.arb.conversion import ONE, ZERO, above, below, precision
from integraph.numbers.arrays import Floats
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from integraph.targets.graph_conversion import network_graph, to_graph
from integraph.targets.network import Network, from_layers
from loop_truth import excess, trajectory
from slow import mostly_slow

PLANT = {"x": "v", "v": "-sin(x) - 0.5*v + u"}
LOW, HIGH = np.array([0.8, 0.0]), np.array([0.9, 0.1])
SETTING = {"plant": PLANT, "period": 0.2, "steps": 5, "start": {"x": (0.8, 0.9), "v": (0, 0.1)}, "progress": False}


def net(kind: str, outputs: int = 1) -> Network:
    rng = np.random.default_rng(3)
    return from_layers(
        [
            (rng.normal(size=(8, 2)), rng.normal(size=8) / 4, kind),
            (rng.normal(size=(8, 8)) / 3, rng.normal(size=8) / 4, kind),
            (rng.normal(size=(outputs, 8)) / 8, rng.normal(size=outputs) / 8, None),
        ]
    )


CONTROLLERS = {
    "graph": lambda: network_graph(net("tanh")),
    "graph of kinks": lambda: "max(-1, min(1, -x - v))*abs(v - 0.05)",
    "program, tanh": lambda: integraph.compile(net("tanh")),
    "program, relu": lambda: integraph.compile(net("relu"), eps=1e-2),
    "program, sigmoid": lambda: integraph.compile(net("sigmoid")),
    "program, softplus": lambda: integraph.compile(net("softplus")),
    "program, leaky relu": lambda: integraph.compile(net("leaky_relu"), eps=1e-2),
    "program of a formula": lambda: integraph.compile("-sin(x)*exp(-v)"),
}


def replayed(loop) -> Floats:
    """The boxes at sampling times."""
    with precision(check.BITS):
        tube = check.tube(loop, Box(tuple(LOW), tuple(HIGH)), 4, path(loop, LOW, HIGH, 4, loop.steps))
        return np.array([[(below(a), above(b)) for a, b in (row.range() for row in states.rows)] for states in tube])


@mostly_slow("name", list(CONTROLLERS), quick=2)
def test_trajectories_stay_inside(name: str) -> None:
    result = integraph.loop(**SETTING, controller=CONTROLLERS[name](), spec="x <= 1 always")
    assert integraph.check(result, result), integraph.check(result, result).reason
    boxes, starts = replayed(result.loop), LOW + (HIGH - LOW) * np.random.default_rng(0).uniform(size=(6, 2)).round(1)
    field = lambda y, u: [y[1], -sin(y[0]) - 0.5 * y[1] + u[0]]  # noqa: E731
    for start in starts:
        assert excess(boxes, trajectory(result.loop, field, start)[0]) <= 0


@pytest.mark.slow
def test_several_controllers_and_limits() -> None:
    setting = SETTING | {"plant": {"x": "v + a", "v": "-sin(x) - 0.5*v + u"}, "limits": (-0.2, 0.15), "scale": 2.0}
    controller = {"u": net("relu"), "a": integraph.compile(net("tanh"))}
    result = integraph.loop(**setting, controller=controller, offset=0.1, spec="x <= 1.2 always")
    checked = integraph.check(result, result)
    assert checked, checked.reason
    other = integraph.loop(**setting, controller=controller, offset=0.1001, spec="x <= 1.2 always")
    assert "another loop" in integraph.check(result, other).reason


def test_another_program_or_graph() -> None:
    first, second = (
        integraph.loop(**SETTING, controller=integraph.compile(f"-{w}*x - v"), spec="x <= 1 always") for w in (1, 2)
    )
    assert integraph.check(first, first)
    assert "another loop" in integraph.check(first, second).reason
    first, second = (integraph.loop(**SETTING, controller=f"max({w}, -x - v)", spec="x <= 1 always") for w in (-1, -2))
    assert isinstance(first.loop.controller.source, Graph)
    assert "another loop" in integraph.check(first, second).reason


def test_a_program_that_cannot_be_read() -> None:
    program = integraph.compile(net("tanh"))
    program = program.rescale_states(np.full(program.width, 2.0))
    result = integraph.loop(**SETTING, controller=program, spec="x <= 5 always")
    with pytest.raises(UsageError, match="no certificate: the checker cannot follow the controller"):
        result.certificate()


def test_the_distance_of_a_program_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is off from its network by 0.1 leaves the tube of the network, unless the distance is added."""
    program, x = integraph.compile(net("tanh")), np.array([[0.85, 0.05]])
    with precision(64):
        rows = [of_ball(ball, 2, 0) for ball in (ONE * 0.85, ONE * 0.05)]
        form = programs._form(program)
        shifted = from_layers([*((layer.A, layer.b, layer.activation) for layer in form.network.layers[:-1]),
                               (form.network.layers[-1].A, form.network.layers[-1].b + 0.1, None)])  # fmt: skip
        monkeypatch.setitem(programs._FORMS, program, type(form)(program, shifted))
        (low, high) = programs.program_rows(program, rows)[0].range()
    assert below(low) <= program(x)[0, 0] <= above(high)
    assert above(high) - below(low) < 1e-4


def wide_rows(k: int = 3) -> list[Row]:
    """x = 0.3 + 0.2 ξ + errors, y = −0.4 + 0.1 ξ' + errors, with one shared symbol."""
    x = Row(k, {0: ONE * 0.3, variable(0): ONE * 0.2}, [ONE * 0.05], ONE * 0.01)
    return [x, Row(k, {0: ONE * -0.4, variable(1): ONE * 0.1}, [ONE * -0.05], ZERO)]


def scores(op: str) -> Graph:
    """Products of matrices, of which one is constant, and a row of scores; a node that is read twice."""
    b = Builder()
    x = b.apply("reshape", b.input("x", (2,)), data=((2, 1),))
    far = b.apply("tanh", b.apply("matmul", x, b.constant([[0.5, -1.0, 2.0]])))
    near = b.apply("matmul", b.apply("transpose", far, data=(1, 0)), far)
    return b.graph([b.apply("sum", b.apply(op, near), data=((0,),))])


def formula_graph() -> Graph:
    expression = parse("max(x, y)*exp(-abs(x)) + min(x*y, x/(2 + y))^3", ("x", "y")).expression
    assert expression is not None
    return to_graph(expression, "f")


GRAPHS = {
    "formula": formula_graph,
    "silu net": lambda: network_graph(net("silu", 2)),
    "softmax": lambda: scores("softmax"),
    "log_softmax": lambda: scores("log_softmax"),
    "logsumexp": lambda: scores("logsumexp"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_values_of_graphs(name: str) -> None:
    """At corners of ξ, of the symbol and of the radius."""
    graph = GRAPHS[name]()
    with precision(64):
        rows = wide_rows()
        out = graphs.graph_rows(graph, rows)
        assert all(len(row.g) == 1 for row in out)
        for xi in np.linspace(-1, 1, 5):
            for eta in (-1.0, 0.3, 1.0):
                for eps in (-1.0, 1.0):
                    for sign in (-1.0, 1.0):
                        point = [0.3 + 0.2 * xi + 0.05 * eps + 0.01 * sign, -0.4 + 0.1 * eta - 0.05 * eps]
                        for row, value in zip(out, graph.values([point])[0], strict=True):
                            middle = sum(
                                float(ball) * _monomial(m, (xi, eta)) for m, ball in row.p.items()
                            ) + float(row.g[0]) * eps  # fmt: skip
                            assert abs(value - middle) <= float(row.r) + 1e-12


def _monomial(m: int, xi: tuple[float, float]) -> float:
    return float(np.prod([xi[n] ** power for n, power in exponents(m)]))
