"""Random typed graphs: which operators there are, how often each comes, on which inputs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fuzz.onnx import conditions, moves, pointwise, sums, windows
from fuzz.onnx.case import Case
from fuzz.onnx.constants import dead
from fuzz.onnx.drawing import Drawing, Unfit

OPSETS = tuple(range(7, 27))  # onnxruntime knows no later one, and does not broadcast as before
SHAPES = (
    (),
    (1,),
    (2,),
    (3,),
    (5,),
    (1, 1),
    (1, 3),
    (2, 2),
    (3, 1),
    (2, 3),
    (1, 2, 2),
    (2, 1, 3),
    (1, 1, 2, 2),
    (1, 2, 3, 2),
)
BOXES = ((-1.0, 1.0), (0.0, 1.0), (0.5, 2.0), (-2.0, -0.5), (-3.0, 3.0), (0.25, 0.25), (-40.0, 60.0), (0.0, 1e-3))
USUAL = 5  # of them
NODES = (1, 12)  # operators that are asked for; some come with others
THOROUGH, LAWFUL, SINGLE = 0.08, 0.1, 0.15

Rule = Callable[[Drawing, str], None]
COMPARISONS = ("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Or")
RULES: dict[str, Rule] = {
    **dict.fromkeys(pointwise.DOMAINS, pointwise.function),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), pointwise.arithmetic),
    **dict.fromkeys(COMPARISONS, conditions.compare),
    **dict.fromkeys(("ReduceL2", "ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceLogSumExp"), sums.reduce),
    "ReduceLogSum": sums.reduce_log_sum,
    **dict.fromkeys(("Softmax", "LogSoftmax"), sums.softmax),
    **dict.fromkeys(("Max", "Min"), pointwise.extreme),
    **dict.fromkeys(("Elu", "Celu", "Selu", "HardSigmoid"), pointwise.with_numbers),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), windows.global_pool),
    "AveragePool": windows.average_pool,
    "BatchNormalization": pointwise.batch_normalisation,
    "Cast": moves.cast,
    "Clip": pointwise.clip,
    "Concat": moves.concat,
    "Constant": conditions.constant,
    "ConstantOfShape": conditions.constant_of_shape,
    "Conv": windows.convolution,
    "ConvTranspose": windows.transposed_convolution,
    "CumSum": conditions.running_sum,
    "Dropout": moves.dropout,
    "Expand": moves.expand,
    "FastGelu": pointwise.fast_gelu,
    "Flatten": moves.flatten,
    "Gather": moves.gather,
    "Gelu": pointwise.gelu,
    "Gemm": sums.gemm,
    "Identity": moves.identity,
    "IsNaN": conditions.is_nan,
    "LayerNormalization": sums.layer_normalisation,
    "LeakyRelu": pointwise.leaky_relu,
    "LpPool": windows.norm_pool,
    "MaxPool": windows.max_pool,
    "MatMul": sums.matmul,
    "Mod": conditions.remainder,
    "Not": conditions.negation,
    "PRelu": pointwise.prelu,
    "Pad": windows.pad,
    "Pow": pointwise.power,
    "Resize": windows.resize,
    "Range": conditions.arange,
    "Reshape": moves.reshape,
    "Shape": conditions.shape,
    "Slice": moves.slices,
    "Split": moves.split,
    "Squeeze": moves.squeeze,
    "Upsample": windows.upsample,
    "Swish": pointwise.swish,
    "Transpose": moves.transpose,
    "Trilu": conditions.triangle,
    "Unsqueeze": moves.unsqueeze,
    "Where": conditions.where,
}
OFTEN = {
    **dict.fromkeys(("Add", "Sub", "Mul", "MatMul", "Concat", "Transpose", "Reshape", "Expand"), 4.0),
    **dict.fromkeys(("Gather", "Slice", "Split", "ReduceSum", "ReduceMean", "Div", "Relu", "Softmax"), 2.0),
    **dict.fromkeys((*COMPARISONS, "Not", "IsNaN", "Mod", "Range", "Trilu", "CumSum", "Identity", "Dropout"), 0.3),
}
NAMES = tuple(RULES)
WEIGHTS = np.array([OFTEN.get(name, 1.0) for name in NAMES])
WEIGHTS /= WEIGHTS.sum()


def draw(rng: np.random.Generator, laws: tuple[str, ...] = ()) -> Case:
    """A case, whose graph has at least one node."""
    while True:
        try:
            return _draw(rng, laws)
        except Unfit:
            continue


def _draw(rng: np.random.Generator, laws: tuple[str, ...]) -> Case:
    shape = SHAPES[rng.integers(len(SHAPES))]
    low, high = _box(rng, math.prod(shape))
    d = Drawing(rng, int(rng.choice(OPSETS)), shape, low, high, bool(rng.random() < SINGLE))
    for _ in range(d.integer(*NODES)):
        grow(d)
        if d.full:
            break
    return d.case(
        seed=int(rng.integers(2**31)),
        batch=len(shape) > 1 and shape[0] == 1 and d.chance(0.3),
        thorough=d.chance(THOROUGH),
        law=d.one(laws) if laws and d.chance(LAWFUL) else "",
    )


def grow(d: Drawing) -> None:
    """One operator more, or what is constant on the box; one that does not fit what there is is left out."""
    name = str(d.rng.choice(NAMES, p=WEIGHTS))
    try:
        if d.chance(0.12):
            dead(d)
        else:
            RULES[name](d, name)
    except Unfit:
        pass


def _box(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    if rng.random() < 0.7:
        low, high = BOXES[rng.integers(USUAL if rng.random() < 0.9 else len(BOXES))]
        return np.full(size, low), np.full(size, high)
    pairs = np.array([BOXES[k] for k in rng.integers(len(BOXES), size=size)]).reshape(size, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()
