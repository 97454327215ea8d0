"""What each Keras layer draws: one table by class. A class without a rule is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.frontends.keras import activations, attention, convolutions, einsum, normalisations, structure
from integraph.frontends.keras.arguments import show
from integraph.frontends.keras.configuration import LayerConfig, foreign, want
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import product
from integraph.numbers.arrays import Floats

WIDEST = 1 << 20  # inputs
IDLE = (  # do nothing once the model is trained
    "ActivityRegularization", "AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "Identity",
    "SpatialDropout1D", "SpatialDropout2D",
)  # fmt: skip
RECURRENT = "it is recurrent: unroll it over the fixed number of steps, with Dense, Add and Multiply, and save that"
CODE = "it holds code, which is never run: write it with Keras' own layers or keras.ops, and save that"
REASONS = {  # why some classes have no rule, and the way round
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D"), RECURRENT),
    "Lambda": CODE,
    "Masking": "its mask is chosen by the data: give attention_mask, a constant, where attention needs one",
    "HardShrink": activations.JUMPS,
    "Threshold": activations.JUMPS,
    "Sparsemax": activations.SORTS,
}
ALONE = ("Activation", "Dense", "Dropout", "ELU", "LeakyReLU", "ReLU")  # act on the last axis, or on each number
KEYWORDS = {  # options of a call that a rule reads
    "MultiHeadAttention": ("value", "key", "use_causal_mask", "attention_mask", "return_attention_scores"),
    "Attention": ("use_causal_mask", "return_attention_scores"),
    "AdditiveAttention": ("use_causal_mask", "return_attention_scores"),
}


def input_shape(part: LayerConfig) -> tuple[int, ...]:
    """Without the batch."""
    given = part.config.get("batch_shape", part.config.get("batch_input_shape"))
    sizes = given[1:] if isinstance(given, list) else None
    kind = part.config.get("dtype") if part.kind == "InputLayer" else None
    if isinstance(kind, str) and "float" not in kind:
        raise SourceError(
            f"{part} takes {kind}: Keras rounds what comes in, and a network takes real numbers; of a model of tokens, "
            "compile the part after the embedding"
        )
    if not sizes or not all(type(n) is int and n > 0 for n in sizes):
        raise SourceError(f"{part} has shape {given}: every size but that of the batch must be known")
    shape = tuple(sizes)
    if math.prod(shape) > WIDEST:
        raise SourceError(f"{part} has shape {given}: at most {WIDEST} inputs are accepted")
    return shape


def kernel_and_bias(n: LayerCall) -> list[Floats]:
    """Of a Dense layer."""
    return n.weights("kernel", *(("bias",) if n.flag("use_bias", True) else ()))


def _input(n: LayerCall) -> Operand:
    x, shape = n.operand(), input_shape(n.part)
    if x.shape[1:] != shape:
        raise SourceError(f"{n.where} takes values of shape {shape}, but {x.shape[1:]} come in")
    return x


def _dense(n: LayerCall) -> Operand:
    """Of the last axis."""
    x, units = n.operand(), n.part.config.get("units")
    kernel, *bias = kernel_and_bias(n)
    if type(units) is not int:
        raise FileError(f"the configuration of {n.where} has units = {units!r}: needs int")
    if len(x.shape) < 2 or kernel.shape != (x.shape[-1], units) or any(b.shape != (units,) for b in bias):
        raise FileError(
            f"{n.where} has {kernel.shape} weights and {[b.shape for b in bias]} biases in the file: "
            f"for values of shape {x.shape[1:]} it needs {(*x.shape[-1:], units)} and {(units,)}"
        )
    total = product(n, x, kernel)
    total = n.builder.apply("add", total, bias[0], where=n.where) if bias else total
    return activations.activation(n, total)


def _embedding(n: LayerCall) -> Operand:
    """Of tokens that are constants."""
    x = n.operand()
    if isinstance(x, TensorValue):
        raise SourceError(
            f"{n.where} looks up tokens that come in, which are no real numbers: compile the part after it, whose "
            "input is the vectors, keras.Model(embedding.output, model.output)"
        )
    (table,) = n.weights("embeddings")
    if table.ndim != 2 or x.dtype.kind not in "iu" or x.min(initial=0) < 0 or x.max(initial=0) >= len(table):
        raise SourceError(f"{n.where} looks up tokens that its table of shape {table.shape} does not have")
    return np.asarray(table[x])


def _time_distributed(n: LayerCall) -> Operand | list[Operand]:
    """Around a layer that acts on the last axis, or on each number, alone."""
    entry = want(n.part.config, "layer", dict, n.where)
    kind, config = want(entry, "class_name", str, n.where), want(entry, "config", dict, n.where)
    if kind not in ALONE or foreign(entry):
        raise SourceError(
            f"{n.where} repeats a {show(kind)}: read are {', '.join(ALONE)}; call another layer on every step, and "
            "stack the results"
        )
    place = n.part.place.within("layer", want(config, "name", str, n.where))
    return LAYERS[kind](LayerCall(LayerConfig(kind, config, place), n.args, n.kwargs, n.reading))


def _identity(n: LayerCall) -> Operand:
    return n.operand()


LAYERS: dict[str, Callable[[LayerCall], Operand | list[Operand]]] = {
    **dict.fromkeys(IDLE, _identity),
    **activations.SIMPLE,
    "Add": structure.merged("add"),
    "AdditiveAttention": attention.additive,
    "Attention": attention.dot_product,
    "Average": structure.average,
    **dict.fromkeys(("AveragePooling1D", "AveragePooling2D"), convolutions.average_pooling),
    "BatchNormalization": normalisations.batch_normalization,
    "Concatenate": structure.concatenate,
    **dict.fromkeys(("Conv1D", "Conv2D"), convolutions.convolution),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose"), convolutions.transposed_convolution),
    **dict.fromkeys(("Cropping1D", "Cropping2D"), structure.cropping),
    "Dense": _dense,
    **dict.fromkeys(("DepthwiseConv1D", "DepthwiseConv2D"), convolutions.depthwise),
    "Dot": structure.dot,
    "Embedding": _embedding,
    "EinsumDense": einsum.dense,
    "Flatten": structure.flatten,
    **dict.fromkeys(("GlobalAveragePooling1D", "GlobalAveragePooling2D"), convolutions.global_average),
    **dict.fromkeys(("GlobalMaxPooling1D", "GlobalMaxPooling2D"), convolutions.global_max),
    "GroupNormalization": normalisations.group_normalization,
    "InputLayer": _input,
    "LayerNormalization": normalisations.layer_normalization,
    **dict.fromkeys(("MaxPooling1D", "MaxPooling2D"), convolutions.max_pooling),
    "Maximum": structure.merged("max"),
    "Minimum": structure.merged("min"),
    "MultiHeadAttention": attention.multi_head,
    "Multiply": structure.merged("mul"),
    "Normalization": normalisations.normalization,
    "PReLU": activations.prelu,
    "Permute": structure.permute,
    "RMSNormalization": normalisations.rms_normalization,
    "RepeatVector": structure.repeat_vector,
    "Rescaling": normalisations.rescaling,
    "Reshape": structure.reshape,
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), convolutions.separable),
    "Subtract": structure.subtract,
    "TimeDistributed": _time_distributed,
    "UnitNormalization": normalisations.unit_normalization,
    **dict.fromkeys(("UpSampling1D", "UpSampling2D"), structure.up_sampling),
    **dict.fromkeys(("ZeroPadding1D", "ZeroPadding2D"), structure.zero_padding),
}
