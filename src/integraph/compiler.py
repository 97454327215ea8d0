"""`integraph.compile`: from whatever a user has in hand to a program."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from integraph.constructions.feedforward import feedforward
from integraph.frontends import network
from integraph.program import Program


def compile(
    source: Any,
    eps: float = 1e-6,
    *,
    method: str = "narrow",
    bound: str = "tight",
    free: str = "keep",
    box: ArrayLike | None = None,
) -> Program:
    """A quadratic neural ODE within `eps` of a trained network, for every input of the box, [0, 1]^d unless given.

    `source` is a `Network`, a list of (A, b, activation), an ONNX or Keras file, a PyTorch module or a scikit-learn
    MLP. `method="narrow"` is Theorem 2: W = 3·max(W̃, d), D = 3·D̃, decay rates as small as `bound="tight"` allows or as
    the paper chooses them (`bound="paper"`). `method="wide"` is exact but for ReLU, two segments a layer, all registers
    kept, or used again after they decayed (`free="decay"`). `box` is one pair (low, high), or one for each input.
    """
    return feedforward(network(source), eps, method=method, bound=bound, free=free, box=box)
