"""What each ATen operation does to a traced value: one rule for each, from its arguments by name.

Numbers in the code of `forward` are taken as written (0.1 is the double), weights as they are stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.torch.call import TorchCall, array
from integraph.frontends.tracer import TracedValue
from integraph.numbers.arrays import Floats

THRESHOLD = 20.0  # of torch's softplus; below it, the jump to the linear part is not a rounding any more

Rule = Callable[[TorchCall], TracedValue]


def linear(call: TorchCall) -> TracedValue:
    x, W = call.traced("input"), call.constant("weight")
    bias = None if call["bias"] is None else call.constant("bias")
    return call.tracer.dense(_row(call, x), W if W.ndim == 2 else W[None], bias, call.where)


def inner(call: TorchCall) -> TracedValue:
    """Last axis with last axis."""
    left = isinstance(call["self"], TracedValue)
    x, W = ("self", "other") if left else ("other", "self")
    return linear(TorchCall(call.tracer, call.where, {"input": call[x], "weight": call[W]}))


def product(call: TorchCall, left: str = "self", right: str = "other") -> TracedValue:
    """Matrix products with one constant factor, whichever side it is on."""
    a, b = call.operand(left), call.operand(right)
    if isinstance(a, TracedValue) and isinstance(b, TracedValue):
        raise SourceError(
            f"{call.where} multiplies two computed tensors, from {a.where} and {b.where}: one must be a constant"
        )
    if isinstance(a, TracedValue):
        return call.tracer.dense(_row(call, a), _matrix(call, b).T if b.ndim > 1 else b[None], None, call.where)
    if isinstance(b, TracedValue):
        if len(b.shape) > 1 and b.shape[-1] != 1:
            raise SourceError(
                f"{call.where} multiplies a constant with shape {b.shape}: needs one column, or the input on the left"
            )
        return call.tracer.dense(b, _matrix(call, a), None, call.where)
    raise SourceError(f"{call.where}: its product has no factor that depends on the input")


def add_product(call: TorchCall, left: str, right: str) -> TracedValue:
    """beta·self + alpha·left@right."""
    alpha, beta = (1.0 if call[n] is None else float(call[n]) for n in ("alpha", "beta"))
    result = product(call, left, right)
    if alpha != 1:
        result = call.tracer.mul(result, np.array(alpha), call.where)
    return call.tracer.add(result, beta * call.constant("self").ravel(), call.where)


def _row(call: TorchCall, x: TracedValue) -> TracedValue:
    if not x.shape or x.shape[-1] != x.features:
        raise SourceError(
            f"{call.where} acts on the last axis only of shape {x.shape}: flatten the features into one axis first"
        )
    return x


def _matrix(call: TorchCall, weights: Floats) -> Floats:
    """(1, …, 1, m, n) as (m, n); a vector as one row."""
    if weights.ndim < 2:
        return weights.reshape(1, -1)
    if math.prod(weights.shape[:-2]) != 1:
        raise SourceError(f"{call.where} multiplies by weights of shape {weights.shape}: one matrix is supported")
    return weights.reshape(weights.shape[-2:])


def activation(name: str, argument: str = "self") -> Rule:
    return lambda call: call.tracer.unary(name, call.traced(argument), call.where)


def _add(call: TorchCall, sign: float = 1.0) -> TracedValue:
    """self ± alpha·other."""
    other = call.operand("other")
    factor = sign * float(1 if call["alpha"] is None else call["alpha"])
    if factor != 1.0:
        other = (
            call.tracer.mul(other, np.array(factor), call.where) if isinstance(other, TracedValue) else factor * other
        )
    return call.tracer.add(call.operand("self"), other, call.where)


def _subtract(call: TorchCall) -> TracedValue:
    return _add(call, -1.0)


def _reverse_subtract(call: TorchCall) -> TracedValue:
    """other − alpha·self."""
    return _subtract(TorchCall(call.tracer, call.where, {**call.args, "self": call["other"], "other": call["self"]}))


def _multiply(call: TorchCall) -> TracedValue:
    return call.tracer.mul(call.operand("self"), call.operand("other"), call.where)


def _divide(call: TorchCall) -> TracedValue:
    if call["rounding_mode"] is not None:
        raise SourceError(f"{call.where} rounds to integers: only plain division is supported")
    return call.tracer.div(call.operand("self"), call.operand("other"), call.where)


def _power(call: TorchCall) -> TracedValue:
    exponent = call.constant("exponent")
    if exponent.size != 1:
        raise SourceError(f"{call.where} takes {exponent.size} different powers: one is supported, 2 or 3")
    return call.tracer.power(call.traced(), float(exponent.reshape(())), call.where)


def _square(call: TorchCall) -> TracedValue:
    return call.tracer.power(call.traced(), 2, call.where)


def _softplus(call: TorchCall) -> TracedValue:
    """log(1 + e^{βx})/β; above threshold/β torch returns x."""
    beta, threshold = (
        float(default if call[n] is None else call[n]) for n, default in (("beta", 1), ("threshold", 20))
    )
    if beta == 0 or not math.isfinite(beta):
        raise SourceError(f"{call.where} has beta = {beta}: softplus needs a finite beta that is not 0")
    jump = math.log1p(math.exp(-threshold)) / abs(beta) if threshold > -700 else math.inf
    if threshold < THRESHOLD:
        raise SourceError(
            f"{call.where} has threshold = {threshold:g}: there torch jumps by {jump:.2g} to x, which is no smooth "
            f"function; use the default {THRESHOLD:g}, or more"
        )
    call.notes.append(f"{call.where}: torch returns x where beta·x > {threshold:g}, at most {jump:.1e} from softplus")
    scaled = call.tracer.unary("softplus", call.tracer.mul(call.traced(), np.array(beta), call.where), call.where)
    return scaled if beta == 1 else call.tracer.div(scaled, np.array(beta), call.where)


def _gelu(call: TorchCall) -> TracedValue:
    kind = call["approximate"] or "none"
    names = {"none": "gelu", "tanh": "gelu_tanh"}
    if kind not in names:
        raise SourceError(f"{call.where} has approximate = {kind!r}: known are 'none' and 'tanh'")
    return call.tracer.unary(names[kind], call.traced(), call.where)


def _leaky_relu(call: TorchCall) -> TracedValue:
    slope = 0.01 if call["negative_slope"] is None else call["negative_slope"]
    return call.tracer.unary("leaky_relu", call.traced(), call.where, array(slope))


def _prelu(call: TorchCall) -> TracedValue:
    x, slope = call.traced(), call.constant("weight")
    return call.tracer.unary("leaky_relu", x, call.where, slope if slope.size == 1 else _channels(slope, x))


def _batch_norm(call: TorchCall) -> TracedValue:
    """(x − mean)/√(var + eps)·weight + bias, with the statistics that training left."""
    x = call.traced("input")
    if call["training"]:
        raise SourceError(
            f"{call.where} normalises by the statistics of its batch, so outputs depend on the other rows: train with "
            "track_running_stats=True"
        )
    mean, variance = call.constant("running_mean"), call.constant("running_var")
    weight = np.ones_like(mean) if call["weight"] is None else call.constant("weight")
    bias = np.zeros_like(mean) if call["bias"] is None else call.constant("bias")
    with np.errstate(all="ignore"):  # what is not finite is refused below
        scale = weight / np.sqrt(variance + float(call["eps"]))
        shift = bias - mean * scale
    call.notes.append(f"{call.where}: scale and shift computed from the running statistics, rounded to float64")
    scaled = call.tracer.mul(x, _channels(scale, x), call.where)
    return call.tracer.add(scaled, _channels(shift, x), call.where)


def _channels(vector: Floats, x: TracedValue) -> Floats:
    """One number for each channel, which is axis 1 where there is one."""
    return vector.reshape(-1, *(1 for _ in x.shape[2:])) if len(x.shape) > 1 else vector


def _copy(call: TorchCall) -> TracedValue:
    return call.traced()


RULES: dict[str, Rule] = {
    "add": _add,
    "addmm": lambda call: add_product(call, "mat1", "mat2"),
    "addmv": lambda call: add_product(call, "mat", "vec"),
    "atan": activation("arctan"),
    "batch_norm": _batch_norm,
    "bmm": lambda call: product(call, "self", "mat2"),
    "clone": _copy,
    "contiguous": _copy,
    "detach": _copy,
    "div": _divide,
    "dot": lambda call: product(call, "self", "tensor"),
    "erf": activation("erf"),
    "exp": activation("exp"),
    "gelu": _gelu,
    "inner": inner,
    "leaky_relu": _leaky_relu,
    "linear": linear,
    "matmul": product,
    "mm": lambda call: product(call, "self", "mat2"),
    "mul": _multiply,
    "mv": lambda call: product(call, "self", "vec"),
    "neg": lambda call: call.tracer.neg(call.traced(), call.where),
    "pow": _power,
    "prelu": _prelu,
    "relu": activation("relu"),
    "rsub": _reverse_subtract,
    "sigmoid": activation("sigmoid"),
    "silu": activation("silu"),
    "sin": activation("sin"),
    "softplus": _softplus,
    "square": _square,
    "sub": _subtract,
    "tanh": activation("tanh"),
    "to": _copy,
}

ALIASES = {  # other names of the same operations, and what functional graphs write for them
    "_native_batch_norm_legit_no_training": "batch_norm",
    "_to_copy": "to",
    "_unsafe_view": "view",
    "alias": "clone",
    "arctan": "atan",
    "divide": "div",
    "float_power": "pow",
    "lift_fresh_copy": "clone",
    "multiply": "mul",
    "negative": "neg",
    "special_erf": "erf",
    "special_expit": "sigmoid",
    "subtract": "sub",
    "true_divide": "div",
    "type_as": "to",
}

SHAPES = (
    "expand",
    "flatten",
    "index",
    "permute",
    "reshape",
    "select",
    "slice",
    "squeeze",
    "t",
    "transpose",
    "unsqueeze",
    "view",
)
"""Operations that only arrange features."""

SUPPORTED = ", ".join(sorted({*RULES, *SHAPES, "dropout"}))
