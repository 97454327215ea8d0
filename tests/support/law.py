"""How many examples a law is tried with: all under `make test-all`, some of them under `make test`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(number: int, **more: Any) -> settings:
    """So many of a hundred as the profile in conftest.py says, and five at least."""
    return settings(max_examples=max(min(number, 5), number * settings().max_examples // 100), **more)
