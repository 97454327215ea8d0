"""Where the command starts. Everything is imported where Ctrl-C is caught, so that it never shows a traceback."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from integraph.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
