"""Plants, start sets and controllers of closed-loop benchmarks, as the ARCH-COMP friendly competition states them.

The controllers are ours: nets of the usual sizes with random hidden layers (seeded), whose last layer is fitted to a
stabilising law. TORA's controller has no output scaling here: u = N(x). CartPole's law is the linear-quadratic
regulator of the plant at rest, docking's brakes to a speed in proportion to the distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from integraph.api.loops import closed_loop
from integraph.certify.loops.loop import Loop
from integraph.numbers.arrays import Floats
from integraph.targets.network import Network, from_layers

SAMPLES = 4000
NORM = "(p1^2+p2^2+p3^2)"


@dataclass(frozen=True)
class Benchmark:
    """`law` maps the states (n, B) to inputs; the net is fitted to it on |x − the middle| ≤ `reach`."""

    plant: dict[str, str]
    low: Sequence[float]
    high: Sequence[float]
    period: float
    steps: int
    hidden: tuple[int, ...]
    activation: str
    law: Callable[..., Sequence[Floats]]
    reach: float | tuple[float, ...] = 1.5
    inputs: str = "u"
    discrete: bool = False
    gain: float = 1.0  # of the random weights
    ridge: float = 1e-3  # of the fit
    pinned: bool = False  # the net has the law's value at 0 exactly, so that 0 stays an equilibrium
    spec: str = ""

    @property
    def loop(self) -> Loop:
        return closed_loop(
            self.plant, self.network, period=self.period, steps=self.steps, inputs=self.inputs, discrete=self.discrete
        )

    @property
    def network(self) -> Network:
        rng = np.random.default_rng(0)
        z = x = rng.uniform(-1.0, 1.0, (SAMPLES, len(self.plant)))
        layers = []
        for width in self.hidden:
            gain = self.gain / np.sqrt(z.shape[1])
            A, b = rng.normal(size=(width, z.shape[1])) * gain, rng.uniform(-0.5, 0.5, width)
            z = from_layers([(A, b, self.activation)])(z)
            layers.append((A, b, self.activation))
        features = np.concatenate([z, np.ones((SAMPLES, 1))], 1)
        normal = features.T @ features + self.ridge * np.eye(features.shape[1])
        last = np.linalg.solve(normal, features.T @ np.stack(self.law(*(np.array(self.reach) * x).T), 1))
        layers.append((last[:-1].T, last[-1], None))
        layers[0] = (layers[0][0] / np.array(self.reach), *layers[0][1:])
        if self.pinned:
            zero = np.zeros((1, len(self.plant)))
            miss = np.stack(self.law(*zero.T), 1) - from_layers(layers)(zero)
            layers[-1] = (layers[-1][0], layers[-1][1] + miss[0], None)
        return from_layers(layers)


TORA = {"x1": "x2", "x2": "-x1 + 0.1*sin(x3)", "x3": "x4", "x4": "u"}
ATTITUDE = {
    "w1": "0.25*(u0 + w2*w3)",
    "w2": "0.5*(u1 - 3*w1*w3)",
    "w3": "u2 + 2*w1*w2",
    "p1": f"0.5*(w2*({NORM} - p3) + w3*({NORM} + p2) + w1*({NORM} + 1))",
    "p2": f"0.5*(w1*({NORM} + p3) + w3*({NORM} - p1) + w2*({NORM} + 1))",
    "p3": f"0.5*(w1*({NORM} - p2) + w2*({NORM} + p1) + w3*({NORM} + 1))",
}
QUADROTOR = {
    "x1": "cos(x8)*cos(x9)*x4 + (sin(x7)*sin(x8)*cos(x9) - cos(x7)*sin(x9))*x5"
    " + (cos(x7)*sin(x8)*cos(x9) + sin(x7)*sin(x9))*x6",
    "x2": "cos(x8)*sin(x9)*x4 + (sin(x7)*sin(x8)*sin(x9) + cos(x7)*cos(x9))*x5"
    " + (cos(x7)*sin(x8)*sin(x9) - sin(x7)*cos(x9))*x6",
    "x3": "sin(x8)*x4 - sin(x7)*cos(x8)*x5 - cos(x7)*cos(x8)*x6",
    "x4": "x12*x5 - x11*x6 - 9.81*sin(x8)",
    "x5": "x10*x6 - x12*x4 + 9.81*cos(x8)*sin(x7)",
    "x6": "x11*x4 - x10*x5 + 9.81*cos(x8)*cos(x7) - 9.81 - u1/1.4",
    "x7": "x10 + (sin(x7)*x11 + cos(x7)*x12)*tan(x8)",
    "x8": "cos(x7)*x11 - sin(x7)*x12",
    "x9": "(sin(x7)*x11 + cos(x7)*x12)/cos(x8)",
    "x10": "-0.92592593*x11*x12 + 18.518519*u2",
    "x11": "0.92592593*x10*x12 + 18.518519*u3",
    "x12": "0",
}
CARTPOLE = {
    "x1": "x2", "x2": "2*u", "x3": "x4", "x4": "(0.08*0.41*(9.8*sin(x3) - 2*u*cos(x3)) - 0.0021*x4)/0.0105"
}  # fmt: skip
DOCKING = {
    "x": "vx", "y": "vy", "vx": "3*0.001027^2*x + 2*0.001027*vy + fx/12", "vy": "-2*0.001027*vx + fy/12"
}  # fmt: skip


def quadrotor(share: float) -> Benchmark:
    """The 12-D quadrotor, from a share of the full set [±0.4]⁶."""

    def law(*x: Floats) -> Sequence[Floats]:
        roll, pitch = x[6] + 0.1 * x[4], x[7] - 0.1 * x[3]
        return 2.0 * (1.0 - x[2]) + 3.0 * x[5], -0.3 * roll - 0.2 * x[9], -0.3 * pitch - 0.2 * x[10]

    half = [0.4 * share] * 6 + [0.0] * 6
    return Benchmark(
        QUADROTOR, [-x for x in half], half, 0.1, 50, (64, 64, 64), "sigmoid", law, inputs="u1, u2, u3", gain=0.5,
        ridge=1e-5, spec="x3 in [0.94, 1.06] at end",
    )  # fmt: skip


BENCHMARKS = {
    "B1": Benchmark(
        {"x0": "x1", "x1": "u*x1^2 - x0"}, (0.8, 0.5), (0.9, 0.6), 0.2, 35, (20, 20), "tanh",
        lambda a, b: [0.2 * a - 0.8 * b],
    ),
    "B3": Benchmark(
        {"x0": "-x0*(0.1 + (x0 + x1)^2)", "x1": "(u + x0)*(0.1 + (x0 + x1)^2)"}, (0.8, 0.4), (0.9, 0.5), 0.1, 60,
        (20, 20), "tanh", lambda a, b: [-a - 2.0 * b],
    ),
    "B4": Benchmark(
        {"x0": "-x0 + x1 - x2", "x1": "-x0*(x2 + 1) - x1", "x2": "-x0 + u"}, (0.25, 0.08, 0.25), (0.27, 0.1, 0.27),
        0.1, 10, (20, 20), "tanh", lambda a, b, c: [-c - 0.5 * b],
    ),
    "TORA, sigmoid": Benchmark(
        TORA, (-0.77, -0.45, 0.51, -0.3), (-0.75, -0.43, 0.54, -0.28), 0.5, 10, (20, 20, 20), "sigmoid",
        lambda a, b, c, d: [-c - 1.5 * d], 2.0,
    ),
    "TORA, tanh": Benchmark(
        TORA, (-0.77, -0.45, 0.51, -0.3), (-0.75, -0.43, 0.54, -0.28), 0.5, 10, (20, 20, 20), "tanh",
        lambda a, b, c, d: [-c - 1.5 * d], 2.0,
    ),
    "double integrator": Benchmark(
        {"p": "p + v + 0.5*u", "v": "v + u"}, (2.5, -0.25), (3.0, 0.25), 1.0, 5, (25, 20), "tanh",
        lambda a, b: [-0.4 * a - 1.2 * b], 3.0, discrete=True,
    ),
    "pendulum": Benchmark(
        {"th": "w", "w": "2*sin(th) + 8*u"}, (1.0, 0.0), (1.2, 0.2), 0.05, 20, (25, 25), "tanh",
        lambda a, b: [-1.5 * a - 0.6 * b], 2.0,
    ),
    "pendulum, ReLU": Benchmark(
        {"th": "w", "w": "2*sin(th) + 8*u"}, (1.0, 0.0), (1.2, 0.2), 0.05, 20, (25, 25), "relu",
        lambda a, b: [-1.5 * a - 0.6 * b], 2.0,
    ),
    "unicycle": Benchmark(
        {"x": "v*cos(th)", "y": "v*sin(th)", "th": "u2", "v": "u1"}, (9.5, -4.5, 2.1, 1.5), (9.55, -4.45, 2.11, 1.51),
        0.2, 50, (100,), "tanh", lambda x, y, th, v: [1.0 - v, np.sin(np.arctan2(-y, -x) - th)], 6.0, inputs="u1, u2",
    ),
    "attitude": Benchmark(
        ATTITUDE, (-0.45, -0.55, 0.65, -0.75, 0.85, -0.65), (-0.44, -0.54, 0.66, -0.74, 0.86, -0.64), 0.1, 30,
        (64, 64, 64), "sigmoid", lambda a, b, c, p, q, s: [-2 * a - p, -1.5 * b - 0.8 * q, -c - 0.5 * s], 1.0,
        inputs="u0, u1, u2",
    ),
    "CartPole": Benchmark(
        CARTPOLE, (-0.1, -0.05, -0.1, -0.05), (0.1, 0.05, 0.1, 0.05), 0.02, 500, (64, 64), "tanh",
        lambda a, b, c, d: [2.678 * a + 2.843 * b + 18.38 * c + 3.337 * d], 1.0, gain=0.3, ridge=0.1, pinned=True,
        spec="abs(x1) <= 0.001 and abs(x3) <= 0.001 and abs(x4) <= 0.001 from 8",
    ),
    "docking": Benchmark(
        DOCKING, (70.0, 70.0, -0.28, -0.28), (106.0, 106.0, 0.28, 0.28), 1.0, 40, (256, 256), "tanh",
        lambda x, y, vx, vy: [-0.6 * (vx + 0.001 * x), -0.6 * (vy + 0.001 * y)], (120.0, 120.0, 0.5, 0.5),
        inputs="fx, fy", gain=0.5, ridge=1e-2,
        spec="sqrt(vx^2 + vy^2) <= 0.2 + 2*0.001027*sqrt(x^2 + y^2) always",
    ),
    "quadrotor, 25 %": quadrotor(0.25),
    "quadrotor, full": quadrotor(1.0),
}  # fmt: skip
