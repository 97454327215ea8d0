"""`integraph.compile`: from whatever a user has in hand to a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.api.graphs import as_graph
from integraph.api.planning import as_function, call_limit
from integraph.constructions.data.construction import fitted
from integraph.constructions.graph.construction import exact, tolerance
from integraph.constructions.graph.piecewise import SHARE, settled
from integraph.constructions.theorem1.construction import sobolev
from integraph.constructions.theorem1.task import task, with_surrogate
from integraph.constructions.theorem2.construction import feedforward
from integraph.errors import UsageError
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables, domain, read
from integraph.frontends.python.callables import Derivative
from integraph.program import Domain, Program
from integraph.program.box import interval
from integraph.program.transform import with_horizon
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

EXACT = "exact"
EPS = 1e-6
NEEDS: dict[str | None, type[Graph] | type[Network]] = {EXACT: Graph, "narrow": Network, "wide": Network}


def compile(
    source: Any,
    eps: float | None = None,
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
    inputs: Inputs = None,
    derivatives: Derivative | None = None,
    max_calls: int | None = None,
    parameters: Parameters = None,
) -> Program:
    """A quadratic neural ODE of a formula, a computation graph, a network, a function or data, for all of the box.

    `box` is one pair (low, high), or one for each input; by default the box that a .nnet file names, else [0, 1]^d.
    `horizon` is T; by default it is D, one unit of time for each segment. `eps` is the tolerance; by default it is
    1e-6, and `method="exact"` has none.

    **Graphs** (`method="exact"`): a formula or a list of them, a file of them (.formula, .txt), sympy expressions, an
    ONNX file, a Keras file or model or a PyTorch module that is no plain feedforward net (a module with `inputs`, the
    shape of one input without the batch axis, where its weights do not tell it: `inputs=(1, 28, 28)`), a function
    written in jax.numpy or a model of equinox, flax or haiku (the extra "jax"; `inputs` is a number or the shapes of
    all arguments). Nothing is approximated; only with a tolerance abs, min, max, ReLU and roots of what can be 0 are
    smoothed. `free` says how registers are used again: "keep" (not at all), "clean" (exactly), "decay" (up to e^−r,
    within the tolerance), or "auto", whatever needs the fewest. Where ln and powers get a positive argument is proved
    on the box, or else checked at every evaluation.

    **Networks** (Theorem 2): a `Network`, a list of (A, b, activation), a file of ONNX, Keras or a verification tool
    (.nnet, .yml, .mat, text of POLAR), a PyTorch module, a Keras model or a scikit-learn MLP. `method="narrow"` is the
    paper's construction, which uses registers again after they decayed: W = 3·max(W̃, d), D = 3·D̃, decay rates as
    small as `bound="tight"` allows or as the paper chooses them (`bound="paper"`). `method="wide"` is exact but for
    ReLU, two segments a layer, all registers kept, or used again after they were cleaned (`free="clean"`) or decayed
    (`free="decay"`).

    **Functions** (Theorem 1): a Python function (with `derivatives`, if there are any), a table of derivatives, or what
    is a graph too. `method` is "lean" (our construction, with far fewer registers and segments than the paper's),
    "paper" (as printed; it runs in more bits than float64 has) or "remark" (the paper's, changed as the remark after
    its Lemma 2 suggests, so that float64 suffices). `order` is n, `width` the largest W; the planner chooses what is
    not given. `gamma` is the paper's γ. From a formula the error is bounded; that of a Python function is only sampled,
    unless `norm` bounds its derivatives (up to `order`, or all). `variables` names the inputs in order, `inputs` says
    how many a single parameter holds. A Python function is called at as few points as will do, at most
    `max_calls` (20 000 unless given, no limit with `norm`).

    **Data**: a .csv file, a frame of pandas or polars, a pair (X, y) of arrays. `inputs` is how many of the first
    columns are inputs, or `variables` names them; all others are outputs. The box is that of the rows unless given.
    Local polynomials are fitted to four of five places, with `eps` the cheapest that keep it; the largest difference
    on the others is `seen`. Nothing is promised.

    `parameters` gives names in a formula values: {"a": 1.5, "b": "pi/4"}. Where a condition, as in if(x < 0, a, b),
    changes on the box, the formula is smoothed within the tolerance, and its error measured, not promised.
    """
    if isinstance(source, Program):
        raise UsageError("this is a program already: call it, save it, or rescale_time for another horizon")
    smooth = {
        "order": order, "width": width, "gamma": gamma, "norm": norm, "derivatives": derivatives,
        "max_calls": max_calls,
    }  # fmt: skip
    tracing = method is None and all(value is None for value in smooth.values())
    needs = NEEDS.get(method) if isinstance(method, str) else None
    target = read(source, ReadOptions(variables, inputs, derivatives, box, needs, parameters, tracing))
    box = domain(target, box)
    chosen = _method(target, smooth) if method is None else method
    if chosen == EXACT:
        _refuse(smooth | {"bound": bound}, "Theorems 1 and 2", "the source is compiled exactly")
        program = _exact(target, eps, "keep" if free is None else free, box)
    elif isinstance(target, Network):
        _refuse(smooth, "a function", "the source is a network")
        program = feedforward(
            target, EPS if eps is None else eps, method=chosen, bound="tight" if bound is None else bound,
            free="keep" if free is None else free, box=box,
        )  # fmt: skip
    else:
        _refuse({"bound": bound}, "a network", "the source is a function")
        _refuse({"free": free}, "networks and method='exact'", f"the method is {chosen!r}")
        if gamma is not None and chosen == "lean":
            raise UsageError("γ is for method='paper' and 'remark': leave it out", argument="gamma", value=gamma)
        f, cube = as_function(target, box)
        with call_limit(f, max_calls):
            if f.rows is not None:
                _refuse({"norm": norm}, "functions with derivatives", "the source is data")
                program = fitted(f, cube, eps, method=chosen, order=order, width=width)
            else:
                asked = task(
                    f, cube, EPS if eps is None else eps, method=chosen, order=order, width=width,
                    gamma=0.5 if gamma is None else gamma, norm=norm,
                )  # fmt: skip
                program = sobolev(with_surrogate(asked))
    if program.box is None:
        made = interval(box, program.inputs)
        program = program.annotate(domain=Domain(made.low, made.high))
    return program if horizon is None else with_horizon(program, horizon)


def _exact(target: Target, eps: float | None, free: str, box: ArrayLike | None) -> Program:
    """Conditions of a formula are decided, or smoothed with a share of the tolerance and without a promise."""
    ready = settled(target, interval(box, target.inputs), tolerance(eps))
    if eps is None or ready.points is None:
        return exact(as_graph(ready.target), eps, free=free, box=box)
    program = exact(as_graph(ready.target), (1 - SHARE) * eps, free=free, box=box, smoothed=True)
    assert isinstance(target, Function)
    assert target.values is not None
    assert program.origin is not None
    largest = float(np.max(np.abs(program.flow(ready.points).outputs - target.values(ready.points))))
    if not largest <= eps:
        raise UsageError(
            f"conditions of {target.name} cannot be smoothed so well, the flow is off by {largest:.2g}: ask for a "
            "larger eps",
            argument="eps",
            value=eps,
        )
    return program.annotate(origin=replace(program.origin, eps=float(eps))).with_errors(seen=largest)


def _method(target: Target, smooth: dict[str, Any]) -> str:
    """What fits a source: exact where there is a formula, unless options speak of Theorem 1."""
    if isinstance(target, Network):
        return "narrow"
    formula = isinstance(target, Function) and target.expression is not None
    plain = all(value is None for value in smooth.values())
    return EXACT if isinstance(target, Graph) or (formula and plain) else "lean"


def _refuse(options: dict[str, Any], whose: str, what: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"this is for {whose}, and {what}: leave it out", argument=name, value=value)
