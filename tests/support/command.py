"""The command as tests call it: in this process, which is quick, or as a process of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import integraph
from integraph.cli.app import main

WAVE = "sin(3*x)*exp(-y)"


@dataclass(frozen=True)
class Said:
    """How it ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON document of stdout; NaN and Infinity are no JSON."""
        return json.loads(self.out, parse_constant=lambda name: 1 / 0)


def call(*words: str | Path, stdin: bytes = b"") -> Said:
    """`integraph words…` in this process, with no terminal anywhere. There is never a traceback unless asked for."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    given = io.TextIOWrapper(io.BytesIO(stdin))
    with (
        patch.object(sys, "argv", ["integraph", *map(str, words)]),
        patch.object(sys, "stdin", given),
        patch.object(sys, "stdout", streams[0]),
        patch.object(sys, "stderr", streams[1]),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read())
    said = Said(int(code), *texts)
    assert "--debug" in words or "Traceback" not in said.out + said.err, said
    return said


def process(*words: str | Path, **options: Any) -> Said:
    """The same in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "integraph", *map(str, words)], capture_output=True, text=True, timeout=300, **options
    )
    return Said(found.returncode, found.stdout, found.stderr)


@cache
def lean() -> integraph.Program:
    """The wave by Theorem 1, with an error that can be seen."""
    return integraph.compile(WAVE, 1e-3, method="lean")
