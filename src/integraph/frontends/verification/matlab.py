"""MATLAB files with cells W and b, as NNV and JuliaReach have them: W{k} is (units, inputs), b{k} one number a unit.

`act_fcns` names the activation of each layer, in a cell or as the rows of a text. All three may be fields of one
structure. Other variables are not read, and named in the notes of the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.frontends.verification import mat_hdf5, mat_level5
from integraph.frontends.verification.activation_names import canonical
from integraph.numbers.arrays import Floats
from integraph.targets import Network, from_layers
from integraph.text import joined

WEIGHTS, BIASES = "W", "b"
ACTIVATIONS = ("act_fcns", "activation_fcns", "activations")
WANTED = (WEIGHTS, BIASES, *ACTIVATIONS)
HDF5 = b"MATLAB 7.3"
SHOWN = 12  # other variables


def read(path: Path) -> Network:
    with path.open("rb") as file:
        hdf5 = file.read(len(HDF5)) == HDF5
    values, others = (mat_hdf5 if hdf5 else mat_level5).variables(path, WANTED)
    net, unread = _fields(values, others)
    weights, biases = _cell(net, WEIGHTS), _cell(net, BIASES)
    names = _names(net, len(weights))
    if not len(weights) == len(biases) == len(names):
        counts = f"{len(weights)} matrices in W, {len(biases)} vectors in b and {len(names)} activations"
        raise FileError(f"there are {counts}: each layer needs one of each")
    layers = [
        (_matrix(A, f"W{{{n}}}"), _vector(b, f"b{{{n}}}"), canonical(name, f"the activation of layer {n}"))
        for n, (A, b, name) in enumerate(zip(weights, biases, names, strict=True), 1)
    ]
    notes = [f"variables of the file that are not read: {joined(unread, ', ', SHOWN)}"] if unread else []
    try:
        return from_layers(layers, f"MATLAB file {path.name}", notes)
    except SourceError as error:
        raise SourceError(f"{error}; W{{k}} is (units, inputs): transpose it if it is (inputs, units)") from None


def _fields(values: dict[str, Any], others: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The net among the variables, itself or in one structure; and what else there is."""
    inside = {name: value for name, value in values.items() if isinstance(value, dict)}
    if WEIGHTS in values and BIASES in values:
        return values, [*others, *inside]
    nets = [name for name, fields in inside.items() if WEIGHTS in fields and BIASES in fields]
    if len(nets) != 1:
        there = joined(sorted([*values, *others]), ", ", SHOWN)
        raise FileError(
            f"expected the cells W and b, or one structure with both, got {there or 'nothing'}: "
            "save them in MATLAB with save('net.mat', 'W', 'b', 'act_fcns')"
        )
    return inside[nets[0]], [*others, *(name for name in values if name not in nets)]


def _cell(net: dict[str, Any], name: str) -> list[Any]:
    value = net[name]
    if not isinstance(value, list) or not value or not all(isinstance(item, np.ndarray) for item in value):
        raise FileError(f"{name} is not a cell of arrays: expected one array for each layer, as in {name} = {{A1, A2}}")
    return value


def _names(net: dict[str, Any], count: int) -> list[str]:
    """Of activations: rows of a text, or texts in a cell."""
    key = next((key for key in ACTIVATIONS if key in net), None)
    if key is None:
        words = ", ".join(["'relu'"] * (count - 1) + ["'linear'"])
        raise FileError(
            f"it does not name the activations: in MATLAB, act_fcns = {{{words}}}; "
            "save('net.mat', 'act_fcns', '-append')"
        )
    value = net[key]
    rows = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value]
    if not isinstance(value, list) or not all(isinstance(row, str) for row in rows):
        raise FileError(f"{key} is not a list of names: expected one for each layer, as in {{'tanh', 'linear'}}")
    return rows


def _matrix(value: Any, where: str) -> Floats:
    """(units, inputs), also where axes of length 1 follow."""
    if value.size and set(value.shape[2:]) == {1}:
        value = value.reshape(value.shape[:2])
    if value.ndim != 2 or not np.isfinite(value).all():
        raise FileError(f"{where} has shape {value.shape}, or a number that is not finite: expected (units, inputs)")
    return np.asarray(value, np.float64)


def _vector(value: Any, where: str) -> Floats:
    if value.size != max(value.shape, default=0) or not np.isfinite(value).all():
        raise FileError(f"{where} has shape {value.shape}, or a number that is not finite: expected one for each unit")
    return np.asarray(value, np.float64).ravel()
