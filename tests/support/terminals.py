"""The command at a real terminal, as POSIX has them."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

import pexpect
import pytest

if not hasattr(pexpect, "spawn"):
    pytest.skip("needs a terminal as POSIX has them", allow_module_level=True)

TERMINAL = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
    TERMINAL.pop(name, None)
COLOUR = re.compile("\x1b\\[[0-9;]*m")
ANY = re.compile("\x1b\\[[0-9;?]*[A-Za-z]|\r")


def spawn(*words: str | Path, cwd: Path, code: str | None = None) -> pexpect.spawn:
    """The command, or code that calls it, at a terminal."""
    arguments = [*(["-m", "integraph"] if code is None else ["-c", code]), *map(str, words)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # JAX, once imported here, warns of every fork
        return pexpect.spawn(
            sys.executable, arguments, cwd=str(cwd), env=TERMINAL, dimensions=(40, 100), encoding="utf-8", timeout=120
        )


def ended(child: pexpect.spawn) -> tuple[int, str]:
    """How it ended and all it said."""
    text = child.read()
    child.close()
    assert "Traceback" not in text
    return child.exitstatus, text
