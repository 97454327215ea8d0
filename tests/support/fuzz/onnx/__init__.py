"""Random ONNX graphs over all operators that the reader of graphs knows."""

from fuzz.onnx.kind import KIND

__all__ = ["KIND"]
