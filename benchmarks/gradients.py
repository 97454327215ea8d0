"""Gradients of raw controls, against diffrax and torchdiffeq; the environment variable DIFFRAX names a Python that has
them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from measure import show, verdict

RIVAL = Path(__file__).with_name("learning_rivals.py")
SOURCE = Path(__file__).parents[1] / "src"
TAYLOR = SOURCE / "integraph/flow/jax/taylor.py"
COLUMNS = ("problem", "gradient by", "setting", "error of y(T)", "ms", "÷ diffrax")
TARGET = 0.6


def main() -> None:
    python = os.environ.get("DIFFRAX")
    if python is None:
        raise SystemExit("DIFFRAX must name a Python that has jax, diffrax and torchdiffeq")
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])  # taylor.py imports more of the package
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run([python, RIVAL, TAYLOR], capture_output=True, text=True, check=True, env=environment)
    found = json.loads(done.stdout)
    rivals = {problem: seconds for problem, name, _, _, seconds in found if name.startswith("diffrax")}
    rows = []
    for problem, name, setting, error, seconds in found:
        ratio = seconds / rivals[problem]
        said = f"{ratio:.2f} ({verdict(ratio, TARGET)})" if name.startswith("Taylor") else f"{ratio:.2f}"
        rows.append((problem, name, setting, f"{error:.1e}", f"{1e3 * seconds:.1f}", said))
    show("gradients", COLUMNS, rows, "W = 16, rank 16, 64 rows, float64, one thread; ms: best processor time")


if __name__ == "__main__":
    main()
