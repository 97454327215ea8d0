"""EinsumDense: a product of a tensor and a kernel by an equation such as abc,cd->abd, as a product of matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from integraph.errors import FileError, SourceError
from integraph.frontends.keras.activations import activation
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import product, reshaped, transposed
from integraph.numbers.arrays import Floats

EQUATION = re.compile(r"((?:\.\.\.)?[a-zA-Z]+),([a-zA-Z]+)->((?:\.\.\.)?[a-zA-Z]+)")
FREE = "0123456789"  # names of the axes that `...` stands for


def dense(n: LayerCall) -> Operand:
    """Letters that the result lacks are summed over; each other one comes from the tensor or from the kernel."""
    x, equation = n.operand(), str(n.get("equation", "")).replace(" ", "")
    biased = n.get("bias_axes") is not None
    kernel, *bias = n.weights("kernel", *(("bias",) if biased else ()))
    match = EQUATION.fullmatch(equation)
    if match is None:
        raise SourceError(f"{n.where} has the equation {equation[:60]!r}: read are equations such as abc,cd->abd")
    given, own, wanted = match.groups()
    free = FREE[: max(len(x.shape) - len(given.replace(".", "")), 0)]
    given, wanted = given.replace("...", free), wanted.replace("...", free)
    summed = [letter for letter in given if letter in own]
    repeated = any(len(set(letters)) < len(letters) for letters in (given, own, wanted))
    if repeated or sorted({*given, *own} - {*summed}) != sorted(wanted):
        raise SourceError(
            f"{n.where} has the equation {equation!r}: read is a sum over all letters that tensor and kernel share"
        )
    sizes = dict(zip(own, kernel.shape, strict=False))
    if (
        len(given) != len(x.shape)
        or len(own) != kernel.ndim
        or any(sizes[k] != x.shape[given.index(k)] for k in summed)
    ):
        raise FileError(f"{n.where} has a kernel of shape {kernel.shape} for {equation!r} and values of {x.shape[1:]}")
    rows, columns = [k for k in given if k not in summed], [k for k in own if k not in summed]
    left = _flat(n, transposed(n, x, [given.index(k) for k in (*rows, *summed)]), len(rows))
    matrix = kernel.transpose([own.index(k) for k in (*summed, *columns)])
    shape = [*(x.shape[given.index(k)] for k in rows), *(sizes[k] for k in columns)]
    result = reshaped(n, product(n, left, matrix.reshape(left.shape[1], -1)), shape)
    result = transposed(n, result, [(*rows, *columns).index(k) for k in wanted])
    if bias:
        result = n.builder.apply("add", result, _aligned(n, bias[0], result.shape, wanted), where=n.where)
    return activation(n, result)


def _flat(n: LayerCall, x: Operand, rows: int) -> Operand:
    """As a matrix, with so many axes for its rows."""
    return reshaped(n, x, (math.prod(x.shape[:rows]), math.prod(x.shape[rows:])))


def _aligned(n: LayerCall, bias: Floats, shape: Sequence[int], wanted: str) -> Floats:
    """Biases with the axes of the result, of size 1 where they have none."""
    axes = str(n.get("bias_axes"))
    places = [size if letter in axes else 1 for letter, size in zip(wanted, shape, strict=True)]
    if math.prod(places) != bias.size:
        raise FileError(f"{n.where} has biases of shape {bias.shape} for the axes {axes!r} of {tuple(shape)}")
    return bias.reshape(places)
