"""The smallest case that still fails in the same way."""

from __future__ import annotations

import time
from typing import Any

from fuzz.kind import FAILS, Kind, Outcome


def shrink(kind: Kind, case: Any, outcome: Outcome, seconds: float) -> Any:
    """Greedy: the first simpler case with the same sort of failure is taken, until there is none or time is up."""
    end = time.monotonic() + seconds
    while True:
        for candidate in kind.smaller(case):
            if time.monotonic() > end:
                return case
            found = kind.check(candidate)
            if found.status == FAILS and found.failure == outcome.failure:
                case = candidate
                break
        else:
            return case
