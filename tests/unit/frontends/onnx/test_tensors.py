"""Stored tensors, against the decoder of onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="reads ONNX")
from onnx import helper, numpy_helper  # noqa: E402

from integraph.errors import SourceError  # noqa: E402
from integraph.frontends.onnx.tensors import KINDS, decode  # noqa: E402
from integraph.numbers.arrays import immutable  # noqa: E402

VALUES = np.array([[0.0, 1.0, -2.5], [3.25, 1e4, -0.0]])


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("shape", [(2, 3), (6,), (1, 3, 2), (0, 4), ()])
@pytest.mark.parametrize("kind", KINDS)
def test_every_type_raw_or_not(kind: str, shape: tuple[int, ...], raw: bool) -> None:
    number = onnx.TensorProto.DataType.Value(kind)
    count = int(np.prod(shape))
    array = VALUES.ravel()[:count].reshape(shape).astype(helper.tensor_dtype_to_np_dtype(number))
    tensor: Any = helper.make_tensor("w", number, shape, array.tobytes() if raw else array.ravel(), raw=raw)
    assert tensor.HasField("raw_data") == raw
    decoded, truth = decode(tensor, "w"), numpy_helper.to_array(tensor)
    assert decoded.dtype == KINDS[kind][2]
    assert decoded.shape == shape
    assert np.array_equal(decoded, truth)
    assert np.array_equal(np.signbit(decoded), np.signbit(truth)) if decoded.dtype.kind == "f" else True
    assert not decoded.flags.writeable
    assert immutable(decoded) or not raw


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_masks_pass_and_other_infinities_do_not(dtype: type[np.floating[Any]]) -> None:
    mask = np.array([[0.0, -np.inf], [1.0, 0.0]], dtype)
    assert np.array_equal(decode(numpy_helper.from_array(mask), "m"), mask)
    for bad in (np.inf, np.nan):
        mask[1, 0] = bad
        with pytest.raises(SourceError, match=rf"m: entry \[1, 0\] is {bad}"):
            decode(numpy_helper.from_array(mask), "m")
