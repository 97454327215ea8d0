"""Validate a certificate before anything in it is computed or shown: its types, sizes and ranges.

Whether its claims are true is decided by `replay`. Nothing here trusts the certificate: it may come from a file that
anyone wrote, with a matching seal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from integraph.certify.certificate.tree import Leaf, Split, leaves
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import MOST

if TYPE_CHECKING:
    from integraph.certify.certificate.certificate import Certificate

HASH = 200  # characters of a hash, at most
LEAST = 2  # bits of a leaf


def fault(certificate: Certificate) -> str:
    """What is wrong with the certificate itself, whatever program it is about; "" if nothing is."""
    try:
        _texts(certificate)
        _box(certificate.box)
        _bounds(certificate)
        _tree(certificate)
    except ValueError as error:
        return str(error)
    return ""


def _texts(certificate: Certificate) -> None:
    for name in ("program", "target", "seal"):
        text = getattr(certificate, name)
        _need(
            isinstance(text, str) and len(text) <= HASH and text.isascii() and text.isprintable(),
            f"{name} is not a hash",
        )
    given = certificate.assumed
    _need(isinstance(given, tuple) and all(isinstance(text, str) for text in given), "its assumptions are not texts")
    _need(all(_encodes(text) for text in given), "its assumptions are not valid Unicode")


def _encodes(text: str) -> bool:
    """Whether it has no lone surrogates, which JSON can spell but UTF-8 cannot."""
    try:
        return bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def _box(box: Any) -> None:
    _need(isinstance(box, Box), "it has no box")
    _need(isinstance(box.low, tuple) and isinstance(box.high, tuple), "the ends of its box are not tuples")
    _need(all(map(_finite, (*box.low, *box.high))), "an end of its box is not a finite number")
    _need(len(box.low) == len(box.high), f"its box has {len(box.low)} lower ends and {len(box.high)} upper ones")
    _need(all(low <= high for low, high in zip(box.low, box.high, strict=True)), "its box is empty")


def _bounds(certificate: Certificate) -> None:
    upper, lower, eps, point = certificate.upper, certificate.lower, certificate.eps, certificate.point
    _need(eps is None or (_finite(eps) and eps >= 0), "its eps is not a bound")
    _need(_is_bound(upper), "its upper bound is not a number ≥ 0")
    _need(_finite(lower) and lower >= 0, "its lower bound is not a finite number ≥ 0")
    _need(lower <= upper, "its lower bound is above its upper one")
    if point is None:
        _need(lower == 0, "it claims a lower bound without a point")
        return
    low, high = certificate.box.low, certificate.box.high
    _need(isinstance(point, tuple) and len(point) == len(low), f"its point does not have {len(low)} coordinates")
    inside = all(_finite(x) and a <= x <= b for a, x, b in zip(low, point, high, strict=True))
    _need(inside, "its point is outside of its box")


def _tree(certificate: Certificate) -> None:
    _need(isinstance(certificate.tree, tuple), "it has no tree")
    highest = 0.0
    for number, node in enumerate(certificate.tree):
        if isinstance(node, Split):
            _need(type(node.axis) is int and _finite(node.at), f"node {number} is not a division")
            continue
        _need(isinstance(node, Leaf), f"node {number} is neither a division nor a leaf")
        _need(
            type(node.bits) is int and LEAST <= node.bits <= MOST,
            f"leaf {number} has too few bits or too many",
        )
        good = isinstance(node.uppers, tuple) and len(node.uppers) == 1 and _is_bound(node.uppers[0])
        _need(good, f"leaf {number} has no bound")
        highest = max(highest, node.uppers[0])
    for _ in leaves(certificate.tree, certificate.box):
        pass
    _need(certificate.upper == highest, f"it claims {certificate.upper!r}, its leaves say {highest!r}")


def _finite(x: Any) -> bool:
    return isinstance(x, float) and math.isfinite(x)


def _is_bound(x: Any) -> bool:
    return isinstance(x, float) and x >= 0


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
