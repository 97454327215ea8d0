"""Parameters of which `make test` takes a few, and `make test-all` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(names: str | tuple[str, ...], cases: Iterable[Any], quick: int, **more: Any) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize` with all cases marked slow but so many, from the first to the last of the list."""
    listed = list(cases)
    kept = {round((len(listed) - 1) * number / max(quick - 1, 1)) for number in range(quick)}
    single = isinstance(names, str)
    marked = [
        case if number in kept else pytest.param(*((case,) if single else case), marks=pytest.mark.slow)
        for number, case in enumerate(listed)
    ]
    return pytest.mark.parametrize(names, marked, **more)
