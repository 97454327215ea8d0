"""Closed loops of benchmarks, from examples/loops: plants and start sets as the ARCH-COMP friendly competition states
them, with nets of ours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import integraph
from integraph.api.loop_file import read_loop, read_question
from integraph.certify.loops.controller import Controller
from integraph.certify.loops.loop import Loop
from integraph.certify.loops.result import LoopResult
from integraph.frontends import read
from integraph.targets.network import Network

FOLDER = Path(__file__).parents[1] / "examples" / "loops"
FILES = {
    "B1": "b1", "B3": "b3", "B4": "b4", "TORA, sigmoid": "tora-sigmoid", "TORA, tanh": "tora-tanh",
    "double integrator": "double-integrator", "pendulum": "pendulum", "pendulum, ReLU": "pendulum-relu",
    "unicycle": "unicycle", "attitude": "attitude", "CartPole": "cartpole", "docking": "docking",
    "quadrotor, 25 %": "quadrotor-25", "quadrotor, full": "quadrotor",
}  # fmt: skip


@dataclass(frozen=True)
class Benchmark:
    """A file of a loop."""

    file: Path

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """Those of `integraph.loop`, the net read."""
        held = read_loop(self.file)
        return {**held, "controller": read(held["controller"])}

    @cached_property
    def loop(self) -> Loop:
        return read_question(self.file).loop

    @property
    def spec(self) -> str:
        return str(self.arguments["spec"])

    @property
    def low(self) -> list[float]:
        return self._ends(0)

    @property
    def high(self) -> list[float]:
        return self._ends(1)

    def _ends(self, which: int) -> list[float]:
        start = self.arguments["start"]
        sides = (start[name] for name in self.loop.states)
        return [float(side[which] if isinstance(side, list) else side) for side in sides]

    @property
    def net(self) -> str:
        """Its sizes and activation."""
        assert isinstance(self.loop.controller, Controller)
        network = self.loop.controller.source
        assert isinstance(network, Network)
        sizes = network.inputs, *(len(layer.A) for layer in network.layers)
        return f"{'-'.join(map(str, sizes))} {network.layers[0].activation}"

    def prove(self) -> LoopResult:
        """The whole call."""
        return integraph.loop(**self.arguments, progress=False)


BENCHMARKS = {name: Benchmark(FOLDER / f"{file}.toml") for name, file in FILES.items()}
