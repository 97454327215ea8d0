"""What a source is, decided once, and read: `read` gives a `Network`, a `Graph` or a `Function`.

No framework is imported to find out: types have names.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import SourceError, UsageError
from integraph.frontends import data, files
from integraph.frontends.formula import formula_file, parser, sympy_tree
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.input_names import names
from integraph.frontends.jax import recognition
from integraph.frontends.options import DEFAULTS, Inputs, ReadOptions, Target, Variables
from integraph.frontends.python import callables, polynomials, table
from integraph.numbers.arrays import Floats, numbers
from integraph.program.box import count_sides, interval
from integraph.targets import Function, Network, from_layers
from integraph.targets.graph import Graph

NETWORKS = (
    "a Network, a list of (A, b, activation), a path to an .onnx, .keras, .h5, .nnet, .yml or .mat file or a text of "
    "POLAR, an onnx.ModelProto, a torch.nn.Module, a Keras model or a fitted scikit-learn MLPRegressor or MLPClassifier"
)
FUNCTIONS = (
    "a formula or a list of formulas, a path to a .formula or .txt file of them, a sympy expression or a list or "
    "matrix of them, a polynomial of numpy, a Python function, a table {α: array} of derivatives, a .csv file, a "
    "DataFrame or a pair (X, y) of data, or a Function"
)
ONNX, TORCH = ("onnx", ("ModelProto",)), ("torch", ("Module",))
KERAS = ("Layer", "Model")
FILE = r"\.[A-Za-z]\w*$|^\.{0,2}/"  # how a path ends or begins and a formula does not


class SourceKind(Enum):
    """What a source can be; the value is what it is called."""

    GRAPH = "a graph"
    ONNX = "an ONNX model"
    NETWORK = "a network"  # as an object, or in a file of another kind
    PYTHON = "a Python function"
    DATA = "data"  # rows, in a file or in memory
    FORMULA = "a formula"  # or a table of derivatives, a polynomial of numpy, a Function


def kind_of(source: Any) -> SourceKind:
    """What a source is meant as; whether it can be read shows when it is."""
    if isinstance(source, Graph):
        return SourceKind.GRAPH
    if data.is_data(source):
        return SourceKind.DATA
    if _is(source, *ONNX) or (isinstance(source, str | os.PathLike) and Path(source).suffix.lower() == files.ONNX):
        return SourceKind.ONNX
    if _is_formula_file(source):
        return SourceKind.FORMULA
    if _is_network(source):
        return SourceKind.NETWORK
    return SourceKind.PYTHON if _is_python(source) else SourceKind.FORMULA


def read(source: Any, options: ReadOptions = DEFAULTS) -> Target:
    """A source as what it is. An option that has no meaning for its kind is refused."""
    recognition.check_parameters(source)
    kind = kind_of(source)
    if kind is SourceKind.PYTHON:
        if options.into is Graph:
            return _traced(source, options)
        return (_traced_or_tried if options.tracing and recognition.is_jax(source) else _tried)(source, options)
    if kind is SourceKind.DATA:
        options.refuse(kind.value, "parameters", "derivatives")
        return data.read(source, options.count, options.variables)
    if kind is SourceKind.FORMULA:
        return function(
            source, variables=options.variables, inputs=options.count, derivatives=options.derivatives,
            parameters=options.parameters,
        )  # fmt: skip
    sized = _is_torch(source)
    options.refuse(kind.value, "variables", "parameters", "derivatives", *(() if sized else ("inputs",)))
    if kind is SourceKind.GRAPH:
        assert isinstance(source, Graph)
        return source
    if kind is SourceKind.ONNX and options.into is not Network:
        return _onnx_target(source, options.into)
    if sized and options.into is not Network:
        return _torch_target(source, options)
    if options.into is not Network and _is_keras(source):
        from integraph.frontends import keras

        return keras.read_either(source)
    return network(source, options.inputs)


def network(source: Any, inputs: Inputs = None) -> Network:
    """The network in a file, a module, an estimator or a list of (A, b, activation).

    `inputs` is how many numbers a torch module takes, or the shape of one input without the batch axis, where its
    layers do not tell.
    """
    if inputs is not None and not _is_torch(source):
        raise UsageError(
            f"only torch modules need it, a {type(source).__name__} states it: leave it out",
            argument="inputs",
            value=inputs,
        )
    if isinstance(source, Network):
        return source
    if isinstance(source, list | tuple):
        return from_layers(source)
    if isinstance(source, str | os.PathLike):
        return _file(source)
    for package, classes, reader in OBJECTS:
        if _is(source, package, classes):
            return reader(source) if inputs is None else reader(source, inputs)
    if isinstance(source, Mapping) and source:
        raise UsageError(
            f"a {type(source).__name__} of weights is not a network: load them into their module, and pass that"
        )
    raise UsageError(f"cannot read a network from {type(source).__name__}: accepted are {NETWORKS}")


def function(
    source: Any,
    *,
    variables: Variables = None,
    inputs: int | None = None,
    derivatives: callables.Derivative | None = None,
    box: tuple[ArrayLike, ArrayLike] | None = None,
    parameters: Parameters = None,
) -> Function:
    """The function in a formula, a file of formulas, a sympy expression, a Python function or a table.

    `variables` names the inputs in order. `parameters` gives names in a formula values, as {"a": 1.5}. `inputs`,
    `derivatives` and `box` are for Python functions: how many inputs a single parameter holds, what is known of f^(α),
    and where f is tried (by default on the unit cube).
    """
    if data.is_data(source):
        ReadOptions(parameters=parameters, derivatives=derivatives).refuse(
            SourceKind.DATA.value, "parameters", "derivatives"
        )
        return data.read(source, inputs, variables)
    if _is_python(source):
        ReadOptions(parameters=parameters).refuse(SourceKind.PYTHON.value, "parameters")
        low, high = (None, None) if box is None else _box(*box)
        return callables.read(source, low, high, inputs=inputs, variables=variables, derivatives=derivatives)
    if derivatives is not None:
        raise UsageError(f"derivatives are for Python functions: a {type(source).__name__} has its own")
    target = _formula(source, variables, parameters)
    if inputs is not None and inputs != target.inputs:
        raise UsageError(
            f"the source is the {target!r}: name all inputs in `variables`", argument="inputs", value=inputs
        )
    return target


def _formula(source: Any, variables: Variables, parameters: Parameters) -> Function:
    if _is_formula_file(source):
        return formula_file.read(files.model_file(source)[0], variables, parameters)
    parts = list(source) if isinstance(source, list | tuple | np.ndarray) else [source]
    if parts and all(isinstance(part, str) for part in parts):
        return parser.parse(source if isinstance(source, str) else parts, variables, parameters)
    ReadOptions(parameters=parameters).refuse(f"a {type(source).__name__}", "parameters")
    if isinstance(source, Function):
        if variables is not None:
            raise UsageError(f"a Function names its inputs itself, {', '.join(source.variables)}: leave variables out")
        return source
    if isinstance(source, Mapping):
        return table.read_table(source, variables)
    if polynomials.is_polynomial(source):
        return polynomials.read(source, variables)
    if any(map(sympy_tree.is_sympy, parts)):
        return sympy_tree.read(source, variables)
    if isinstance(source, Graph):
        raise UsageError("Theorem 1 compiles formulas and functions, and this is a graph: leave the method out")
    raise UsageError(f"cannot read a function from {type(source).__name__}: accepted are {FUNCTIONS}")


def _tried(source: Any, options: ReadOptions) -> Function:
    """A Python function, tried on the box as users write it."""
    cube = interval(options.box, callables.inputs_of(source, _sizes(options))[0])
    return function(
        source, variables=options.variables, inputs=options.count, derivatives=options.derivatives,
        box=(cube.low, cube.high), parameters=options.parameters,
    )  # fmt: skip


def _sizes(options: ReadOptions) -> dict[str, int | None]:
    """What says how many inputs a Python function has."""
    return {
        "the box": count_sides(options.box),
        "inputs": options.count,
        "variables": None if options.variables is None else len(names(options.variables)),
    }


def _traced(source: Any, options: ReadOptions) -> Graph:
    from integraph.frontends import jax

    options.refuse("traced by jax", "parameters", "derivatives")
    if options.inputs is not None and not isinstance(options.inputs, int):
        graph = jax.read(source, options.inputs)
    else:
        sizes = _sizes(options)
        count, parameters = callables.inputs_of(source, sizes)
        known = count if any(size is not None for size in sizes.values()) or len(parameters) > 1 else None
        choices = jax.shapes_of(source, known, len(parameters))
        if not options.tracing and choices == [[()]]:
            raise UsageError(
                f"{getattr(source, '__name__', type(source).__name__)} is a Python function, which method='exact' "
                "traces with jax: say how many inputs it has, or the shapes of its arguments",
                argument="inputs",
            )
        graph = jax.read_first(source, choices)
    return graph if options.variables is None else jax.named(graph, tuple(names(options.variables)))


def _traced_or_tried(source: Any, options: ReadOptions) -> Graph | Function:
    """The graph of what is written in jax; where it has none, a function that is only called, and a note."""
    try:
        return _traced(source, options)
    except SourceError as error:
        if recognition.is_module(source) or not isinstance(options.inputs, int | None):
            raise
        warnings.warn(
            f"it is written in jax and cannot be compiled exactly, so its values are approximated: {error}. "
            "method='lean' approximates without this note",
            RuntimeWarning,
            stacklevel=4,
        )
    return _tried(source, options)


def _onnx_target(source: Any, into: type[Network] | type[Graph] | None) -> Network | Graph:
    from integraph.frontends import onnx

    given = files.model_file(source)[0] if isinstance(source, str | os.PathLike) else source
    return onnx.read_graph(given) if into is Graph else onnx.read_either(given)


def _torch_target(module: Any, options: ReadOptions) -> Network | Graph:
    from integraph.frontends import torch

    return (torch.read_graph if options.into is Graph else torch.read_either)(module, options.inputs)


def _box(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    ends = np.atleast_1d(numbers(low, "the box")), np.atleast_1d(numbers(high, "the box"))
    if ends[0].shape != ends[1].shape or ends[0].ndim != 1 or not (ends[0] < ends[1]).all():
        raise UsageError(
            "needs a lower and an upper end of each input, lower < upper", argument="box", value=(low, high)
        )
    return ends


def _is_network(source: Any) -> bool:
    """Whether a source is meant as a network: anything but formulas, functions, tables and sympy expressions."""
    if isinstance(source, str):
        other = (*files.KERAS, *files.PICKLES, *files.TENSORFLOW)
        return bool(re.search(FILE, source)) or Path(source).suffix.lower() in other
    if isinstance(source, list | tuple):
        return not any(isinstance(part, str) or sympy_tree.is_sympy(part) for part in source)
    return isinstance(source, Network | os.PathLike) or any(_is(source, *kind[:2]) for kind in OBJECTS)


def _is_formula_file(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and files.is_formula_file(source)


def _is_python(source: Any) -> bool:
    """Whether a source is a Python function, and nothing that knows its own formula."""
    formula_like = sympy_tree.is_sympy(source) or polynomials.is_polynomial(source)
    return callable(source) and not formula_like and not isinstance(source, type)


def _is_torch(source: Any) -> bool:
    """Whether a source is a torch module; a Keras model on the torch backend is one too, and is not meant."""
    return _is(source, *TORCH) and not _is_keras(source)


def _is_keras(source: Any) -> bool:
    """Whether a source is a Keras model, or a path to the file of one."""
    if isinstance(source, str | os.PathLike):
        return files.is_keras(*files.model_file(source))
    return any(_is(source, package, KERAS) for package in ("keras", "tf_keras"))


def _is(source: Any, package: str, classes: tuple[str, ...]) -> bool:
    """Whether an object is of one of these classes, without importing the package."""
    return any(str(cls.__module__).split(".")[0] == package and cls.__name__ in classes for cls in type(source).__mro__)


def _file(source: str | os.PathLike[str]) -> Network:
    path, start = files.model_file(source)
    if path.suffix.lower() == files.ONNX:
        return _onnx(path)
    if files.is_keras(path, start):
        from integraph.frontends import keras

        return keras.read(path)
    kind = path.suffix.lower() if path.suffix.lower() in files.VERIFICATION else None
    if kind is not None or files.POLAR.match(start):
        from integraph.frontends import verification

        return verification.read(path, kind or verification.POLAR)
    raise files.unknown_file(path, start)


def _onnx(source: Any) -> Network:
    from integraph.frontends import onnx

    return onnx.read(source)


def _torch(module: Any, inputs: Inputs = None) -> Network:
    from integraph.frontends import torch

    return torch.read(module, inputs)


def _sklearn(estimator: Any) -> Network:
    from integraph.frontends import sklearn

    return sklearn.read(estimator)


def _keras(model: Any) -> Network:
    from integraph.frontends import keras

    return keras.read(model)


OBJECTS: tuple[tuple[str, tuple[str, ...], Callable[..., Network]], ...] = (
    # a Keras model on the torch backend is a torch.nn.Module too, so it comes first
    ("keras", KERAS, _keras),
    ("tf_keras", KERAS, _keras),
    (*ONNX, _onnx),
    (*TORCH, _torch),
    ("sklearn", ("BaseEstimator",), _sklearn),
)
