"""Lifting: new variables and seconds, against QBee where the environment variable QBEE names a Python that has it; and
how far new variables drift from their formulas by each of the choices that are equal in number.

Words after the file are the beginnings of the names that are measured: `benchmarks/lifting.py circular hill`.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import integraph
from integraph.constructions.lifting import construction
from integraph.constructions.lifting.drift import preference
from integraph.errors import FlowError
from measure import clock, show, verdict
from ode_models import ELEMENTARY, HODGKIN_HUXLEY, POLYNOMIAL, Model

LIMIT = 60  # seconds of processor time for the rival
LONG = 600.0  # by the clock, for a search that ends; on a busy machine they are fewer of the processor
COLUMNS = ("system", "states", "new variables", "at most", "fewest proved", "s", "QBee: new", "s", "ratio")
DRIFT = ("system", "T", "choices", "first", "taken", "worst")
DRIFTING = (
    "FitzHugh–Nagumo",
    "toggle",
    "Arrhenius",
    "Michaelis–Menten",
    "Holling II",
    "Hill-2",
    "cart-pole",
    "Kepler 2-D",
)
RIVAL = Path(__file__).with_name("qbee_rival.py")


def main() -> None:
    timed(ELEMENTARY["pendulum"])  # imports
    wanted = tuple(sys.argv[1:]) if __name__ == "__main__" else ()
    models = {name: model for name, model in (POLYNOMIAL | ELEMENTARY).items() if name.startswith(wanted or ("",))}
    rows = [measure(name, model) for name, model in models.items()]
    show("lifting to a quadratic system", COLUMNS, rows, f"ratio: processor time of QBee, {LIMIT} s at most, to ours")
    if wanted:
        return
    show("drift without projection", DRIFT, [drift(name, ELEMENTARY[name]) for name in DRIFTING])
    seconds, system = timed(Model(HODGKIN_HUXLEY, 60, ()), 60.0)
    print(f"Hodgkin–Huxley: {len(system.new)} new variables, {seconds:.1f} s ({verdict(seconds, 65.0, 's')})")


def timed(model: Model, seconds: float = LONG) -> tuple[float, integraph.QuadraticSystem]:
    results: list[integraph.QuadraticSystem] = []
    took = clock(
        lambda: results.append(integraph.lift(model.equations, inputs=model.inputs, seconds=seconds, progress=False)),
        time.process_time,
    )
    return took, results[-1]


def drift(name: str, model: Model) -> tuple[object, ...]:
    """The manifold error at T of the first of all equal systems, of the one that is taken, and of the worst."""
    equals: list[tuple[tuple[float, float], integraph.QuadraticSystem]] = []

    def record(system: integraph.QuadraticSystem) -> tuple[float, float]:
        equals.append((preference(system), system))
        return equals[-1][0]

    with patch.object(construction, "preference", record):
        integraph.lift(model.equations, inputs=model.inputs, progress=False)
    errors = [manifold_error(system, model) for _, system in equals]
    taken = min(range(len(equals)), key=lambda place: equals[place][0])
    return (name, model.time, len(equals), *(f"{e:.0e}" for e in (errors[0], errors[taken], max(errors))))


def manifold_error(system: integraph.QuadraticSystem, model: Model) -> float:
    try:
        return system.simulate(model.start, [model.time], project=False).manifold_error
    except FlowError:
        return math.inf


def measure(name: str, model: Model) -> tuple[object, ...]:
    seconds, system = timed(model)
    count = len(system.new)
    theirs, taken = qbee(model)
    ours = (name, len(system.source.states), count, verdict(count, model.new), system.minimal, f"{seconds:.3f}")
    return (*ours, theirs, f"{taken:.2f}" if taken else "", f"{taken / seconds:.0f}" if taken else "")


def qbee(model: Model) -> tuple[str, float]:
    """How many new variables it takes, and how long; nothing where it is not there, or the system is not for it."""
    python = os.environ.get("QBEE")
    parts = [part.split("' =") for part in re.split(r"[;\n]", model.equations)]
    if python is None or any(len(part) != 2 or "'" in part[0] for part in parts):
        return "", 0.0
    equations = json.dumps([(left.strip(), right.strip()) for left, right in parts])
    try:
        done = subprocess.run([python, RIVAL, equations, str(LIMIT)], capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        return ("none", float(LIMIT)) if error.returncode == -signal.SIGXCPU else ("fails", 0.0)
    count, seconds = json.loads(done.stdout.strip().splitlines()[-1])
    return ("none" if count is None else str(count)), seconds


if __name__ == "__main__":
    main()
