"""The functions of closed forms on nodes of a tape: what is usual, and a guard where it is not accurate.

Each function takes arrays of nodes and floats. What needs a case distinction for every input, such as z·e^x far from 0,
is written for its usual case; inputs beyond it fail a guard.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.flow.exact.tape import OPERATIONS, Node, NoTape, Tape
from integraph.gadgets.functions.elementary import SAFE, TINY
from integraph.gadgets.functions.gauss import SPLIT
from integraph.gadgets.functions.namespace import FLOAT, Array

NEAR, FAR = 1e-30, 1e30  # what must stay positive, and is divided by
LARGE = 30.0  # exponents beyond which a base that is not nearly 1 leaves float64
REACH = 150.0  # digits of a product of powers: times e^±FALL it is still a normal number
FALL = 300.0
PLAIN = 1.0  # exponents up to which the rounding of 1 + x costs less than half an ulp
SHORT = 4  # integer exponents that are products
HALF_ROOT_PI = math.sqrt(math.pi) / 2


def lifted(name: str) -> Callable[[Callable[..., Any]], Any]:
    """A function of a tape and numbers, at least one of them a node, as a function of arrays; that of floats is
    `FLOAT`'s."""

    def decorate(function: Callable[..., Any]) -> Any:
        def one(*given: Any) -> Any:
            tape = next((a.tape for a in given if isinstance(a, Node)), None)
            if tape is None:
                with np.errstate(all="ignore"):
                    return _finite(float(getattr(FLOAT, name)(*(np.float64(a) for a in given))))
            return function(tape, *given)

        count = function.__code__.co_argcount - 1
        return staticmethod(np.frompyfunc(one, count, 1))

    return decorate


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise NoTape(f"a constant is {value}")
    return value


def _plain(name: str, op: str = "") -> Any:
    """A function that is an operation of the tape."""
    if len(OPERATIONS[op or name].carries) == 2:
        return lifted(name)(lambda tape, x, y: tape.push(op or name, x, y))
    return lifted(name)(lambda tape, x: tape.push(op or name, x))


def _away_from_zero(tape: Tape, x: Any) -> Any:
    return x + tape.push("copysign", TINY, x)


def _grown(tape: Tape, z: Any, x: Any) -> Any:
    """z e^x. Where z is a constant up to 1, the result is as small as the factor, and needs no more digits."""
    if isinstance(z, Node) or abs(z) > 1.0:
        tape.guard(x, low=-SAFE)
    return z * tape.push("exp", x)


def _power(tape: Tape, base: Any, a: float) -> Any:
    """base^a, by products and roots where they do."""
    size, root = abs(a), abs(a) % 1.0 == 0.5
    if size > SHORT or not (root or size % 1.0 == 0.0):
        return tape.push("power", base, a)
    if a < 0:
        base = 1.0 / base
    value = tape.push("sqrt", base) if root else 1.0
    for _ in range(int(size)):
        value = value * base
    return value


def _corrected(x: Any, a: Any, total: float) -> tuple[Any, Any]:
    """(1 + x)^a as a power and the small number that puts back the rounding of 1 + x. With exponents of size `total`
    together, the base must be so near 1 that no product of powers leaves the range of float64."""
    if not isinstance(x, Node) or isinstance(a, Node) or total > LARGE:
        raise NoTape("a power of a constant, or with an exponent that is large or varies")
    tape, base, reach = x.tape, 1.0 + x, min(FAR, 10.0 ** (REACH / max(total, 1.0)))
    tape.guard(base, 1.0 / reach, reach)
    factor = _power(tape, base, a)
    if abs(a) <= PLAIN:
        return factor, 0.0
    rest = base - 1.0
    lost = (x - rest) + (1.0 - (base - rest))
    return factor, a * (lost / base)


