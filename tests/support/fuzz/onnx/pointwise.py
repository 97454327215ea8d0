"""How operators that act entry by entry are drawn."""

from __future__ import annotations

import numpy as np

from fuzz.onnx.case import MICROSOFT
from fuzz.onnx.constants import array, inside, like, partner, stretched
from fuzz.onnx.drawing import Drawing, Unfit, Value

WIDE = (-8.0, 8.0)
DOMAINS = {
    **dict.fromkeys(("Abs", "Cos", "Erf", "Relu", "Sigmoid", "Sin", "Softplus", "Tanh", "Atan", "Asinh", "Neg"), WIDE),
    **dict.fromkeys(("Mish", "Softsign", "HardSwish"), WIDE),
    **dict.fromkeys(("Exp", "Sinh", "Cosh"), (-3.0, 3.0)),
    **dict.fromkeys(("Asin", "Acos", "Atanh"), (-0.95, 0.95)),
    **dict.fromkeys(("Log", "Sqrt", "Reciprocal"), (0.1, 20.0)),
    "Tan": (-1.3, 1.3),
    "Acosh": (1.1, 10.0),
}
SINCE = {**dict.fromkeys(("Asinh", "Acosh", "Atanh", "Cosh", "Sinh", "Erf"), 9), "Gelu": 20, "Swish": 24}
SINCE |= {"Celu": 12, "HardSwish": 14, "Mish": 18}
NUMBERS = {"Elu": ("alpha",), "Celu": ("alpha",), "Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta")}


def function(d: Drawing, op: str) -> None:
    _since(d, SINCE.get(op, 7))
    if op == "Reciprocal":
        x = inside(d, d.pick(), *_apart(d))
    else:
        x = anything(d) if DOMAINS[op] == WIDE else inside(d, d.pick(), *DOMAINS[op])
    d.emit(op, x)


def _apart(d: Drawing) -> tuple[float, float]:
    """What may be divided by: of one sign, or of both, where only single points are bad."""
    return d.one(((0.2, 9.0), (0.2, 9.0), (-9.0, -0.2), (-9.0, 9.0)))


def anything(d: Drawing) -> Value:
    """For functions that have values everywhere."""
    return stretched(d, inside(d, d.pick(), *WIDE))


def arithmetic(d: Drawing, op: str) -> None:
    a = d.pick()
    b = partner(d, a)
    if op == "Div":
        b = inside(d, b, *_apart(d))
    d.emit(op, *((b, a) if op != "Div" and d.chance(0.4) else (a, b)))


def power(d: Drawing, op: str) -> None:
    x = inside(d, d.pick(), *WIDE)
    sort = d.integer(0, 5)
    if sort == 5:
        d.emit(op, d.constant(np.abs(array(d, like(d, x.shape))) + d.one((0.1, 0.1, 0.0))), inside(d, x, -3.0, 3.0))
    elif sort == 0:
        d.emit(op, x, d.constant(np.full(like(d, x.shape), float(d.integer(0, 4)))))
    elif sort == 1:
        whole = np.array(d.integer(0, 3), np.int64 if d.opset >= 12 else np.float64)
        d.emit(op, x, d.constant(whole))
    elif sort == 2:
        d.emit(op, inside(d, x, 0.2, 8.0), d.constant(d.one((0.5, -0.5, 1.5, -1.0, -2.0, 1 / 3))))
    elif sort == 3:
        d.emit(op, inside(d, x, 0.2, 8.0), d.constant(np.clip(array(d, like(d, x.shape)), -3, 3)))
    else:
        d.emit(op, inside(d, x, 0.2, 8.0), inside(d, partner(d, x), -2.0, 2.0))


def extreme(d: Drawing, op: str) -> None:
    x = d.pick()
    others = [partner(d, x) for _ in range(d.integer(0, 2))]
    if d.chance(0.15):
        others = [d.constant(np.zeros(like(d, x.shape)))]
    if d.opset < 8:
        others = [other for other in others if other.shape == x.shape]
    d.emit(op, *sorted([x, *others], key=lambda _: d.rng.random()))


def clip(d: Drawing, op: str) -> None:
    x = d.pick()
    low, high = sorted(np.round(d.rng.normal(size=2), 1).tolist())
    if d.opset >= 11 and not d.single and d.chance(0.1):
        low, high = d.one(((-1e39, high), (low, 1e39), (-1e39, 1e39), (1e39, 2e39), (-2e39, -1e39)))
    if d.opset < 11:
        bounds = {name: bound for name, bound in (("min", low), ("max", high)) if d.chance(0.7)}
        d.emit(op, x, **bounds)
    elif d.chance(0.3):
        d.emit(op, x, None, d.constant(high))
    else:
        d.emit(op, x, d.constant(low), *([d.constant(high)] if d.chance(0.7) else []))


def leaky_relu(d: Drawing, op: str) -> None:
    d.emit(op, d.pick(), **({"alpha": d.one((0.25, 0.0, 1.0, -0.5))} if d.chance(0.7) else {}))


def with_numbers(d: Drawing, op: str) -> None:
    _since(d, SINCE.get(op, 7))
    d.emit(op, anything(d), **{name: d.one((0.25, 0.5, 1.0, 1.75)) for name in NUMBERS[op] if d.chance(0.5)})


def prelu(d: Drawing, op: str) -> None:
    x = d.pick()
    slope = tuple(1 if d.chance(0.4) else n for n in x.shape)[d.integer(0, x.rank) :]
    d.emit(op, x, d.constant(array(d, slope or (1,) * min(x.rank, 1))))


def gelu(d: Drawing, op: str) -> None:
    x = anything(d)
    if d.chance(0.4):
        d.emit(op, x, domain=MICROSOFT)
    else:
        _since(d, SINCE[op])
        d.emit(op, x, **({"approximate": d.one(("none", "tanh"))} if d.chance(0.6) else {}))


def fast_gelu(d: Drawing, op: str) -> None:
    x = inside(d, d.pick(lambda value: value.rank > 0), *WIDE)
    bias = [d.constant(array(d, x.shape[-1:]))] if d.chance(0.5) else []
    d.emit(op, x, *bias, domain=MICROSOFT)


def swish(d: Drawing, op: str) -> None:
    _since(d, SINCE[op])
    x = anything(d)
    d.emit(op, x, **({"alpha": d.one((0.5, 1.0, 1.702, -1.0))} if d.chance(0.6) else {}))


def batch_normalisation(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 1)
    shape = x.shape[1:2]
    parts = [d.constant(array(d, shape)) for _ in range(3)]
    variance = d.constant(np.abs(array(d, shape)) + 0.1)
    d.emit(op, x, *parts, variance, **({"epsilon": 0.125} if d.chance(0.4) else {}))


def _since(d: Drawing, opset: int) -> None:
    if d.opset < opset:
        raise Unfit
