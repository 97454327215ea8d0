"""Properties of networks: time of proof and check, parts of the box, and the rule by which parts are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

import integraph
from certificates import aimed, named, table, timed
from integraph import Network
from integraph.certify.properties import search
from integraph.certify.properties.search import Parts
from integraph.numbers.arrays import Floats, Indices
from random_nets import net

Rows = Iterator[tuple[object, ...]]
Rule = Callable[[Parts], tuple[Indices, Floats]]

NETS = (  # sizes, activation, radius of the box around 0, and how far above the samples the threshold is, in widths
    ((2, 16, 16, 1), "tanh", 1.0, 0.02),
    ((3, 20, 20, 2), "tanh", 0.5, 0.05),
    ((4, 20, 20, 3), "tanh", 0.2, 0.1),
    ((4, 20, 20, 3), "tanh", 0.4, 0.1),
    ((6, 16, 16, 1), "tanh", 0.15, 0.15),
    ((6, 16, 16, 1), "tanh", 0.25, 0.2),
    ((2, 16, 16, 1), "relu", 1.0, 0.05),
    ((4, 20, 20, 3), "relu", 0.3, 0.1),
)
MANY = (((784, 128, 10), "tanh", 0.01), ((784, 128, 10), "relu", 0.01), ((784, 128, 128, 10), "relu", 0.003))
SECONDS, SAMPLES = 60.0, 100_000
UNIFORM = 1.0  # weights from [−1, 1]
CHECK = 10.0  # times the search that the check of its result may take


def main() -> None:
    table("y0 is below a threshold slightly above its largest sampled value", COLUMNS, thresholds())
    table("one output is the largest, around a point of [0, 1]^784", COLUMNS, largest())
    table("parts that a proof needs, by the input that is divided", RULE_COLUMNS, rules())


COLUMNS = ("net", "radius", "status", "cells", "leaves", "search", "check", "check / search")


def threshold(network: Network, radius: float, above: float) -> str:
    """A property that holds by some margin."""
    x = np.random.default_rng(0).uniform(-radius, radius, (SAMPLES, network.inputs))
    values = network(x)[:, 0]
    return f"y0 <= {values.max() + above * np.ptp(values):.4f}"


def thresholds() -> Rows:
    for sizes, kind, radius, above in NETS:
        network = net(sizes, UNIFORM, kind)
        yield measured(network, f"{named(sizes)}, {kind}", threshold(network, radius, above), (-radius, radius), radius)


def largest() -> Rows:
    for sizes, kind, radius in MANY:
        network = net(sizes, None, kind)
        points = np.random.default_rng(5).uniform(0, 1, (SAMPLES // 100, sizes[0]))
        values = np.sort(network(points), axis=1)
        x = points[np.argmax(values[:, -1] - values[:, -2])]  # as clear a decision as a trained net makes
        best = int(network(x[None])[0].argmax())
        text = " and ".join(f"y{best} > y{n}" for n in range(network.outputs) if n != best)
        yield measured(network, f"{named(sizes)}, {kind}", text, np.stack([x - radius, x + radius], 1), radius)


def measured(network: Network, name: str, text: str, box: object, radius: float) -> tuple[object, ...]:
    """A row: one process proves, and checks in the course of it; then the certificate is checked alone."""
    integraph.prove(text, network, box, seconds=1.0, workers=1, progress=False)  # compiles what is compiled
    proof = integraph.prove(text, network, box, seconds=SECONDS, workers=1, progress=False)
    if proof.certificate is None:
        return name, radius, proof.status, proof.cells, "", f"{proof.seconds:.2f} s", "", ""
    checked, seconds = timed(integraph.check, proof, network)
    assert checked.holds
    leaves = sum(node is None for case in proof.certificate.cases for node in case.tree)
    spent = max(proof.seconds - seconds, 1e-3)
    ratio = seconds / spent
    return (
        name, radius, proof.status, proof.cells, leaves, f"{spent:.2f} s", f"{seconds:.2f} s",
        aimed(f"{ratio:.1f}", ratio, CHECK),
    )  # fmt: skip


def widest(parts: Parts) -> tuple[Indices, Floats]:
    """The rule that divides the widest side."""
    axes = (parts.high - parts.low).argmax(1)
    return axes, (0.5 * parts.low + 0.5 * parts.high)[np.arange(len(parts)), axes]


@contextmanager
def divided_by(rule: Rule) -> Iterator[None]:
    with patch.object(search, "cuts", rule):
        yield


RULE_COLUMNS = ("net", "radius", "cells, most influence", "cells, widest side", "ratio", "time", "time")


def rules() -> Rows:
    for sizes, kind, radius, above in NETS:
        network = net(sizes, UNIFORM, kind)
        first = network.layers[0]
        stretched = integraph.network([(first.A * np.geomspace(1, 0.2, sizes[0]), first.b, kind), *network.layers[1:]])
        text = threshold(stretched, radius, above)
        counts, times = [], []
        for rule in (search.cuts, widest):
            with divided_by(rule):
                proof = integraph.prove(text, stretched, (-radius, radius), seconds=SECONDS, workers=1, progress=False)
            counts.append(proof.cells if proof else None)
            times.append(f"{proof.seconds:.2f} s")
        one, other = counts
        ratio = f"{other / one:.2f}" if one and other else ""
        yield f"{named(sizes)}, {kind}", radius, one or "open", other or "open", ratio, *times


if __name__ == "__main__":
    main()
