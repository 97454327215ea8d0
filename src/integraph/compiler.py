"""`integraph.compile`: from whatever a user has in hand to a program."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from integraph.constructions.feedforward import feedforward
from integraph.constructions.sobolev import sobolev
from integraph.errors import UsageError
from integraph.frontends import is_network, network
from integraph.frontends.callables import Derivative
from integraph.program import Program
from integraph.program.transform import with_horizon
from integraph.smooth import Variables, to_task


def compile(
    source: Any,
    eps: float = 1e-6,
    *,
    method: str | None = None,
    box: ArrayLike | None = None,
    horizon: float | None = None,
    bound: str | None = None,
    free: str | None = None,
    order: int | None = None,
    width: int | None = None,
    gamma: float | None = None,
    norm: float | None = None,
    variables: Variables = None,
    inputs: int | None = None,
    derivatives: Derivative | None = None,
) -> Program:
    """A quadratic neural ODE within `eps` of a network or a function, for every input of the box.

    `box` is one pair (low, high), or one for each input; [0, 1]^d unless given. `horizon` is T; it is D, one unit of
    time for each segment, unless given.

    **Networks** (Theorem 2): a `Network`, a list of (A, b, activation), an ONNX or Keras file, a PyTorch module or a
    scikit-learn MLP. `method="narrow"` has W = 3·max(W̃, d), D = 3·D̃, decay rates as small as `bound="tight"` allows or
    as the paper chooses them (`bound="paper"`). `method="wide"` is exact but for ReLU, two segments a layer, all
    registers kept, or used again after they decayed (`free="decay"`).

    **Functions** (Theorem 1): a formula or a list of them, sympy expressions, a Python function (with `derivatives`, if
    there are any), a table of derivatives. `method` is "lean", "remark" or "paper". `order` is n, `width` the largest
    W; the planner chooses what is not given. `gamma` is the paper's γ. From a formula the error is bounded; that of a
    Python function is only seen, unless `norm` bounds its derivatives (up to `order`, or all). `variables` names the
    inputs in order, `inputs` says how many a single parameter holds.
    """
    if is_network(source):
        given = {"order": order, "width": width, "gamma": gamma, "norm": norm, "variables": variables}
        _refuse(given | {"inputs": inputs, "derivatives": derivatives}, "a function", "this is a network")
        program = feedforward(
            network(source), eps, method=method or "narrow", bound=bound or "tight", free=free or "keep", box=box
        )
    else:
        _refuse({"bound": bound, "free": free}, "a network", "this is a function")
        if gamma is not None and method in (None, "lean"):
            raise UsageError(f"gamma = {gamma} is the γ of method='paper' and 'remark': leave it out")
        task = to_task(
            source, eps, box=box, method=method or "lean", order=order, width=width,
            gamma=0.5 if gamma is None else gamma, norm=norm,
            variables=variables, inputs=inputs, derivatives=derivatives,
        )  # fmt: skip
        program = sobolev(task)
    return program if horizon is None else with_horizon(program, horizon)


def _refuse(options: dict[str, Any], whose: str, what: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} = {value!r} is for {whose}, and {what}: leave it out")
