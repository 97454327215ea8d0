"""Bounds of nets beside auto_LiRPA's CROWN and α-CROWN, on the same nets, in one run: `make bench-peers`.

Widths are divided by sampled ones: samples, and a climb from the best. auto_LiRPA runs in a process and an environment
of its own, and computes in float64 without counting roundings.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import integraph
from certificates import named, table, timed
from integraph import Network
from networks import net
from ranges import KINDS, sampled

NETS = (  # sizes, activation, radii, and whether the optimised method has the time for it
    ((2, 16, 16, 1), "tanh", (0.1, 1.0), True),
    ((2, 16, 16, 1), "sigmoid", (0.1, 1.0), True),
    ((2, 16, 16, 1), "relu", (0.1, 1.0), True),
    ((4, 256, 256, 2), "tanh", (0.1,), False),
    ((4, 256, 256, 2), "sigmoid", (0.1,), False),
    ((16, 64, 64, 3), "tanh", (0.01, 0.1), True),
    ((16, 64, 64, 3), "sigmoid", (0.01, 0.1), True),
    ((16, 64, 64, 3), "relu", (0.01, 0.1), True),
    ((784, 128, 10), "tanh", (0.01, 0.1), False),
    ((784, 128, 10), "sigmoid", (0.01, 0.1), False),
    ((784, 128, 10), "relu", (0.01, 0.1), False),
    ((784, 256, 256, 10), "tanh", (0.01, 0.1), False),
    ((784, 256, 256, 10), "sigmoid", (0.01, 0.1), False),
    ((784, 256, 256, 10), "relu", (0.01, 0.1), False),
)
SEEDS = (7,)
LESS = 1 + 1e-5  # the peers do not count roundings, and we find points where lines touch by iteration
COLUMNS = ("net", "weights, seed", "radius", "ours", "CROWN", "α-CROWN", "ours, s", "CROWN, s", "α-CROWN, s", "CROWN")


def main(python: str) -> None:
    cases, nets = [], []
    for sizes, kind, radii, optimised in NETS:
        for weights, scale in KINDS.items():
            for seed in SEEDS:
                network = net(sizes, scale, kind, seed)
                for radius in radii:
                    methods = ["CROWN", "α-CROWN"] if optimised else ["CROWN"]
                    cases.append({"layers": layers(network), "radius": radius, "methods": methods})
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
    bounds, seconds = timed(integraph.bound, network, (-radius, radius))
    true = sampled(network, radius, bounds)
    widths = {method: np.array(answer["high"]) - np.array(answer["low"]) for method, answer in answers.items()}
    shares = {method: f"{(width / true).max():.3f}" for method, width in widths.items()}
    times = {method: f"{answer['seconds']:.3f}" for method, answer in answers.items()}
    wider = float((bounds.width / widths["CROWN"]).max())
    verdict = "≤" if wider <= LESS else f"{wider:.4f} ×"
    return (
        name, weights, radius, f"{(bounds.width / true).max():.3f}", shares["CROWN"], shares.get("α-CROWN", ""),
        f"{seconds:.3f}", times["CROWN"], times.get("α-CROWN", ""), verdict,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
