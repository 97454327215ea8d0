"""auto_LiRPA on nets from a file, in an environment of its own: `python crown.py nets.json`, answers as JSON.

auto_LiRPA 0.3, the last release, was written for older versions of PyTorch and numpy. What it asks
PyTorch for still exists under other names; `compatible` puts it where it was. It computes in float64 here, as the
others do.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.onnx._internal.torchscript_exporter import _globals
from torch.onnx._internal.torchscript_exporter import utils as exporter

METHODS = {"CROWN": "CROWN", "α-CROWN": "CROWN-Optimized"}
PLAIN = {"sparse_intermediate_bounds": False, "sparse_features_alpha": False, "sparse_spec_alpha": False}
ACTIVATIONS = {"tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU}


def compatible() -> None:
    """Names that auto_LiRPA imports, and the attributes of a node by subscript."""
    helper, utils = (importlib.import_module(f"torch.onnx.{name}") for name in ("symbolic_helper", "utils"))
    helper._set_opset_version = lambda n: setattr(_globals.GLOBALS, "export_onnx_opset_version", n)
    utils._optimize_graph = exporter._optimize_graph
    torch._C.Node.__getitem__ = lambda node, key: getattr(node, node.kindOf(key))(key)


def module(layers: list[dict[str, Any]]) -> torch.nn.Module:
    parts: list[torch.nn.Module] = []
    for layer in layers:
        weights, biases = (torch.tensor(layer[name], dtype=torch.float64) for name in ("A", "b"))
        linear = torch.nn.Linear(*weights.shape[::-1], dtype=torch.float64)
        linear.weight, linear.bias = (torch.nn.Parameter(x, requires_grad=False) for x in (weights, biases))
        parts.append(linear)
        if layer["activation"] in ACTIVATIONS:
            parts.append(ACTIVATIONS[layer["activation"]]())
    return torch.nn.Sequential(*parts)


def bounds(net: torch.nn.Module, inputs: int, radius: float, method: str) -> dict[str, Any]:
    """Low and high of all outputs on [−radius, radius]^inputs, and the best seconds of processor time."""
    from auto_LiRPA import BoundedModule, BoundedTensor
    from auto_LiRPA.perturbations import PerturbationLpNorm

    centre = torch.zeros(1, inputs, dtype=torch.float64)
    box = BoundedTensor(centre, PerturbationLpNorm(norm=np.inf, eps=radius))
    seconds = []
    for _ in range(1 if method == "CROWN-Optimized" else 3):
        bounded = BoundedModule(net, centre, bound_opts=PLAIN)
        begun = time.process_time()
        low, high = bounded.compute_bounds(x=(box,), method=method)
        seconds.append(time.process_time() - begun)
    return {"low": low[0].tolist(), "high": high[0].tolist(), "seconds": min(seconds)}


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    compatible()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    answers = []
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        for case in json.loads(Path(path).read_text()):
            net = module(case["layers"])
            inputs = len(case["layers"][0]["A"][0])
            answers.append({name: bounds(net, inputs, case["radius"], method) for name, method in METHODS.items()})
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1])
