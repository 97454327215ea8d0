"""Any fact as JSON: arrays become lists, numbers that JSON has no word for become texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def plain(value: Any) -> Any:
    """The same with nothing in it but texts, numbers, lists and mappings; inf and nan as "inf" and "nan"."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    return [plain(part) for part in value]
