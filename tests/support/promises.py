"""How far a program is from its network."""

from __future__ import annotations

import numpy as np

from integraph import Program
from integraph.targets import Network
from networks import points

UNIT = np.array([[0.0, 1.0]])


def seen(program: Program, network: Network, box: np.ndarray, engine: str | None = None, count: int = 300) -> float:
    x = points(box, count)
    return float(np.abs(program(x, engine) - network(x)).max())
