"""Resize and Upsample against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.frontends.onnx import read_graph
from lazy import needs

pytestmark = needs("onnx")


def resize(scales: list[float] | None = None, sizes: list[int] | None = None, **options: Any) -> Any:
    def draw(b: Any) -> Any:
        given = "" if scales is None else b.number(np.array(scales, np.float32), np.float32)
        wanted = () if sizes is None else (b.number(sizes, np.int64),)
        return b.node("Resize", "x", "", given, *wanted, **options)

    return draw


COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
CASES = {
    "as it is": resize([1, 1, 2, 3]),
    **{
        f"{mode}, {name}": resize([1, 1, 2, 1.5], mode=mode, coordinate_transformation_mode=name)
        for mode in ("nearest", "linear")
        for name in COORDINATES
    },
    **{
        f"nearest, {name}": resize([1, 1, 0.5, 2], nearest_mode=name, coordinate_transformation_mode="asymmetric")
        for name in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    },
    "sizes": resize(sizes=[1, 2, 7, 3], mode="linear"),
    "one place": resize(sizes=[1, 2, 1, 1], mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
    "axes": resize([2.0, 2.0], mode="linear", axes=[3, 2]),
}


@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str) -> None:
    from onnx_graphs import check

    check(CASES[name], (1, 2, 3, 4), 18)


def test_upsample_of_old() -> None:
    from onnx_graphs import check

    check(lambda b: b.node("Upsample", "x", b.number(np.array([1, 1, 2, 3]), np.float32)), (1, 2, 2, 3), 9)


REFUSED = {
    "cubic": (resize([1, 1, 2, 2], mode="cubic"), "mode 'cubic': read are 'nearest' and 'linear'"),
    "cropped": (
        resize([1, 1, 2, 2], coordinate_transformation_mode="tf_crop_and_resize"),
        "coordinate_transformation_mode 'tf_crop_and_resize': read are half_pixel",
    ),
    "smoothed": (resize([1, 1, 0.5, 0.5], mode="linear", antialias=1), "antialias = 1: only 0 is read"),
    "nothing left": (resize([1, 1, 0.1, 1]), "leaves none of the 3 entries of axis 2"),
    "negative": (resize([1, 1, -2, 1]), "each must be finite and > 0"),
    "too large": (resize(sizes=[1, 2, 1 << 40, 4]), "unfolds too far"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    from onnx_graphs import model

    draw, says = REFUSED[name]
    with pytest.raises(SourceError, match=says):
        read_graph(model(draw, (1, 2, 3, 4), 18))
