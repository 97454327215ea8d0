"""How long `import integraph` and `integraph --help` take, beside numpy alone."""

from __future__ import annotations

import os
import subprocess
import sys

from measure import race, show, verdict


def main() -> None:
    # As a user has it: with bytecode on disk, which the warm-up call writes.
    normal = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=normal)

    def help() -> None:
        subprocess.run([sys.executable, "-m", "integraph", "--help"], check=True, env=normal, stdout=subprocess.DEVNULL)

    best = race(
        {
            "python": lambda: run("pass"),
            "numpy": lambda: run("import numpy"),
            "integraph": lambda: run("import integraph"),
            "integraph.compile": lambda: run("from integraph import compile"),
            "integraph --help": help,
        },
        seconds=5.0,
    )
    spent = {name: t - best["python"] for name, t in best.items() if name != "python"}
    spent["integraph --help"] = best["integraph --help"]  # with it: nobody can do without
    rows = [(name, f"{t:.3f} s", verdict(t, 0.5, "s") if name != "numpy" else "") for name, t in spent.items()]
    show("import (interpreter start taken off, but for --help)", ("what", "time", "target"), rows)


if __name__ == "__main__":
    main()
