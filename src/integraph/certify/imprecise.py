"""What more bits may help against."""

from __future__ import annotations

from integraph.certify.problem import Unprovable


class PrecisionTooLow(Unprovable):
    """Not proved at this precision, for this box."""
