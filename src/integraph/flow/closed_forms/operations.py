"""The operations that closed forms are recorded in, and the result of a trace.

An array has *lanes*, its shape, and one more axis of inputs that no operation mentions: a writer puts it first, last,
or loops over it. Arguments of an elementwise operation have as many axes as its result; an axis of length 1 is
broadcast. The other operations work on the last axis of the lanes, or on all of them as one row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from integraph.numbers.arrays import Indices

Argument = Any  # the number of an earlier operation (an int), or a constant (a numpy array with the shape of its lanes)


class Elementwise(NamedTuple):
    """The name of the numpy function, and which arguments make the result infinite or NaN whenever they are."""

    numpy: str
    carries: tuple[bool, ...]
    truth: bool = False  # gives True or False


ELEMENTWISE = {
    "add": Elementwise("add", (True, True)),
    "subtract": Elementwise("subtract", (True, True)),
    "multiply": Elementwise("multiply", (True, True)),
    "divide": Elementwise("divide", (True, False)),
    "negate": Elementwise("negative", (True,)),
    "abs": Elementwise("abs", (True,)),
    "sqrt": Elementwise("sqrt", (True,)),
    "maximum": Elementwise("maximum", (False, False)),
    "minimum": Elementwise("minimum", (False, False)),
    "exp": Elementwise("exp", (False,)),
    "expm1": Elementwise("expm1", (False,)),
    "log": Elementwise("log", (True,)),
    "log1p": Elementwise("log1p", (True,)),
    "sin": Elementwise("sin", (True,)),
    "cos": Elementwise("cos", (True,)),
    "tanh": Elementwise("tanh", (False,)),
    "arcsinh": Elementwise("arcsinh", (True,)),
    "arctan2": Elementwise("arctan2", (False, False)),
    "hypot": Elementwise("hypot", (True, True)),
    "power": Elementwise("power", (False, False)),
    "erf": Elementwise("", (False,)),  # scipy's
    "less": Elementwise("less", (False, False), truth=True),
    "equal": Elementwise("equal", (False, False), truth=True),
    "both": Elementwise("logical_and", (False, False), truth=True),
    "either": Elementwise("logical_or", (False, False), truth=True),
    "where": Elementwise("where", (False, False, False)),
}
SMOOTH = {  # analytic at 0, which a quotient is not to those who differentiate it: for languages with derivatives
    "expm1c": "(e^x − 1)/x",
    "log1pc": "ln(1 + x)/x",
    "asinhc": "asinh(x)/x",
    "tanhc": "tanh(x)/x",
    "gaussian_mean": "∫_0^1 exp(−x²s²) ds",
}
REDUCTIONS = {"sum": True, "product": True, "largest": False}  # over the last axis, which goes; carries?
OTHERS = {
    "input": "x, the inputs",
    "reshape": "the same row of numbers with other axes",
    "broadcast": "axes of length 1 repeated",
    "gather": "the numbers of one array, as a row, at `indices`",
    "concatenate": "several rows, one after the other",
    "parameter": "the tensor `name`, the same for all inputs",
    "contract": "Σ over the last axis of a product of several arrays, which are broadcast",
    "decayed_tanh": "α(1) and λ(1) of a tanh from small α₀ and λ₀, and λ₀ may be left out: for languages that have it",
    "alpha": "the first array of these two",
    "lam": "the second",
    "free_flow": "y after unit time by the controls of a block without a closed form, from y, x, b, A, U, V₁ and V₂",
    "held": "the same numbers, whose derivatives count as 0: for languages with derivatives",
    "matmul": "lanes (…, R) times a constant matrix (R, M) or, for lanes (N, L, R), N of them, (N, R, M)",
}


EVERY = frozenset(ELEMENTWISE)
DIFFERENTIABLE = (
    EVERY | frozenset(SMOOTH) | {"contract", "free_flow"}
)  # the native operations of a language with derivatives


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    op: str
    arguments: tuple[Argument, ...]
    lanes: tuple[int, ...]
    indices: Indices | None = None  # of a gather, in the shape of the lanes
    name: str = ""  # of a parameter

    @property
    def size(self) -> int:
        return math.prod(self.lanes)

    @property
    def truth(self) -> bool:
        return self.op in ELEMENTWISE and ELEMENTWISE[self.op].truth


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForms:
    """Operations in order, and the numbers of some: of the outputs, of what is > 0 as long as the solution exists, and
    of what must be finite, besides the outputs."""

    operations: tuple[Operation, ...]
    outputs: int
    positive: tuple[int, ...]
    finite: tuple[int, ...]
