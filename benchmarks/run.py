"""`make bench`: every number the project promises, measured. Each file also runs alone; `terms.py long`: 1e9 terms."""

from __future__ import annotations

import exact
import imports
import scaling
import taylor
import terms
from measure import CONSOLE


def main() -> None:
    for module in (exact, taylor, terms, scaling, imports):
        CONSOLE.rule((module.__doc__ or "").strip().splitlines()[0])
        module.main()


if __name__ == "__main__":
    main()
