"""Bounds of nets beside auto_LiRPA's CROWN and α-CROWN, on the same nets, in one run: `make bench-peers`.

Widths are divided by sampled ones: samples, and a climb from the best. auto_LiRPA runs in a process and an environment
of its own, and computes in float64 without counting roundings.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import integraph
from certificates import named, processed, table
from integraph import Network
from random_nets import net
from ranges import KINDS, sampled

SMOOTH, ALL = ("tanh", "sigmoid"), ("tanh", "sigmoid", "relu")
NETS = (  # sizes, activations, radii; α-CROWN with the 20 iterations that it takes by itself
    ((2, 16, 16, 1), SMOOTH, (0.1, 1.0, 3.0)),
    ((2, 16, 16, 1), ("relu",), (0.1, 1.0)),
    ((4, 256, 256, 2), SMOOTH, (0.1, 1.0, 3.0)),
    ((12, 64, 64, 3), SMOOTH, (0.1, 1.0, 3.0)),
    ((16, 64, 64, 3), ALL, (0.01, 0.1)),
    ((784, 128, 10), ALL, (0.01, 0.1)),
    ((784, 256, 256, 10), ALL, (0.01, 0.1)),
)
SEEDS = (7,)
LESS = 1 + 3e-6  # CROWN's lines touch at points of a table with steps of 0.01: other slopes, better for some forms
COLUMNS = ("net", "weights, seed", "radius", "ours", "CROWN", "α-CROWN", "ours, s", "CROWN, s", "α-CROWN, s", "CROWN",
           "α-CROWN narrower by")  # fmt: skip


def main(python: str) -> None:
    cases, nets = [], []
    for sizes, kinds, radii in NETS:
        for kind, (weights, scale), seed in itertools.product(kinds, KINDS.items(), SEEDS):
            network = net(sizes, scale, kind, seed)
            for radius in radii:
                cases.append({"layers": layers(network), "radius": radius})
                nets.append((network, f"{named(sizes)}, {kind}", f"{weights}, {seed}", radius))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nets.json"
        path.write_text(json.dumps(cases))
        script = Path(__file__).with_name("crown.py")
        answer = subprocess.run([python, str(script), str(path)], capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"auto_LiRPA did not run:\n{answer.stderr[-2000:]}")
    rows = (row(*which, answers) for which, answers in zip(nets, json.loads(answer.stdout), strict=True))
    table("largest width of an output / sampled; ≤: never wider than CROWN", COLUMNS, rows)


def layers(network: Network) -> list[dict[str, Any]]:
    return [{"A": x.A.tolist(), "b": x.b.tolist(), "activation": x.activation} for x in network.layers]


def row(
    network: Network, name: str, weights: str, radius: float, answers: dict[str, dict[str, Any]]
) -> tuple[object, ...]:
    integraph.bound(network, (-radius, radius))  # compiles what is compiled
    bounds, seconds = processed(integraph.bound, network, (-radius, radius))
    true = sampled(network, radius, bounds)
    widths = {method: np.array(answer["high"]) - np.array(answer["low"]) for method, answer in answers.items()}
    shares = {method: f"{(width / true).max():.3f}" for method, width in widths.items()}
    times = {method: f"{answer['seconds']:.3f}" for method, answer in answers.items()}
    wider = float((bounds.width / widths["CROWN"]).max())
    better = widths["α-CROWN"] / bounds.width
    wins = "" if better.min() >= 1 / LESS else f"{100 * (1 - better.min()):.2g} %"
    verdict = "≤" if wider <= LESS else f"{wider:.4f} ×"
    return (
        name, weights, radius, f"{(bounds.width / true).max():.3f}", shares["CROWN"], shares["α-CROWN"],
        f"{seconds:.3f}", times["CROWN"], times["α-CROWN"], verdict, wins,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
