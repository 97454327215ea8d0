"""Values of graphs in many digits, by mpmath: where ranges must have them inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp, mpf

from integraph.bounds.ranges.propagation import ranges
from integraph.numbers.intervals import Interval
from integraph.targets.graph import Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

NAN = mp.nan


def real(f: Callable[..., Any]) -> Callable[..., Any]:
    """f as a function of object arrays; NaN where it is not a real number, or too large for mpmath."""

    def one(*x: Any) -> Any:
        if any(mp.isnan(v) or abs(v) > mpf(10) ** 300 for v in x):
            return NAN
        try:
            found = f(*x)
        except (ValueError, ZeroDivisionError, OverflowError):
            return NAN
        return found if isinstance(found, mpf) and mp.isfinite(found) else NAN

    return lambda *arrays: np.frompyfunc(one, len(arrays), 1)(*arrays)


def steep(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: f(x) if abs(x) < 1e5 else NAN


def _tanh_gelu(x: Any) -> Any:
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mpf(0.044715) * x**3))) if abs(x) < 1e3 else NAN


TRUTH: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "min": min,
    "max": max,
    "exp": steep(mp.exp),
    "expm1": steep(mp.expm1),
    "ln": lambda x: mp.ln(x) if x > 0 else NAN,
    "log1p": lambda x: mp.log1p(x) if x > -1 else NAN,
    "log2": lambda x: mp.log(x, 2) if x > 0 else NAN,
    "log10": lambda x: mp.log10(x) if x > 0 else NAN,
    "sqrt": mp.sqrt,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "sinh": steep(mp.sinh),
    "cosh": steep(mp.cosh),
    "tanh": mp.tanh,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "asinh": mp.asinh,
    "acosh": lambda x: mp.acosh(x) if x >= 1 else NAN,
    "atanh": lambda x: mp.atanh(x) if abs(x) < 1 else NAN,
    "erf": mp.erf,
    "sigmoid": steep(lambda x: 1 / (1 + mp.exp(-x))),
    "softplus": steep(lambda x: mp.log1p(mp.exp(x))),
    "abs": abs,
    "gelu": steep(lambda x: x / 2 * mp.erfc(-x / mp.sqrt(2))),
    "gelu_tanh": _tanh_gelu,
    "silu": steep(lambda x: x / (1 + mp.exp(-x))),
    "gaussian": steep(lambda x: mp.exp(-x * x)),
    "log_cosh": lambda x: abs(x) + mp.log1p(mp.exp(-2 * abs(x))) - mp.log(2),
    "relu": lambda x: max(x, mpf(0)),
    "variable_power": lambda x, y: x**y if x > 0 and abs(y) < 1e5 else NAN,
}


def truth(node: Node, args: list[Any]) -> Any:
    """The value of a node in many digits."""
    if node.op in TRUTH:
        return real(TRUTH[node.op])(*args)
    if node.op == "constant":
        return np.frompyfunc(mpf, 1, 1)(node.value)
    if node.op == "power":
        n = node.data[0]
        whole, exponent = n.denominator == 1, mpf(n.numerator) / n.denominator
        return real(lambda x: x ** (int(n) if whole else exponent) if whole or x >= 0 else NAN)(*args)
    if node.op == "leaky_relu":
        return real(lambda x: x if x >= 0 else mpf(node.data[0]) * x)(*args)
    if node.op == "softmax":
        grown = real(lambda x: mp.exp(x) if abs(x) < 1e5 else NAN)(*args)
        grown = grown if node.value is None else np.where(node.value, grown, mpf(0))
        return grown / np.sum(grown, -1, keepdims=True)
    if node.op in ("logsumexp", "log_softmax"):
        taking = np.broadcast_to(True if node.value is None else node.value, args[0].shape)
        top = np.max(np.where(taking, args[0], -mp.inf), -1, keepdims=True)
        grown = np.where(taking, real(mp.exp)(args[0] - top), mpf(0))
        total = top + real(mp.log)(np.sum(grown, -1, keepdims=True))
        return total[..., 0] if node.op == "logsumexp" else np.where(taking, args[0] - total, NAN)
    if node.op == "concat":
        return np.concatenate(args, node.data[0])
    return np.matmul(*args) if node.op == "matmul" else STRUCTURE[node.op](np.asarray(args[0]), node.data)


def check(graph: Graph, low: np.ndarray, high: np.ndarray, shares: list[np.ndarray]) -> list[Interval]:
    """Every value of every node at the points low + share·(high − low) lies in its range."""
    found = ranges(graph, low, high)
    for node, own in zip(graph.nodes, found, strict=True):
        assert own.low.shape == own.high.shape == node.shape
        assert ((own.low < math.inf) & (own.high > -math.inf) & (own.low <= own.high)).all(), node.op
    with mp.workdps(60):
        for share in shares:
            x = np.array([mpf(a) + (mpf(b) - mpf(a)) * mpf(s) for a, b, s in zip(low, high, share, strict=True)])
            values: list[Any] = []
            for node, own in zip(graph.nodes, found, strict=True):
                if node.op == "input":
                    values.append(x[node.data[0] : node.data[0] + node.size].reshape(node.shape))
                else:
                    values.append(truth(node, [values[n] for n in node.args]))
                for v, a, b in zip(np.ravel(values[-1]), own.low.ravel(), own.high.ravel(), strict=True):
                    assert mp.isnan(v) or mpf(a) <= v <= mpf(b), (node.op, node.data, mp.nstr(v, 25), a, b)
    return found