class TapeFunctions:
    """See `gadgets/functions/namespace.py`."""

    abs = _plain("abs", "absolute")
    exp = _plain("exp")
    expm1 = _plain("expm1")
    log1p = _plain("log1p")
    sin = _plain("sin")
    cos = _plain("cos")
    hypot = _plain("hypot")
    grow = lifted("grow")(_grown)

    @lifted("sign")
    def sign(tape: Tape, x: Any) -> Any:
        return tape.push("copysign", 1.0, x)

    @lifted("atan2")
    def atan2(tape: Tape, y: Any, x: Any) -> Any:
        """From the usual start x is 1, and the arctangent of one number takes a third of the time."""
        if not isinstance(x, Node) and x == 1.0:
            return tape.push("arctan", y)
        return tape.push("arctan2", y, x)

    @lifted("relu")
    def relu(tape: Tape, x: Any) -> Any:
        return tape.push("maximum", x, 0.0)

    @lifted("expm1c")
    def expm1c(tape: Tape, x: Any) -> Any:
        moved = _away_from_zero(tape, x)
        return tape.push("expm1", moved) / moved

    @lifted("log1pc")
    def log1pc(tape: Tape, x: Any) -> Any:
        moved = _away_from_zero(tape, x)
        return tape.push("log1p", moved) / moved

    @lifted("power")
    def power(tape: Tape, z: Any, x: Any, a: Any) -> Any:
        factor, error = _corrected(x, a, abs(a))
        return z * factor * (1.0 + error)

    def grow_powers(self, z: Array, e: Array, x: Array, a: Array) -> Array:
        total = np.max(np.sum(np.abs(np.broadcast_to(a, np.broadcast_shapes(a.shape, x.shape))), -2), initial=0.0)
        factors, errors = np.frompyfunc(_corrected, 3, 2)(x, a, float(total))
        return z * (np.prod(factors, -2) * (1.0 + np.sum(errors, -2)) * _SHORT_EXP(e))

    @lifted("log_cosh")
    def log_cosh(tape: Tape, x: Any, k: Any) -> Any:
        """ln(1 + 2 sinh²(x/2)) for k = 0."""
        if isinstance(k, Node) or k != 0.0:
            raise NoTape("ln cosh from another start than 0")
        tape.guard(x, -SAFE, SAFE)
        half = tape.push("sinh", 0.5 * x)
        return tape.push("log1p", 2.0 * (half * half))

    @lifted("log_logistic")
    def log_logistic(tape: Tape, x: Any, k: Any) -> Any:
        gain = _grown(tape, k * TapeFunctions.expm1c(-1.0 * tape.push("absolute", x)), tape.push("maximum", x, 0.0))
        tape.guard(gain, high=1e300)
        return tape.push("log1p", gain)

    def logistic(self, x: Array, k: Array, *z: Array) -> tuple[Array, ...]:
        """One exponential serves both signs: of two factors, one is 1. Where k = 0 and e^−x is very small, what must be
        positive fails its guard."""
        size = self.abs(x)
        rises = 0.5 + 0.5 * self.sign(x)
        falls, e = 1.0 - rises, self.exp(-size)
        below = (rises * e + falls) + k * self.expm1c(-size)
        above = falls * e + rises
        return below, *(y * above / below for y in z)

    @lifted("inverse_distance")
    def inverse_distance(tape: Tape, a: Any, b: Any) -> Any:
        if isinstance(a, Node) or a != 0.0:
            raise NoTape("asinh from another start than 0")
        moved = _away_from_zero(tape, b)
        return tape.push("arcsinh", moved) / moved

    @lifted("fall")
    def fall(tape: Tape, z: Any, a: Any, b: Any, c: Any) -> Any:
        """The rounding of b² is put back."""
        if isinstance(a, Node) or a != 0.0:
            raise NoTape("a Gaussian from another start than 0")
        square, head = b * b, SPLIT * b
        head = head - (head - b)
        tail = b - head
        lost = ((head * head - square) + 2.0 * (head * tail)) + tail * tail
        return _grown(tape, z * (1.0 - (0.5 * c) * lost), (-0.5 * c) * square)

    @lifted("gauss")
    def gauss(tape: Tape, z: Any, a: Any, b: Any, c: Any) -> Any:
        if isinstance(a, Node) or a != 0.0:
            raise NoTape("an error function from another start than 0")
        tape.guard(b, -FAR, FAR)
        moved = _away_from_zero(tape, math.sqrt(0.5 * c) * b)
        return z * (HALF_ROOT_PI * (tape.push("erf", moved) / moved))

    def sum(self, x: Array, axis: int) -> Array:
        return np.sum(x, axis=axis)

    def dot(self, w: Array, x: Array) -> Array:
        return np.matmul(w[..., 0], x)

    def gaps(self, t: float, s: Array, c: Array, u: Array) -> tuple[Array, Array]:
        raise NoTape("a softmax")

    def normaliser(self, t: float, u: Array, m: Array, sigma: Array, top: Array, grown: Array) -> tuple[Array, Array]:
        raise NoTape("a softmax")

    def log_normaliser(self, t: float, u: Array, m: Array, sigma: Array, top: Array, n: Array) -> Array:
        raise NoTape("a logarithm of a sum of exponentials")


def _short_exp(e: Any) -> Any:
    if isinstance(e, Node):
        e.tape.guard(e, low=-FALL)
        return e.tape.push("exp", e)
    if not -FALL < e < FALL:
        raise NoTape(f"a factor e^{e}")
    return math.exp(e)


_SHORT_EXP = np.frompyfunc(_short_exp, 1, 1)
TAPE = TapeFunctions()
