"""Graphs run node by node by onnxruntime in float64: what comes between two nodes can be looked at, and changed.

A session for each operator and its attributes is kept, with shapes left open, so that a graph needs few new ones. What
onnxruntime cannot do in float64 is done in numpy (`functions.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper

from fuzz.onnx.case import INPUT, MICROSOFT, Array, Case, Node, ir_version, node_proto
from fuzz.onnx.functions import INSTEAD, OTHERWISE

SESSIONS = 4000
onnxruntime.set_default_logger_severity(4)

Change = Callable[[str, str, Array], Array]  # a tensor of floats, the operator that gives it, its values → new ones


def session(serialised: bytes) -> onnxruntime.InferenceSession:
    """One thread, nothing fused or folded."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(serialised, options, providers=["CPUExecutionProvider"])


def step(node: Node, opset: int, operands: Sequence[Array | None]) -> list[Array]:
    """What one node makes of its operands; a ValueError if it cannot."""
    if node.op in INSTEAD:
        return _numpy(INSTEAD[node.op], node, operands)
    kinds = tuple("" if operand is None else operand.dtype.str[1:] for operand in operands)
    known = _session(node.op, node.domain, opset, node.attributes, kinds, len(node.outputs))
    if known is None:
        return _numpy(OTHERWISE[node.op], node, operands)
    given = {f"i{k}": operand for k, operand in enumerate(operands) if operand is not None}
    try:
        return [np.asarray(found) for found in known.run(None, given)]
    except Exception as reason:  # its exceptions have no common base
        raise ValueError(f"{node.op}: {reason}") from None


def _numpy(function: Callable[..., Any], node: Node, operands: Sequence[Array | None]) -> list[Array]:
    """A file has attributes in float32."""
    attributes = {name: float(np.float32(v)) if isinstance(v, float) else v for name, v in node.attributes}
    with np.errstate(all="ignore"):
        return [np.asarray(function(*operands, **attributes))]


@lru_cache(SESSIONS)
def _session(
    op: str, domain: str, opset: int, attributes: tuple[tuple[str, Any], ...], kinds: tuple[str, ...], outputs: int
) -> onnxruntime.InferenceSession | None:
    """None if there is no kernel and numpy has to do it."""
    names = [f"i{k}" if kind else "" for k, kind in enumerate(kinds)]
    results = [f"o{k}" for k in range(outputs)]
    graph = helper.make_graph(
        [node_proto(Node(op, tuple(names), tuple(results), attributes, domain))],
        "node",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), None)
            for name, kind in zip(names, kinds, strict=True)
            if kind
        ],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version(opset))
    try:
        return session(model.SerializeToString())
    except Exception as reason:
        if op in OTHERWISE:
            return None
        raise ValueError(f"{op}, opset {opset}: {reason}") from None


def run(case: Case, x: Array, change: Change = lambda name, op, value: value) -> dict[str, Array]:
    """All tensors of a case by name, at one point (inputs,); `change` is applied to those of floats."""

    def changed(name: str, op: str, value: Array) -> Array:
        return np.asarray(change(name, op, value)) if value.dtype == np.float64 else value

    values: dict[str, Array] = {INPUT: changed(INPUT, "", x.reshape(case.shape))}
    values |= {name: changed(name, "", constant.array) for name, constant in case.tensors}
    for node in case.nodes:
        found = step(node, case.opset, [values[name] if name else None for name in node.inputs])
        values.update((name, changed(name, node.op, value)) for name, value in zip(node.outputs, found, strict=True))
    return values


def flat(case: Case, values: Mapping[str, Array]) -> Array:
    """The outputs one after the other."""
    return np.concatenate([np.ravel(values[name]) for name in case.outputs]).astype(np.float64)
