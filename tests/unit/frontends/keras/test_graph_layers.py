"""Every Keras layer of the table, drawn as a graph, computes what Keras computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from integraph.frontends.keras.activations import NAMES
from integraph.frontends.keras.layers import LAYERS
from keras_models import agree, graph_model
from slow import mostly_slow

Make = Callable[[Any], Any]  # from keras.layers to a layer
Case = tuple[tuple[int, ...], Make]

LAYER_CASES: dict[str, Case] = {
    "Dense": ((4, 3), lambda L: L.Dense(2, activation="tanh")),
    "Dense of three axes": ((2, 4, 3), lambda L: L.Dense(2)),
    "ELU": ((3,), lambda L: L.ELU(0.7)),
    "PReLU": ((4, 3), lambda L: L.PReLU()),
    "PReLU shared": ((4, 3, 2), lambda L: L.PReLU(shared_axes=[1, 2])),
    "ReLU": ((3,), lambda L: L.ReLU(max_value=0.8, negative_slope=0.2)),
    "LeakyReLU": ((4, 3), lambda L: L.LeakyReLU(0.3)),
    "Softmax": ((4, 3), lambda L: L.Softmax()),
    "Softmax of an axis": ((4, 3), lambda L: L.Softmax(axis=1)),
    "BatchNormalization": ((4, 3), lambda L: L.BatchNormalization(axis=1)),
    "LayerNormalization": ((4, 3), lambda L: L.LayerNormalization()),
    "LayerNormalization of two axes": ((4, 3), lambda L: L.LayerNormalization(axis=[1, 2], epsilon=0.1)),
    "LayerNormalization plain": ((4, 3), lambda L: L.LayerNormalization(center=False, scale=False)),
    "LayerNormalization rms": ((4, 3), lambda L: L.LayerNormalization(rms_scaling=True)),
    "RMSNormalization": ((4, 3), lambda L: L.RMSNormalization()),
    "GroupNormalization": ((4, 6), lambda L: L.GroupNormalization(3)),
    "GroupNormalization all": ((5, 4, 6), lambda L: L.GroupNormalization(-1, center=False)),
    "GroupNormalization first": ((6, 5), lambda L: L.GroupNormalization(2, axis=1)),
    "UnitNormalization": ((4, 3), lambda L: L.UnitNormalization()),
    "Normalization": ((4, 3), lambda L: L.Normalization(axis=1, mean=[1.0, 2, 3, 4], variance=[0.3, 1, 2, 3])),
    "Normalization of all": ((4, 3), lambda L: L.Normalization(axis=None, mean=0.3, variance=2.0)),
    "Rescaling": ((4, 3), lambda L: L.Rescaling([0.1, 0.2, 0.3], 0.5)),
    "Flatten": ((4, 3, 2), lambda L: L.Flatten()),
    "Flatten channels first": ((4, 3, 2), lambda L: L.Flatten(data_format="channels_first")),
    "Reshape": ((4, 3), lambda L: L.Reshape((2, -1))),
    "Permute": ((4, 3, 2), lambda L: L.Permute((3, 1, 2))),
    "RepeatVector": ((3,), lambda L: L.RepeatVector(4)),
    "Cropping1D": ((6, 3), lambda L: L.Cropping1D((1, 2))),
    "Cropping2D": ((6, 5, 2), lambda L: L.Cropping2D(((1, 2), (0, 1)))),
    "Cropping2D first": ((2, 6, 5), lambda L: L.Cropping2D((1, 2), data_format="channels_first")),
    "ZeroPadding1D": ((4, 3), lambda L: L.ZeroPadding1D(2)),
    "ZeroPadding2D": ((4, 3, 2), lambda L: L.ZeroPadding2D(((1, 2), (0, 3)))),
    "ZeroPadding2D one number": ((4, 3, 2), lambda L: L.ZeroPadding2D(1)),
    "UpSampling1D": ((4, 3), lambda L: L.UpSampling1D(3)),
    "UpSampling2D": ((2, 3, 2), lambda L: L.UpSampling2D((2, 3))),
    "UpSampling2D bilinear": ((2, 3, 2), lambda L: L.UpSampling2D((2, 3), interpolation="bilinear")),
    **{
        f"Conv2DTranspose {padding} {size} {stride}": (
            (3, 4, 2),
            lambda L, a=size, b=stride, c=padding: L.Conv2DTranspose(3, a, strides=b, padding=c, activation="tanh"),
        )
        for padding in ("valid", "same")
        for size, stride in ((3, 2), ((2, 3), (1, 3)), (1, 2), (4, 2))
    },
    "Conv1DTranspose": ((4, 2), lambda L: L.Conv1DTranspose(3, 3, dilation_rate=2)),
    "Conv1DTranspose first": ((2, 4), lambda L: L.Conv1DTranspose(3, 3, strides=2, data_format="channels_first")),
    "EinsumDense": ((4, 3), lambda L: L.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d")),
    "EinsumDense heads": ((4, 6), lambda L: L.EinsumDense("abc,cde->adbe", (2, 4, 3), bias_axes="de")),
    "EinsumDense any": ((2, 4, 3), lambda L: L.EinsumDense("...x,xy->...y", 5, activation="tanh")),
    "EinsumDense two": ((4, 3), lambda L: L.EinsumDense("abc,bcd->ad", 5, bias_axes="d")),
    "TimeDistributed": ((4, 3), lambda L: L.TimeDistributed(L.Dense(2, activation="tanh"))),
    "TimeDistributed activation": ((4, 3), lambda L: L.TimeDistributed(L.ELU(0.4))),
    "UpSampling2D first": ((2, 3, 2), lambda L: L.UpSampling2D(2, data_format="channels_first")),
    "Conv1D": ((9, 3), lambda L: L.Conv1D(4, 3, strides=2, activation="tanh")),
    "Conv1D same": ((9, 3), lambda L: L.Conv1D(4, 4, strides=2, padding="same")),
    "Conv1D causal": ((9, 3), lambda L: L.Conv1D(4, 3, padding="causal", dilation_rate=2)),
    "Conv1D groups": ((9, 4), lambda L: L.Conv1D(6, 3, groups=2, use_bias=False)),
    "Conv1D first": ((3, 9), lambda L: L.Conv1D(4, 3, data_format="channels_first")),
    "Conv2D": ((7, 6, 2), lambda L: L.Conv2D(3, (3, 2), strides=(2, 1))),
    "Conv2D same": ((7, 6, 2), lambda L: L.Conv2D(3, (3, 4), strides=2, padding="same")),
    "Conv2D dilation": ((7, 7, 2), lambda L: L.Conv2D(3, 2, dilation_rate=(2, 3), padding="same")),
    "Conv2D groups first": ((4, 6, 6), lambda L: L.Conv2D(6, 3, groups=2, data_format="channels_first")),
    "DepthwiseConv1D": ((9, 3), lambda L: L.DepthwiseConv1D(3, depth_multiplier=2)),
    "DepthwiseConv2D": ((6, 6, 3), lambda L: L.DepthwiseConv2D(3, depth_multiplier=2, padding="same")),
    "SeparableConv1D": ((9, 3), lambda L: L.SeparableConv1D(4, 3, depth_multiplier=2, activation="relu")),
    "SeparableConv2D": ((6, 6, 3), lambda L: L.SeparableConv2D(4, 3, strides=2, padding="same")),
    "AveragePooling1D": ((9, 3), lambda L: L.AveragePooling1D(3, strides=2)),
    "AveragePooling1D same": ((9, 3), lambda L: L.AveragePooling1D(3, strides=2, padding="same")),
    "AveragePooling2D": ((6, 5, 3), lambda L: L.AveragePooling2D(2)),
    "AveragePooling2D first": ((3, 6, 6), lambda L: L.AveragePooling2D(2, data_format="channels_first")),
    "MaxPooling1D": ((9, 3), lambda L: L.MaxPooling1D(3, padding="same")),
    "MaxPooling2D": ((6, 5, 3), lambda L: L.MaxPooling2D((2, 3), strides=1)),
    "GlobalAveragePooling1D": ((9, 3), lambda L: L.GlobalAveragePooling1D()),
    "GlobalAveragePooling2D": ((4, 5, 3), lambda L: L.GlobalAveragePooling2D(keepdims=True)),
    "GlobalMaxPooling1D": ((9, 3), lambda L: L.GlobalMaxPooling1D()),
    "GlobalMaxPooling2D": ((3, 4, 5), lambda L: L.GlobalMaxPooling2D(data_format="channels_first")),
    "SpatialDropout1D": ((4, 3), lambda L: L.SpatialDropout1D(0.5)),
    "Activation": ((4, 3), lambda L: L.Activation("softmax")),
    "an activation that is a layer": ((3,), lambda L: L.Dense(4, activation=L.ELU(0.4))),
}


@mostly_slow("name", LAYER_CASES, quick=8)
def test_layer(keras: Any, tmp_path: Path, name: str) -> None:
    shape, make = LAYER_CASES[name]
    agree(graph_model(keras, [shape], lambda x: make(keras.layers)(x)), tmp_path)


@mostly_slow("name", NAMES, quick=8)
def test_activation(keras: Any, tmp_path: Path, name: str) -> None:
    agree(graph_model(keras, [(3, 4)], lambda x: keras.layers.Dense(4, activation=name)(x)), tmp_path)


Several = tuple[list[tuple[int, ...]], Callable[..., Any]]

MERGES: dict[str, Several] = {
    "Add": ([(3,), (3,), (3,)], lambda L, *x: L.Add()(x)),
    "Add of other ranks": ([(4, 3), (3,)], lambda L, *x: L.Add()(x)),
    "Subtract": ([(3,), (3,)], lambda L, *x: L.Subtract()(x)),
    "Multiply": ([(4, 3), (4, 1)], lambda L, *x: L.Multiply()(x)),
    "Average": ([(3,), (3,), (3,)], lambda L, *x: L.Average()(x)),
    "Maximum": ([(3,), (3,)], lambda L, *x: L.Maximum()(x)),
    "Minimum": ([(3,), (3,)], lambda L, *x: L.Minimum()(x)),
    "Concatenate": ([(4, 3), (4, 2)], lambda L, *x: L.Concatenate()(x)),
    "Concatenate along an axis": ([(4, 3), (2, 3)], lambda L, *x: L.Concatenate(axis=1)(x)),
    "Dot of vectors": ([(3,), (3,)], lambda L, *x: L.Dot(axes=1)(x)),
    "Dot of matrices": ([(4, 3), (5, 3)], lambda L, *x: L.Dot(axes=(2, 2))(x)),
    "Dot of a matrix and a vector": ([(4, 3), (4,)], lambda L, *x: L.Dot(axes=(1, 1))(x)),
    "Dot of directions": ([(3,), (3,)], lambda L, *x: L.Dot(axes=-1, normalize=True)(x)),
    "Attention": ([(4, 3), (5, 3)], lambda L, *x: L.Attention()(list(x))),
    "Attention scaled": ([(4, 3), (5, 2), (5, 3)], lambda L, *x: L.Attention(use_scale=True)(list(x))),
    "Attention causal": ([(4, 3), (4, 3)], lambda L, *x: L.Attention()(list(x), use_causal_mask=True)),
    "Attention concat": (
        [(4, 3), (5, 3)],
        lambda L, *x: L.Attention(use_scale=True, score_mode="concat")(list(x)),
    ),
    "AdditiveAttention": ([(4, 3), (5, 3)], lambda L, *x: L.AdditiveAttention()(list(x))),
    "MultiHeadAttention": ([(4, 6), (5, 3)], lambda L, *x: L.MultiHeadAttention(2, 3, value_dim=4)(*x)),
    "MultiHeadAttention causal": ([(4, 6)], lambda L, x: L.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)),
    "MultiHeadAttention with a key": (
        [(4, 6), (5, 3), (5, 2)],
        lambda L, q, v, k: L.MultiHeadAttention(2, 3, use_bias=False, output_shape=5)(q, v, key=k),
    ),
    "MultiHeadAttention window": ([(6, 4)], lambda L, x: L.MultiHeadAttention(1, 3, sliding_window=2)(x, x)),
    "MultiHeadAttention mask": (
        [(3, 4)],
        lambda L, x: L.MultiHeadAttention(1, 3)(x, x, attention_mask=np.tri(3, dtype=bool)[None]),
    ),
    "MultiHeadAttention scores": (
        [(3, 4)],
        lambda L, x: list(L.MultiHeadAttention(2, 3)(x, x, return_attention_scores=True)),
    ),
}


@mostly_slow("name", MERGES, quick=12)
def test_layer_of_several_tensors(keras: Any, tmp_path: Path, name: str) -> None:
    shapes, make = MERGES[name]
    agree(graph_model(keras, shapes, lambda *x: make(keras.layers, *x)), tmp_path)


def test_every_layer_of_the_table_is_compared() -> None:
    """Here, among the nets of `test_keras`, or, for what has no random case, by a test of its own."""
    elsewhere = {"InputLayer", "Embedding", "Dropout", "Identity", "GaussianNoise", "GaussianDropout", "AlphaDropout"}
    elsewhere |= {"ActivityRegularization", "SpatialDropout2D"}
    named = {name.split()[0] for name in (*LAYER_CASES, *MERGES)}
    assert set(LAYERS) - elsewhere <= named
