"""Certificates: how long proofs take, how close they come to what is there, rates of Theorem 2 that are proved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import integraph
from integraph import Network, Program
from integraph.certify.formula.partial_derivatives import partials
from integraph.certify.problem import Box
from integraph.certify.proof import Proof
from integraph.certify.search.branch_and_bound import search
from integraph.certify.statement import problem
from integraph.program.box import where
from integraph.targets import Function
from measure import CONSOLE
from random_nets import net

Rows = Iterator[tuple[object, ...]]

EPS = 1e-6  # of networks
SMALL, SEEDS = (2, 16, 16, 1), range(5)
KINDS: dict[str, float | None] = {"uniform": 1.0, "Glorot": None}  # weights from scale·[−1, 1]
CLOSE = 0.1  # above the largest difference found
LARGE = (((4, 256, 256, 2), "tanh"), ((12, 64, 64, 64, 3), "sigmoid"))
RATES = (
    ((2, 4, 1), 5.0, "tanh"),
    ((2, 8, 1), 3.0, "sigmoid"),
    ((5, 32, 1), 1.0, "sigmoid"),
    ((3, 16, 16, 1), 1.0, "tanh"),
    ((2, 16, 16, 2), 2.0, "sigmoid"),
    ((4, 32, 32, 1), 0.3, "tanh"),
    ((4, 24, 24, 24, 2), None, "tanh"),
    ((8, 64, 64, 64, 1), None, "tanh"),
    ((8, 64, 64, 64, 64, 1), 1.0, "tanh"),
    ((8, 64, 64, 64, 64, 3), 1.0, "sigmoid"),
    ((1, 4, 1), None, "tanh"),  # the eleventh: too small for a fifth, since no rate may be less than ln 1e6 or so
)

EPS1, ORDER = 1e-3, 4  # of functions; of partial derivatives
FORMULAS = {1: "sin(3*x)*exp(-x)/(1 + x^2)", 2: "sin(3*x)*exp(-y)/(1 + x*y)", 3: "sin(3*x)*exp(-y)/(1 + x*y*z)"}
METHODS = (
    (2, "lean", (None, 4.0, 1.0)),
    (3, "lean", (None, 4.0, 1.0)),
    (1, "remark", (None, 4.0, 1.0)),
    (1, "paper", (None, 4.0, 1.0)),
    (2, "remark", (None,)),  # no gap: what its rounded controls do is known less well than it differs from f
    (2, "paper", (None, 4.0, 1.0)),
)
SECONDS = {1: 10.0, 2: 10.0, 3: 60.0}  # end to end, by dimension
RATIO = 5.0  # proven/found


class Timed(NamedTuple):
    """What a call gave, and its seconds."""

    value: Any
    seconds: float


class Case(NamedTuple):
    name: str
    program: Program
    source: Network | Function
    eps: float
    gap: float | None


def main() -> None:
    warm()
    title = f"{named(SMALL)}, tanh, ε = {EPS:g}: one box, and then until proven ≤ {1 + CLOSE:g}·found"
    table(title, SMALL_COLUMNS, small())
    table(f"larger networks, ε = {EPS:g}", LARGE_COLUMNS, large())
    table(f"largest rate of the narrow construction, proved, ε = {EPS:g}", RATES_COLUMNS, rates())
    table(f"partial derivatives of {FORMULAS[2]} of order ≤ {ORDER} on [0, 1]²", PARTIALS_COLUMNS, derivatives())
    table(f"Theorem 1, ε = {EPS1:g}, on the unit cube", SMOOTH_COLUMNS, smooth())
    table("certificates and their check", CHECK_COLUMNS, checks())
    table("one process and two", POOL_COLUMNS, pools())


def table(title: str, columns: tuple[str, ...], rows: Rows) -> None:
    """In Markdown, line by line as it is measured."""
    for line in ("", title, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"):
        CONSOLE.print(line, soft_wrap=True, markup=False)
    for cells in rows:
        CONSOLE.print(f"| {' | '.join(map(str, cells))} |", soft_wrap=True, markup=False)


def aimed(text: str, value: float, limit: float) -> str:
    """The measured value, and whether it misses its target, which the column names."""
    return text if value <= limit else f"{text} MISSED"


def timed(run: Callable[..., Any], *given: Any, **options: Any) -> Timed:
    start = time.perf_counter()
    value = run(*given, **options)
    return Timed(value, time.perf_counter() - start)


def processed(run: Callable[..., Any], *given: Any, **options: Any) -> Timed:
    """Processor time, of this process alone: what others do on the machine counts less."""
    start = time.process_time()
    value = run(*given, **options)
    return Timed(value, time.process_time() - start)


def named(sizes: tuple[int, ...]) -> str:
    return "-".join(map(str, sizes))


def prove(program: Program, source: Network | Function, eps: float, **options: Any) -> Timed:
    return timed(integraph.certify, program, source, eps, progress=False, **options)


def searching(program: Program, source: Network | Function, eps: float, gap: float | None = None) -> float:
    """Seconds of the search alone: nothing is hashed, and no large difference is looked for before it."""
    cube = where(program)
    box = Box(tuple(cube.low.tolist()), tuple(cube.high.tolist()))
    return search(problem(program, source, box), box, goal=eps, gap=gap, progress=False).seconds


def warm() -> None:
    """What is loaded when it is needed for the first time belongs to no proof."""
    network, function = net((1, 2, 1), None), integraph.function(FORMULAS[1])
    prove(integraph.compile(network, EPS), network, EPS)
    prove(integraph.compile(function, EPS1, method="lean"), function, EPS1)


def closeness(proof: Proof) -> float:
    return proof.proven / proof.seen if proof.seen else np.inf


def bounds(proof: Proof) -> tuple[str, ...]:
    """Promised, proven, and the largest difference found."""
    return tuple("nothing" if not x else f"{x:.2e}" for x in (proof.promised, proof.proven, proof.seen))


SMALL_COLUMNS = (
    "weights, seed", "status", "boxes, 1", "search ≤ 50 ms", "whole call", "promised", "proven", "found ≥",
    "boxes", "whole call ≤ 2 s", f"proven / found ≤ {1 + CLOSE:g}",
)  # fmt: skip


def small() -> Rows:
    for kind, scale in KINDS.items():
        for seed in SEEDS:
            network = net(SMALL, scale, seed=seed)
            program = integraph.compile(network, EPS)
            proof, seconds = prove(program, network, EPS)
            near = prove(program, network, EPS, gap=CLOSE).value
            alone = searching(program, network, EPS)
            yield (
                f"{kind}, {seed}", proof.status, aimed(str(proof.boxes), proof.boxes, 1),
                aimed(f"{1e3 * alone:.0f} ms", alone, 0.05), f"{seconds:.2f} s", *bounds(proof),
                near.boxes, aimed(f"{near.seconds:.1f} s", near.seconds, 2.0),
                aimed(f"{closeness(near):.3f}", closeness(near), 1 + CLOSE),
            )  # fmt: skip


LARGE_COLUMNS = (
    "net", "weights", "compile", "status", "boxes", "search", "whole call ≤ 5 s", "promised", "proven", "found ≥",
)  # fmt: skip


def large() -> Rows:
    for sizes, activation in LARGE:
        for kind, scale in KINDS.items():
            network = net(sizes, scale, activation)
            program, compiling = timed(integraph.compile, network, EPS)
            proof, seconds = prove(program, network, EPS)
            yield (
                f"{named(sizes)}, {activation}", kind, f"{compiling:.2f} s", proof.status, proof.boxes,
                f"{searching(program, network, EPS):.2f} s", aimed(f"{seconds:.1f} s", seconds, 5.0), *bounds(proof),
            )  # fmt: skip


RATES_COLUMNS = (
    "net", "weights", "rate", "paper's", "ratio ≤ 0.2", "status", "boxes", "search", "promised", "proven", "found ≥",
)  # fmt: skip


def rates() -> Rows:
    for sizes, scale, activation in RATES:
        network = net(sizes, scale, activation)
        program, paper = integraph.compile(network, EPS), integraph.compile(network, EPS, bound="paper")
        proof = prove(program, network, EPS).value
        ratio = program.rate / paper.rate
        yield (
            f"{named(sizes)}, {activation}", "Glorot" if scale is None else f"±{scale:g}", f"{program.rate:.1f}",
            f"{paper.rate:.0f}", aimed(f"{ratio:.3f}", ratio, 0.2), proof.status, proof.boxes,
            f"{1e3 * searching(program, network, EPS):.0f} ms", *bounds(proof),
        )  # fmt: skip


PARTIALS_COLUMNS = ("derivatives", "worst upper / lower − 1 ≤ 1 %", "time ≤ 1 s")


def derivatives() -> Rows:
    expression = integraph.function(FORMULAS[2]).expression
    assert expression is not None
    found, seconds = timed(partials, expression, [0, 0], [1, 1], ORDER, progress=False)
    worst = float(np.max(found.upper / found.lower)) - 1
    yield len(found.upper), aimed(f"{100 * worst:.2f} %", worst, 0.01), aimed(f"{seconds:.2f} s", seconds, 1.0)


SMOOTH_COLUMNS = (
    "d, method", "W × D", "compile", "asked", "status", "boxes", "certify", "both ≤ 10 s (lean, d = 3: 60 s)",
    "promised", "proven", "found ≥", "proven / found (lean with a gap: ≤ 5)",
)  # fmt: skip


def smooth() -> Rows:
    for d, method, gaps in METHODS:
        function, lean = integraph.function(FORMULAS[d]), method == "lean"
        program, compiling = timed(integraph.compile, function, EPS1, method=method)
        for gap in gaps:
            proof, seconds = prove(program, function, EPS1, gap=gap)
            total, ratio = compiling + seconds, closeness(proof)
            yield (
                f"{d}, {method}", f"{program.width} × {program.depth}", f"{compiling:.1f} s",
                "ε" if gap is None else f"ε, gap {gap:g}", proof.status, proof.boxes, f"{seconds:.1f} s",
                aimed(f"{total:.1f} s", total, SECONDS[d] if lean else np.inf), *bounds(proof),
                aimed(f"{ratio:.3g}", ratio, RATIO if lean and gap is not None else np.inf) if proof.seen else "",
            )  # fmt: skip


CHECK_COLUMNS = ("proof", "boxes", "leaves", "certify", "search alone", "check", "check / certify", "holds", "bytes")


def cases() -> Iterator[Case]:
    """One box, many boxes, one box of a large network; a function."""
    network = net(SMALL, 1.0, seed=0)
    program = integraph.compile(network, EPS)
    yield Case(named(SMALL), program, network, EPS, None)
    yield Case(f"{named(SMALL)}, gap {CLOSE:g}", program, network, EPS, CLOSE)
    sizes, activation = LARGE[0]
    network = net(sizes, 1.0, activation)
    yield Case(named(sizes), integraph.compile(network, EPS), network, EPS, None)
    for d, gap in ((2, 1.0), (3, None)):
        function = integraph.function(FORMULAS[d])
        name = f"lean, d = {d}" + ("" if gap is None else f", gap {gap:g}")
        yield Case(name, integraph.compile(function, EPS1, method="lean"), function, EPS1, gap)


def checks() -> Rows:
    for name, program, source, eps, gap in cases():
        proof, seconds = prove(program, source, eps, gap=gap)
        checked, again = timed(integraph.check, proof.certificate, program, source)
        yield (
            name, proof.boxes, checked.boxes, f"{seconds:.2f} s", f"{searching(program, source, eps, gap):.2f} s",
            f"{again:.2f} s", f"{again / seconds:.2f}", "yes" if checked else f"NO: {checked.reason}",
            len(str(proof.certificate).encode()),
        )  # fmt: skip


POOL_COLUMNS = ("proof", "processes", "boxes", "whole call", "one / these", "proven, exactly", "proven / found")


def pools() -> Rows:
    """A network and a function, each with a gap that takes long."""
    network, function = net(SMALL, 1.0, seed=0), integraph.function(FORMULAS[3])
    compiled = integraph.compile(network, EPS), integraph.compile(function, EPS1, method="lean")
    proofs = ((named(SMALL), network, EPS, 0.03), ("lean, d = 3", function, EPS1, 1.0))
    for program, (name, source, eps, gap) in zip(compiled, proofs, strict=True):
        alone = 0.0
        for workers in (1, 2):
            proof = prove(program, source, eps, gap=gap, workers=workers, seconds=300.0).value
            alone = alone or proof.seconds
            yield (
                f"{name}, gap {gap:g}", workers, proof.boxes, f"{proof.seconds:.1f} s", f"{alone / proof.seconds:.2f}",
                proof.proven.hex(), f"{closeness(proof):.3f}",
            )  # fmt: skip


if __name__ == "__main__":
    main()
