"""Keras itself, the oracle."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

from lazy import framework


@pytest.fixture(scope="module")
def keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return framework("keras")
