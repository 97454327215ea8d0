"""The command: draw, check, shrink, show; a table at the end. Exit code 1 if anything fails."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from typing import Any

from fuzz.kind import FAILS, STATUSES, Absent, Kind, Outcome, case, known, load
from fuzz.shrink import shrink

ALIKE = 2  # failures of one class that are shrunk and shown; others are counted


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.case:
        name, _, number = options.case.partition(":")
        return int(_repeat(load(name), options.seed, int(number), options.shrink))
    tallies = []
    names = options.kinds.split(",") if options.kinds else known()
    for name in names:
        try:
            kind = load(name)
        except Absent as why:
            print(f"{name}: skipped, {why}")
            continue
        tally = Tally(kind, options.seed, options.shrink)
        tallies.append(tally)
        tally.run(options.seconds / len(names), options.count)
    for tally in tallies:
        print(tally)
    return int(any(tally.statuses[FAILS] for tally in tallies))


class Tally:
    """A run of one kind, and what came of it."""

    def __init__(self, kind: Kind, seed: int, shrinking: float) -> None:
        self.kind, self.seed, self.shrinking = kind, seed, shrinking
        self.statuses: Counter[str] = Counter()
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.alike: Counter[str] = Counter()
        self.seconds = 0.0

    def run(self, seconds: float, count: int | None) -> None:
        """Until time or cases run out; Ctrl-C ends a run early and keeps what is known."""
        start = time.monotonic()
        try:
            while time.monotonic() - start < seconds and self.cases != count:
                self.one(self.cases)
        except KeyboardInterrupt:
            print("interrupted")
        self.seconds = time.monotonic() - start

    @property
    def cases(self) -> int:
        return sum(self.statuses.values())

    def one(self, number: int) -> None:
        drawn = case(self.kind, self.seed, number)
        outcome = self.kind.check(drawn)
        self.statuses[outcome.status] += 1
        if outcome.status != FAILS:
            self.reasons[outcome.status, outcome.detail] += 1
            return
        like = alike(outcome)
        self.alike[like] += 1
        if self.alike[like] <= ALIKE:
            _failure(self.kind, drawn, outcome, f"--seed {self.seed} --case {self.kind.name}:{number}", self.shrinking)

    def __str__(self) -> str:
        counts = ", ".join(f"{self.statuses[status]} {status}" for status in STATUSES)
        lines = [f"{self.kind.name}: {self.cases} cases in {self.seconds:.0f} s, seed {self.seed}: {counts}"]
        for status in STATUSES:
            for (whose, why), count in self.reasons.most_common():
                if whose == status and why:
                    lines.append(f"{count:8d} {status}: {why}")
        lines += [f"{count:8d} {FAILS}: {like}" for like, count in self.alike.most_common()]
        return "\n".join(lines)


def alike(outcome: Outcome) -> str:
    """The detail of a failure without its numbers."""
    text = re.sub(r" at \[.*", "", outcome.detail)
    text = re.sub(r"[-−]?(\d[\d.e+-]*|\binf\b|\bnan\b)", "#", text)
    return re.sub(r"\[(#(, )?)*\]", "[…]", text)[:110]


def _repeat(kind: Kind, seed: int, number: int, seconds: float) -> bool:
    drawn = case(kind, seed, number)
    outcome = kind.check(drawn)
    if outcome.status == FAILS:
        print(kind.show(drawn))
        _failure(kind, drawn, outcome, f"--seed {seed} --case {kind.name}:{number}", seconds)
    else:
        print(kind.show(drawn), f"\n{outcome.status}: {outcome.detail}")
    return outcome.status == FAILS


def _failure(kind: Kind, drawn: Any, outcome: Outcome, again: str, seconds: float) -> None:
    small = shrink(kind, drawn, outcome, seconds)
    print(
        f"{'─' * 100}\n{again}\n{outcome.detail}\nshrunk: {kind.check(small).detail}\n\n{kind.show(small)}\n",
        flush=True,
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all kinds together (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, help="cases of each kind, at most")
    parser.add_argument("--kinds", default="", help=f"some of {','.join(known())}, separated by commas (all)")
    parser.add_argument("--case", help="repeat one case and show it, as in onnx:17, with the --seed of its run")
    parser.add_argument("--shrink", type=float, default=10.0, help="seconds to shrink a failure (10)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
