"""Activations of torch, with their parameters; kinks are those of ReLU, min and max, and are smoothed as these are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import composite, extreme
from integraph.frontends.torch.arithmetic import Rule, scaled
from integraph.frontends.torch.call import TorchCall
from integraph.numbers.arrays import Floats
from integraph.targets import composites
from integraph.targets.graph_builder import Builder

THRESHOLD = 20.0  # of torch's softplus; below it, the jump to the linear part is not a rounding any more


def drawn(draw: Callable[[Builder, int, str], int]) -> Rule:
    """An activation without parameters, from `targets.composites`."""
    return lambda call: composite(call, call.traced(), draw)


def softplus(call: TorchCall) -> Operand:
    """log(1 + e^{βx})/β; above threshold/β torch returns x."""
    beta, threshold = call.number("beta", 1.0), call.number("threshold", 20.0)
    if beta == 0 or not math.isfinite(beta):
        raise SourceError(f"{call.where} has beta = {beta}: softplus needs a finite beta that is not 0")
    jump = math.log1p(math.exp(-threshold)) / abs(beta) if threshold > -700 else math.inf
    if threshold < THRESHOLD:
        raise SourceError(
            f"{call.where} has threshold = {threshold:g}: there torch jumps by {jump:.2g} to x, which is no smooth "
            f"function; use the default {THRESHOLD:g}, or more"
        )
    if jump:
        said = f"torch returns x where beta·x > {threshold:g}, at most {jump:.1e} from softplus"
        call.notes.append(f"{call.where}: {said}")
    value = call.builder.unary("softplus", call.builder.lift(scaled(call, call.traced(), beta), call.where), call.where)
    return value if beta == 1 else call.builder.div(value, np.array(beta), call.where)


def gelu(call: TorchCall) -> Operand:
    kind = call["approximate"] or "none"
    names = {"none": "gelu", "tanh": "gelu_tanh"}
    if kind not in names:
        raise SourceError(f"{call.where} has approximate = {kind!r}: known are 'none' and 'tanh'")
    return call.builder.unary(names[kind], call.traced(), call.where)


def leaky_relu(call: TorchCall) -> Operand:
    return call.builder.unary("leaky_relu", call.traced(), call.where, call.number("negative_slope", 0.01))


def prelu(call: TorchCall) -> Operand:
    x, slope = call.traced(), call.constant("weight")
    leak = slope if slope.size == 1 else channels(slope, x)
    return call.builder.unary("leaky_relu", x, call.where, leak)


def random_relu(call: TorchCall) -> Operand:
    """In eval mode: the mean slope."""
    if call["training"]:
        raise SourceError(f"{call.where} draws random slopes: pass training=self.training")
    slope = (call.number("lower", 1 / 8) + call.number("upper", 1 / 3)) / 2
    return call.builder.unary("leaky_relu", call.traced(), call.where, slope)


def elu(call: TorchCall) -> Operand:
    """scale·(x above 0, alpha·(e^(input_scale·x) − 1) below)."""
    alpha, scale, inner = (call.number(name, 1.0) for name in ("alpha", "scale", "input_scale"))
    if inner != 1.0:
        raise SourceError(f"{call.where} has input_scale = {inner:g}: only 1 is read")
    value = composite(call, call.traced(), lambda b, x, text: composites.elu(b, x, alpha, text))
    return scaled(call, value, scale)


def celu(call: TorchCall) -> Operand:
    alpha = call.number("alpha", 1.0)
    if not alpha:
        raise SourceError(f"{call.where} has alpha = 0, by which it divides")
    return composite(call, call.traced(), lambda b, x, text: composites.celu(b, x, alpha, text))


def hard_tanh(call: TorchCall) -> Operand:
    low, high = call.number("min_val", -1.0), call.number("max_val", 1.0)
    return composite(call, call.traced(), lambda b, x, text: composites.clip(b, x, low, high, text))


def relu_of_six(call: TorchCall) -> Operand:
    return composite(call, call.traced(), lambda b, x, text: composites.clip(b, x, 0.0, 6.0, text))


def threshold(call: TorchCall) -> Operand:
    """x above a threshold, else a value, which must be the threshold."""
    at, value = call.number("threshold", 0.0), call.number("value", 0.0)
    if at != value:
        raise SourceError(f"{call.where} jumps from {value:g} to {at:g} where x passes {at:g}: no ODE does")
    return extreme(call, "max", call.traced(), np.array(at))


def channels(vector: Floats, x: TensorValue) -> Floats:
    """One number for each channel, which is axis 1 where there is one."""
    return vector.reshape(-1, *(1 for _ in x.shape[2:])) if len(x.shape) > 1 else vector
