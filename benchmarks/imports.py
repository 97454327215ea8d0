"""How long `import integraph` takes, beside numpy alone."""

from __future__ import annotations

import subprocess
import sys

from measure import race, show, verdict


def main() -> None:
    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    best = race(
        {
            "python": lambda: run("pass"),
            "numpy": lambda: run("import numpy"),
            "integraph": lambda: run("import integraph"),
        },
        seconds=5.0,
    )
    spent = {name: t - best["python"] for name, t in best.items() if name != "python"}
    rows = [(name, f"{t:.3f} s", verdict(t, 0.5) if name == "integraph" else "") for name, t in spent.items()]
    show("import (interpreter start taken off)", ("package", "time", "target"), rows)


if __name__ == "__main__":
    main()
