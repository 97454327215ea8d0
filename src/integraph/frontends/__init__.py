"""From what people have (ONNX, PyTorch, scikit-learn, Keras, plain arrays) to targets."""

from integraph.frontends.read import network

__all__ = ["network"]
