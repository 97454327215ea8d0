"""Where the command starts: nothing is imported yet, so that Ctrl-C finds us from the first moment on."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from integraph.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
