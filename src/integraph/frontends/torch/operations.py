"""What each ATen operation is to a graph: one rule for each, from its arguments by name; and why others are none."""

from __future__ import annotations

from fractions import Fraction

from integraph.frontends.torch import activations, arithmetic, products, reductions, structure, windows
from integraph.frontends.torch.arithmetic import Rule, function
from integraph.targets import composites

FUNCTIONS = {  # of torch, by their names in a graph
    **{name: name for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp")},
    **{name: name for name in ("expm1", "log10", "log1p", "log2", "relu", "sigmoid", "silu", "sin", "sinh", "sqrt")},
    **{name: name for name in ("tan", "tanh")},
    "log": "ln",
}

INTERPOLATIONS = {  # and how many axes they have
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_trilinear3d": 3,
    "_upsample_bilinear2d_aa": 2,
    "_upsample_bicubic2d_aa": 2,
}

RULES: dict[str, Rule] = {
    **{name: function(known) for name, known in FUNCTIONS.items()},
    **{f"avg_pool{n}d": windows.average_pool(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": windows.max_pool(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": windows.max_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": windows.adaptive_average_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": windows.adaptive_max_pool(n) for n in (1, 2, 3)},
    **{f"conv{n}d": windows.convolution for n in (1, 2, 3)},
    **{name: windows.interpolation(name, count) for name, count in INTERPOLATIONS.items()},
    "add": arithmetic.add,
    "addbmm": products.weighted_sum("batch1", "batch2"),
    "addmm": products.weighted_sum("mat1", "mat2"),
    "addmv": products.weighted_sum("mat", "vec"),
    "amax": reductions.largest_along("max"),
    "amin": reductions.largest_along("min"),
    "baddbmm": products.weighted_sum("batch1", "batch2"),
    "batch_norm": reductions.batch_norm,
    "bmm": products.factors("self", "mat2"),
    "cat": structure.concatenate,
    "celu": activations.celu,
    "clamp": arithmetic.clamp,
    "clamp_max": arithmetic.clamp,
    "clamp_min": arithmetic.clamp,
    "clone": arithmetic.copy,
    "constant_pad_nd": windows.constant_pad,
    "contiguous": arithmetic.copy,
    "convolution": windows.convolution,
    "cumsum": reductions.running_sum,
    "detach": arithmetic.copy,
    "div": arithmetic.divide,
    "dot": products.factors("self", "tensor"),
    "elu": activations.elu,
    "exp2": arithmetic.power_of_two,
    "gelu": activations.gelu,
    "group_norm": reductions.group_norm,
    "hardsigmoid": activations.drawn(composites.hard_sigmoid_of_six),
    "hardswish": activations.drawn(composites.hard_swish),
    "hardtanh": activations.hard_tanh,
    "inner": products.inner,
    "instance_norm": reductions.instance_norm,
    "layer_norm": reductions.layer_norm,
    "leaky_relu": activations.leaky_relu,
    "linalg_vector_norm": reductions.norm,
    "linear": products.linear,
    "log_sigmoid": activations.drawn(composites.log_sigmoid),
    "log_softmax": reductions.softmax("log_softmax"),
    "logsumexp": reductions.log_sum_exp,
    "masked_fill": arithmetic.masked_fill,
    "matmul": products.factors("self", "other"),
    "max": reductions.largest("max"),
    "maximum": arithmetic.maximum,
    "mean": reductions.mean,
    "min": reductions.largest("min"),
    "minimum": arithmetic.minimum,
    "mish": activations.drawn(composites.mish),
    "mm": products.factors("self", "mat2"),
    "mul": arithmetic.multiply,
    "mv": products.factors("self", "vec"),
    "neg": arithmetic.negative,
    "outer": products.outer,
    "pow": arithmetic.power,
    "prelu": activations.prelu,
    "prod": reductions.entries_product,
    "reciprocal": arithmetic.fixed_power(Fraction(-1)),
    "relu6": activations.relu_of_six,
    "rms_norm": reductions.rms_norm,
    "rrelu": activations.random_relu,
    "rsqrt": arithmetic.fixed_power(Fraction(-1, 2)),
    "rsub": arithmetic.reverse_subtract,
    "scaled_dot_product_attention": products.attention,
    "selu": activations.drawn(lambda b, x, text: composites.selu(b, x, text=text)),
    "softmax": reductions.softmax("softmax"),
    "softplus": activations.softplus,
    "square": arithmetic.fixed_power(Fraction(2)),
    "stack": structure.stack,
    "std": reductions.deviation,
    "sub": arithmetic.subtract,
    "sum": reductions.total,
    "threshold": activations.threshold,
    "to": arithmetic.copy,
    "tril": arithmetic.triangle(upper=False),
    "triu": arithmetic.triangle(upper=True),
    "var": reductions.variance,
    "where": arithmetic.where,
}

ALIASES = {  # other names of the same operations, and what functional graphs write for them
    "_native_batch_norm_legit_no_training": "batch_norm",
    "_to_copy": "to",
    "_unsafe_view": "view",
    "absolute": "abs",
    "alias": "clone",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "clip": "clamp",
    "concat": "cat",
    "divide": "div",
    "float_power": "pow",
    "lift_fresh_copy": "clone",
    "multiply": "mul",
    "negative": "neg",
    "special_erf": "erf",
    "special_exp2": "exp2",
    "special_expit": "sigmoid",
    "special_expm1": "expm1",
    "special_log1p": "log1p",
    "special_log_softmax": "log_softmax",
    "special_logsumexp": "logsumexp",
    "special_softmax": "softmax",
    "subtract": "sub",
    "swapdims": "transpose",
    "true_divide": "div",
    "type_as": "to",
}

JUMPS = "it jumps, and no ODE does: leave this step to the code around the compiled part"
ORDER = "it orders or picks entries by the data: compile the scores before it, and choose outside"
REASONS = {  # why there can be no rule, and the way round
    **dict.fromkeys(("ceil", "floor", "floor_divide", "fmod", "frac", "remainder", "round", "sign", "trunc"), JUMPS),
    **dict.fromkeys(("hardshrink", "heaviside", "nan_to_num"), JUMPS),
    **dict.fromkeys(("argmax", "argmin", "argsort", "kthvalue", "median", "mode", "msort", "sort", "topk"), ORDER),
    **dict.fromkeys(("bincount", "nonzero", "searchsorted", "unique"), ORDER),
    "_native_batch_norm_legit": "it normalises by the statistics of its batch: train with track_running_stats=True",
    "as_strided": "it reads the memory of a tensor, whatever its shape: use slices and views",
    "embedding": "it looks up tokens that depend on the input: compile what comes after the embedding",
}
MEANT = (
    "read are arithmetic, products of matrices, sums, means, max and min, softmax, attention, normalisation, "
    "activations, convolutions, pooling, and what moves entries: write it with these"
)

GATES = "use torch.maximum, relu or clamp, or a smooth gate such as sigmoid"


def known(name: str) -> bool:
    """Whether there is a rule for an operation, by its name without `aten::`."""
    return ALIASES.get(name, name) in RULES or ALIASES.get(name, name) in structure.PLACES
