"""Arrays and scalars from users, as float64 or an error that says why they are not numbers; what fits into what."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.errors import IntegraphError, UsageError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Int32 = NDArray[np.int32]


def numbers(given: Any, what: str, error: type[IntegraphError] = UsageError) -> Floats:
    """`given` as float64, whatever its shape. Text, complex numbers, dates and masks are not silently converted."""
    if isinstance(given, np.ndarray) and given.dtype == np.float64 and type(given) is np.ndarray:
        return given
    try:
        array = np.asarray(given)
        if isinstance(given, np.ma.MaskedArray):
            raise TypeError("a masked array has missing values")
        if array.dtype.kind not in "biufO" or (array.size and array.dtype.kind == "O" and _odd(array)):
            kind = array.dtype if array.dtype.kind != "O" else type(array.flat[0]).__name__
            raise TypeError(f"they are {'text' if array.dtype.kind in 'US' else kind}")
        return np.asarray(array, np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as reason:  # the last is torch's, of gradients
        raise error(f"{what} must be numbers that float64 can hold: {reason}") from None


def _odd(array: np.ndarray[Any, Any]) -> bool:
    """Whether it holds objects that float() accepts although they are not numbers."""
    return any(item is None or isinstance(item, str | bytes | complex) for item in array.flat)


def broadcasts(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of this shape can be repeated to that one."""
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def immutable(array: Any) -> bool:
    """Whether an array is read-only all the way down to the memory."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def real(given: Any, what: str, error: type[IntegraphError] = UsageError) -> float:
    """One number."""
    array = numbers(given, what, error)
    if array.ndim:
        raise error(f"{what} must be one number, got an array of shape {array.shape}")
    return float(array)


def whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is no integer from `least` to `most`."""
    good = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not good or (most is not None and value > most):  # type: ignore[operator]
        raise UsageError(
            f"needs an integer, at least {least}{f' and at most {most}' if most else ''}", argument=name, value=value
        )
