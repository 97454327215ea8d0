"""`integraph loop`: verdicts, exit codes, JSON, the page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import call

FILE = """controller = "-x - 2*v"
period = 1
steps = 15
discrete = true
spec = "{spec}"
[plant]
x = "x + 0.1*v"
v = "v + 0.1*u"
[start]
x = [0.4, 0.5]
v = 0.1
"""


def test_verdicts_and_exit_codes(tmp_path: Path) -> None:
    path, page = tmp_path / "bench.toml", tmp_path / "tube.html"
    path.write_text(FILE.format(spec="x in [-1, 1] always"))
    good = call("loop", path, "--report", page, "--json")
    assert (good.code, good.data["status"]) == (0, "proved")
    assert "Play" in page.read_text()
    path.write_text(FILE.format(spec="x <= 0.1"))
    bad = call("loop", path, "--json")
    assert (bad.code, bad.data["status"]) == (1, "refuted")
    assert 0.4 <= bad.data["start"]["x"] <= 0.5
    path.write_text(FILE.format(spec="x <= 0.4"))
    there = call("loop", path, "--cells", "1")
    assert there.code in (0, 1, 3)
    path.write_text(FILE.format(spec="x <="))
    assert call("loop", path).code == 1
    assert call("loop", tmp_path / "none.toml").code != 0


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_proved(tmp_path: Path) -> None:
    """A question that is never decided: Ctrl-C ends it, with an answer."""
    path = tmp_path / "bench.toml"
    path.write_text(FILE.format(spec="x*x >= x*x - 1e-15*v or x < 0.3").replace("15\n", "400\n", 1))
    command = [sys.executable, "-m", "integraph", "loop", str(path), "--seconds", "300", "--cells", "100000", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, text=True)
    time.sleep(15)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode in (0, 1, 3), out
    assert '"share"' in out
