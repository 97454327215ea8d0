"""ONNX operators that move a window, and activations made of several operations, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.frontends.onnx import read_graph
from lazy import needs

pytestmark = needs("onnx")

RNG = np.random.default_rng(7)
KERNEL, BIAS = RNG.normal(size=(4, 2, 3, 2)), RNG.normal(size=4)

CASES: dict[str, tuple[Any, tuple[int | str, ...], int]] = {
    "Conv": (lambda b: b.node("Conv", "x", b.number(KERNEL), b.number(BIAS)), ("N", 2, 6, 5), 17),
    "Conv, strides and pads": (
        lambda b: b.node("Conv", "x", b.number(KERNEL), strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2]),
        (1, 2, 6, 5),
        17,
    ),
    "Conv, SAME_UPPER": (
        lambda b: b.node("Conv", "x", b.number(KERNEL), auto_pad="SAME_UPPER", strides=[2, 2]),
        (1, 2, 6, 5),
        17,
    ),
    "Conv, SAME_LOWER": (lambda b: b.node("Conv", "x", b.number(KERNEL), auto_pad="SAME_LOWER"), (1, 2, 6, 5), 17),
    "Conv, groups": (lambda b: b.node("Conv", "x", b.number(KERNEL), b.number(BIAS), group=2), (1, 4, 6, 5), 17),
    "Conv of one axis": (lambda b: b.node("Conv", "x", b.number(KERNEL[..., 0])), (1, 2, 6), 17),
    "ConvTranspose": (lambda b: b.node("ConvTranspose", "x", b.number(KERNEL), b.number(BIAS[:2])), (1, 4, 3, 5), 17),
    "ConvTranspose, everything": (
        lambda b: b.node(
            "ConvTranspose",
            "x",
            b.number(KERNEL),
            strides=[3, 2],
            pads=[1, 0, 2, 1],
            dilations=[2, 1],
            output_padding=[2, 1],
        ),
        (1, 4, 3, 4),
        17,
    ),
    "ConvTranspose of one axis": (
        lambda b: b.node("ConvTranspose", "x", b.number(KERNEL[..., 0]), strides=[2]),
        (1, 4, 3),
        17,
    ),
    "LpPool": (lambda b: b.node("LpPool", "x", kernel_shape=[2, 2], strides=[2, 1]), (1, 2, 4, 5), 18),
    "AveragePool": (lambda b: b.node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2]), (1, 2, 6, 5), 17),
    "AveragePool, pads": (
        lambda b: b.node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        (1, 2, 6, 5),
        17,
    ),
    "AveragePool, pads count": (
        lambda b: b.node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        (1, 2, 6, 5),
        17,
    ),
    "AveragePool, ceil": (
        lambda b: b.node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        (1, 2, 6, 5),
        17,
    ),
    "MaxPool": (
        lambda b: b.node("MaxPool", "x", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
        (1, 2, 6, 5),
        17,
    ),
    "GlobalAveragePool": (lambda b: b.node("GlobalAveragePool", "x"), (1, 2, 3, 4), 17),
    "GlobalMaxPool": (lambda b: b.node("GlobalMaxPool", "x"), (1, 2, 3, 2), 17),
    "Pad": (
        lambda b: b.node("Pad", "x", b.number([0, 1, 2, -1], np.int64), b.number(np.array(0.5))),
        (2, 4),
        17,
    ),
    "Pad of old": (lambda b: b.node("Pad", "x", pads=[0, 1, 2, 1], value=1.5), (2, 3), 6),
    "Pad of some axes": (
        lambda b: b.node("Pad", "x", b.number([1, 2], np.int64), "", b.number([-1], np.int64)),
        (2, 3),
        18,
    ),
    **{name: (lambda b, name=name: b.node(name, "x"), (2, 5), 17) for name in ("Elu", "Selu", "Celu", "Softsign")},
    **{name: (lambda b, name=name: b.node(name, "x"), (2, 5), 18) for name in ("HardSigmoid", "HardSwish", "Mish")},
    "Elu, alpha": (lambda b: b.node("Elu", "x", alpha=1.7), (2, 5), 17),
    "Celu, alpha": (lambda b: b.node("Celu", "x", alpha=1.7), (2, 5), 17),
}


@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str) -> None:
    from onnx_graphs import check

    check(*CASES[name])


REFUSED: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "mode": (lambda b: b.node("Pad", "x", b.number([1, 1], np.int64), mode="reflect"), (3,), "mode 'reflect'"),
    "pads of another length": (lambda b: b.node("Pad", "x", b.number([1], np.int64)), (3,), "pads axes"),
    "far too much": (lambda b: b.node("Pad", "x", b.number([2**40, 1], np.int64)), (3,), "unfolds too far"),
    "a window that is far too large": (
        lambda b: b.node("MaxPool", "x", kernel_shape=[1, 1], pads=[2**40] * 4),
        (1, 1, 3, 3),
        "unfolds too far",
    ),
    "kernel and space": (
        lambda b: b.node("Conv", "x", b.number(KERNEL)),
        (1, 2, 2, 2),
        "size 3, stride 1, dilation 1 does not fit an axis of 2",
    ),
    "channels": (lambda b: b.node("Conv", "x", b.number(KERNEL)), (1, 3, 6, 6), "does not fit 3 channels"),
    "biases": (
        lambda b: b.node("Conv", "x", b.number(KERNEL), b.number(BIAS[:3])),
        (1, 2, 6, 6),
        "biases of shape .3,. for 4",
    ),
    "stride 0": (lambda b: b.node("Conv", "x", b.number(KERNEL), strides=[0, 1]), (1, 2, 6, 6), "must be positive"),
    "transposed, channels": (
        lambda b: b.node("ConvTranspose", "x", b.number(KERNEL)),
        (1, 3, 4, 4),
        "does not fit shape .1, 3, 4, 4",
    ),
    "transposed, pads by name": (
        lambda b: b.node("ConvTranspose", "x", b.number(KERNEL), auto_pad="SAME_UPPER"),
        (1, 4, 4, 4),
        "write them as pads",
    ),
    "transposed, far too much": (
        lambda b: b.node("ConvTranspose", "x", b.number(KERNEL), strides=[2**40, 1]),
        (1, 4, 4, 4),
        "unfolds too far",
    ),
    "transposed, a long end": (
        lambda b: b.node("ConvTranspose", "x", b.number(KERNEL), output_padding=[2**40, 0]),
        (1, 4, 4, 4),
        "output_padding",
    ),
    "odd norm": (lambda b: b.node("LpPool", "x", kernel_shape=[2, 2], p=3), (1, 1, 3, 3), "p = 3: even numbers"),
    "Celu, alpha 0": (lambda b: b.node("Celu", "x", alpha=0.0), (3,), "alpha 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    from onnx_graphs import model

    build, shape, message = REFUSED[name]
    with pytest.raises(SourceError, match=message):
        read_graph(model(build, shape))
