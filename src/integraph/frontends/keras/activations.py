"""Activations of Keras: by name, as layers, and as operations of keras.ops. What is not Keras' own is never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.keras.arguments import show
from integraph.frontends.keras.configuration import LayerConfig, foreign
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import along, composite, cut
from integraph.targets import composites

LEAK = 0.2  # of the activation "leaky_relu", where nothing is said
JUMPS = "it jumps, and a quadratic ODE is continuous: replace it by a smooth activation"
SORTS = "it sorts its arguments: replace it by softmax"

Rule = Callable[[LayerCall], Operand]


def unary(name: str) -> Rule:
    """A function of one value that graphs have."""
    return lambda n: n.builder.unary(name, n.tensor(), n.where)


def _composed(draw: Callable[..., int], *keys: str) -> Rule:
    """An activation made of several operations; the numbers with these keys are its parameters, where they are
    given."""

    def rule(n: LayerCall) -> Operand:
        given = [n.number(key) for key in keys if n.get(key) is not None]
        return composite(n, n.operand(), lambda b, x, text: draw(b, x, *given, text=text))

    return rule


def _gelu(n: LayerCall) -> Operand:
    return n.builder.unary("gelu_tanh" if n.flag("approximate", False) else "gelu", n.tensor(), n.where)


def _leaky(n: LayerCall, default: float | None = LEAK) -> Operand:
    slope = n.number("negative_slope", n.get("alpha", default))  # `alpha` in tf.keras
    return n.builder.unary("leaky_relu", n.tensor(), n.where, slope)


def relu(n: LayerCall) -> Operand:
    """x above 0, slope·x below, at most `max_value`."""
    slope, largest = n.number("negative_slope", 0.0), n.get("max_value")
    if n.number("threshold", 0.0):
        raise SourceError(f"{n.where} has a threshold, where {JUMPS}")
    x = (
        n.builder.unary("leaky_relu", n.tensor(), n.where, slope)
        if slope
        else n.builder.unary("relu", n.tensor(), n.where)
    )
    return x if largest is None else n.builder.apply("min", x, np.array(n.number("max_value")), where=n.where)


def _relu6(n: LayerCall) -> Operand:
    return n.builder.apply("min", n.builder.unary("relu", n.tensor(), n.where), np.array(6.0), where=n.where)


def prelu(n: LayerCall) -> Operand:
    """x above 0, alpha·x below, with an alpha for each value, shared along some axes."""
    (alpha,) = n.weights("alpha")
    x = n.tensor()
    shared = n.part.config.get("shared_axes") or []
    axes = n.inner_axes(n.wholes("shared_axes", len(shared)), len(x.shape)) if shared else []
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    return n.builder.unary("leaky_relu", x, n.where, n.fitting(alpha, shape[1:], "alpha").reshape(shape))


def softmax(n: LayerCall) -> Operand:
    return _rows(n, "softmax")


def _rows(n: LayerCall, op: str) -> Operand:
    x = n.tensor()
    axes = n.axes(len(x.shape))
    if len(axes) != 1:
        raise SourceError(f"{n.where} has axis {axes}: only one is read; use Reshape to make one of them")
    return along(n, op, x, axes[0])


def _glu(n: LayerCall) -> Operand:
    """The first half of an axis times the sigmoid of the second."""
    x = n.tensor()
    (axis,) = n.axes(len(x.shape))
    half, odd = divmod(x.shape[axis], 2)
    if odd:
        raise SourceError(f"{n.where} halves an axis of size {x.shape[axis]}: it must be even")
    first, second = (cut(n, x, {axis: (start, 1, half)}) for start in (0, half))
    return n.builder.apply("mul", first, n.builder.apply("sigmoid", second, where=n.where), where=n.where)


def _squareplus(n: LayerCall) -> Operand:
    """(x + √(x² + b))/2."""
    x, draw = n.tensor(), n.builder
    inner = draw.add(draw.mul(x, x, n.where), np.array(n.number("b", 4.0)), n.where)
    return draw.mul(
        draw.add(x, draw.draw("power", inner, where=n.where, data=(Fraction(1, 2),)), n.where), np.array(0.5), n.where
    )


def _sparse_plus(n: LayerCall) -> Operand:
    """0 below −1, (x + 1)²/4 up to 1, x above: with c, x between −1 and 1, it is (c + 1)²/4 + max(x − 1, 0)."""
    x, draw = n.tensor(), n.builder
    middle = draw.lift(composite(n, x, lambda b, k, text: composites.clip(b, k, -1.0, 1.0, text)), n.where)
    half = draw.mul(draw.add(middle, np.array(1.0), n.where), np.array(0.5), n.where)
    above = draw.unary("relu", draw.add(x, np.array(-1.0), n.where), n.where)
    return draw.add(draw.mul(half, half, n.where), above, n.where)


def activation(n: LayerCall, x: Operand) -> Operand:
    """The entry `activation` of a layer, of x: a name, or a layer that does it."""
    given = n.part.config.get("activation")
    if isinstance(given, dict):
        return _layer(n, given, x)
    name = "linear" if given is None else given
    if not isinstance(name, str) or name not in NAMES:
        known = f"known are {', '.join(NAMES)}"
        reason = REFUSED.get(name, known) if isinstance(name, str) else known
        raise SourceError(f"{n.where} has the activation {show(name)}: {reason}")
    return NAMES[name](_of(n, {}, x))


def _of(n: LayerCall, settings: dict[str, Any], x: Operand) -> LayerCall:
    return replace(n, part=LayerConfig(n.part.kind, settings, n.part.place), args=[x], kwargs={})


def _layer(n: LayerCall, given: dict[str, Any], x: Operand) -> Operand:
    kind, settings = given.get("class_name"), given.get("config")
    if isinstance(kind, str) and kind in SIMPLE and isinstance(settings, dict) and not foreign(given):
        return SIMPLE[kind](_of(n, settings, x))
    name = settings if isinstance(settings, str) else kind
    raise SourceError(
        f"{n.where} has the activation {show(name)}, which is not Keras' own: code from a file is never run"
    )


NAMES: dict[str, Rule] = {
    "linear": lambda n: n.operand(),
    **{name: unary(name) for name in ("relu", "silu", "sigmoid", "softplus", "tanh")},
    "gelu": _gelu,
    "leaky_relu": _leaky,
    "swish": unary("silu"),
    "exponential": unary("exp"),
    "celu": _composed(composites.celu),
    "elu": _composed(composites.elu),
    "glu": _glu,
    "hard_sigmoid": _composed(composites.hard_sigmoid_of_six),
    "hard_silu": _composed(composites.hard_swish),
    "hard_swish": _composed(composites.hard_swish),
    "hard_tanh": lambda n: composite(n, n.operand(), lambda b, x, text: composites.clip(b, x, -1.0, 1.0, text)),
    "log_sigmoid": _composed(composites.log_sigmoid),
    "log_softmax": lambda n: _rows(n, "log_softmax"),
    "mish": _composed(composites.mish),
    "relu6": _relu6,
    "selu": _composed(composites.selu),
    "soft_shrink": lambda n: composite(n, n.operand(), lambda b, x, text: composites.softshrink(b, x, 0.5, text)),
    "softmax": softmax,
    "softsign": _composed(composites.softsign),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": lambda n: composite(
        n, n.operand(), lambda b, x, text: composites.hard_sigmoid(b, x, 0.5, 0.5, text)
    ),
    "squareplus": _squareplus,
    "tanh_shrink": _composed(composites.tanhshrink),
}
REFUSED = {"hard_shrink": JUMPS, "threshold": JUMPS, "sparsemax": SORTS}
SIMPLE: dict[str, Rule] = {  # layers without weights
    "Activation": lambda n: activation(n, n.operand()),
    "ELU": _composed(composites.elu, "alpha"),
    "LeakyReLU": lambda n: _leaky(n, None),
    "ReLU": relu,
    "Softmax": softmax,
}
ACTIVATION_OPERATIONS: dict[str, Rule] = {
    "Celu": _composed(composites.celu, "alpha"),
    "Elu": _composed(composites.elu, "alpha"),
    "Gelu": lambda n: n.builder.unary("gelu_tanh" if n.flag("approximate", True) else "gelu", n.tensor(), n.where),
    "Glu": _glu,
    "HardSigmoid": NAMES["hard_sigmoid"],
    "HardSilu": NAMES["hard_silu"],
    "HardTanh": NAMES["hard_tanh"],
    "LeakyRelu": _leaky,
    "LogSigmoid": NAMES["log_sigmoid"],
    "LogSoftmax": NAMES["log_softmax"],
    "Relu": unary("relu"),
    "Relu6": _relu6,
    "Selu": NAMES["selu"],
    "Sigmoid": unary("sigmoid"),
    "Silu": unary("silu"),
    "SoftShrink": lambda n: composite(
        n, n.operand(), lambda b, x, text: composites.softshrink(b, x, n.number("threshold", 0.5), text)
    ),
    "Softmax": softmax,
    "Softplus": unary("softplus"),
    "Softsign": NAMES["softsign"],
    "SparsePlus": _sparse_plus,
    "SparseSigmoid": NAMES["sparse_sigmoid"],
    "Squareplus": _squareplus,
    "TanhShrink": NAMES["tanh_shrink"],
}
