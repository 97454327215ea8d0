"""QBee on one system, for benchmarks/lifting.py; runs in a Python that has qbee: prints new variables and seconds of
processor time. The second argument limits it."""

from __future__ import annotations

import json
import resource
import sys
import time


def main() -> None:
    import sympy
    from qbee import functions, polynomialize_and_quadratize

    equations = json.loads(sys.argv[1])
    names = {name: functions(name) for name, _ in equations}  # of one name it makes one, not a list
    system = [
        (names[name], sympy.sympify(side.replace("^", "**"), locals=names, rational=True)) for name, side in equations
    ]
    begun = time.process_time()
    limit = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(begun) + limit, int(begun) + 2 * limit))
    result = polynomialize_and_quadratize(system)
    seconds = time.process_time() - begun
    print(json.dumps([None if result is None else len(result.introduced_variables), seconds]))


if __name__ == "__main__":
    main()
