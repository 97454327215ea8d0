"""ONNX: the closed forms as array nodes. Read `onnx_graph` over `onnx_nodes`."""
