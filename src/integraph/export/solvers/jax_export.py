"""jax.export: the closed forms as a file that jax runs without this package, on processors, GPUs and TPUs.

The number of inputs is a symbol, and the derivative is part of the file: `jax.export.deserialize(data).call(x)`, and
`.vjp()`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from integraph.errors import UsageError

if TYPE_CHECKING:
    from integraph.program import Program

PRECISIONS = ("float64", "float32")
PLATFORMS = ("cpu", "cuda", "tpu")


def write(program: Program, name: str, *, precision: str = "float64") -> bytes:
    """`precision` is float64 or float32. A TPU has float32 only."""
    if precision not in PRECISIONS:
        raise UsageError("the numbers of the file are float64 or float32", argument="precision", value=precision)
    function, params = program.to_jax()
    if find_spec("flatbuffers") is None:
        raise UsageError("the format jax needs a package, with which jax writes files: pip install flatbuffers")
    import jax
    import jax.export

    with jax.enable_x64(precision == "float64"):
        (batch,) = jax.export.symbolic_shape("batch")
        x = jax.ShapeDtypeStruct((batch, program.inputs), precision)
        exported = jax.export.export(jax.jit(lambda x: function(params, x)), platforms=PLATFORMS)(x)
        return bytes(exported.serialize(vjp_order=1))
