"""Certificates: how long proofs take, how close they come to what is there, rates of Theorem 2 that are proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

import integraph
from integraph import Network, Program
from integraph.targets import Function
from measure import CONSOLE, clock, verdict

if TYPE_CHECKING:
    from integraph.certify.proof import Proof

T = TypeVar("T")
Rows = Iterator[tuple[object, ...]]

EPS = 1e-6  # of networks
SMALL, SEEDS = (2, 16, 16, 1), range(5)
KINDS: dict[str, float | None] = {"uniform": 1.0, "Glorot": None}  # weights from scale·[−1, 1]
CLOSE = 0.1  # above what is seen
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
    (2, "remark", (None,)),  # its float64 controls are known less well than it differs from f: no gap can be reached
    (2, "paper", (None, 4.0, 1.0)),
)
SECONDS = {1: 10.0, 2: 10.0, 3: 60.0}  # end to end, by dimension
RATIO = 5.0  # proven/seen


class Timed(NamedTuple):
    """What a call gave, and its seconds."""

    value: Any
    seconds: float


class Case(NamedTuple):
    name: str
    program: Program
    source: Network | Function
    options: dict[str, float]


def main() -> None:
    warm()
    table(f"{named(SMALL)}, tanh, ε = {EPS:g}: one box, then within {CLOSE:.0%} of what is seen", SMALL_COLUMNS, small())
    table(f"larger networks, ε = {EPS:g}", LARGE_COLUMNS, large())
    table(f"largest rate of the narrow construction, proved, ε = {EPS:g}", RATES_COLUMNS, rates())
    table(f"partial derivatives of {FORMULAS[2]} of order ≤ {ORDER} on [0, 1]²", PARTIALS_COLUMNS, derivatives())
    table(f"Theorem 1, ε = {EPS1:g}, on the unit cube", SMOOTH_COLUMNS, smooth())
    table("certificates and their check", CHECK_COLUMNS, checks())
    table("one process and two", POOL_COLUMNS, pools())


def table(title: str, columns: tuple[str, ...], rows: Rows) -> None:
    """In Markdown, line by line as it is measured."""
    CONSOLE.print(f"\n{title}\n", soft_wrap=True, markup=False)
    for row in (columns, ("---",) * len(columns)):
        CONSOLE.print(f"| {' | '.join(row)} |", soft_wrap=True, markup=False)
    for cells in rows:
        CONSOLE.print(f"| {' | '.join(map(str, cells))} |", soft_wrap=True, markup=False)


def timed(run: Callable[[], T]) -> Timed:
    found: list[T] = []
    seconds = clock(lambda: found.append(run()))
    return Timed(found[0], seconds)


def net(sizes: tuple[int, ...], scale: float | None, activation: str = "tanh", seed: int = 7) -> Network:
    """Weights from scale·[−1, 1], or scaled so that a layer keeps its size (Glorot)."""
    rng = np.random.default_rng(seed)
    layers = []
    for number, (n, m) in enumerate(pairwise(sizes), 1):
        name = activation if number < len(sizes) - 1 else None
        size = np.sqrt(6.0 / (m + n)) if scale is None else scale
        layers.append((size * rng.uniform(-1, 1, (m, n)), rng.uniform(-1, 1, m), name))
    return integraph.network(layers)


def named(sizes: tuple[int, ...]) -> str:
    return "-".join(map(str, sizes))


def prove(program: Program, source: Network | Function, eps: float, **options: Any) -> Timed:
    return timed(lambda: integraph.certify(program, source, eps, progress=False, **options))


def warm() -> None:
    """What is loaded when it is needed for the first time belongs to no proof."""
    network, function = net((1, 2, 1), None), integraph.function(FORMULAS[1])
    prove(integraph.compile(network, EPS), network, EPS)
    prove(integraph.compile(function, EPS1), function, EPS1)


def closeness(proof: Proof) -> float:
    return proof.proven / proof.seen if proof.seen else np.inf


def against(proof: Proof) -> str:
    return f"{closeness(proof):.3g}" if proof.seen else "none seen"


def bounds(proof: Proof) -> tuple[str, ...]:
    """Promised, proven, seen."""
    return tuple("nothing" if x is None else f"{x:.2e}" for x in (proof.promised, proof.proven, proof.seen))


SMALL_COLUMNS = (
    "weights", "seed", "status", "boxes", "search", "target", "whole call", "promised", "proven", "seen",
    f"gap {CLOSE:g}: boxes", "search", "target", "proven / seen", "target",
)  # fmt: skip


def small() -> Rows:
    for kind, scale in KINDS.items():
        for seed in SEEDS:
            network = net(SMALL, scale, seed=seed)
            program = integraph.compile(network, EPS)
            one, close = prove(program, network, EPS), prove(program, network, EPS, gap=CLOSE)
            proof, near = one.value, close.value
            search, ratio = 1e3 * proof.seconds, closeness(near)
            yield (
                kind, seed, proof.status, proof.boxes, f"{search:.0f} ms", verdict(search, 50, "ms"),
                f"{one.seconds:.2f} s", *bounds(proof), near.boxes, f"{near.seconds:.1f} s",
                verdict(near.seconds, 2, "s"), f"{ratio:.3f}", verdict(ratio, 1 + CLOSE),
            )  # fmt: skip


LARGE_COLUMNS = (
    "net", "activation", "weights", "compile", "status", "boxes", "search", "whole call", "target", "promised", "proven", "seen",
)  # fmt: skip


def large() -> Rows:
    for sizes, activation in LARGE:
        for kind, scale in KINDS.items():
            network = net(sizes, scale, activation)
            program, compiling = timed(lambda network=network: integraph.compile(network, EPS))
            proof, seconds = prove(program, network, EPS)
            yield (
                named(sizes), activation, kind, f"{compiling:.2f} s", proof.status, proof.boxes,
                f"{proof.seconds:.2f} s", f"{seconds:.1f} s", verdict(seconds, 5, "s"), *bounds(proof),
            )  # fmt: skip


RATES_COLUMNS = (
    "net", "activation", "weights", "rate", "paper's", "ratio", "target", "status", "boxes", "search",
    "promised", "proven", "seen",
)  # fmt: skip


def rates() -> Rows:
    for sizes, scale, activation in RATES:
        network = net(sizes, scale, activation)
        program, paper = integraph.compile(network, EPS), integraph.compile(network, EPS, bound="paper")
        proof = prove(program, network, EPS).value
        ratio = program.rate / paper.rate
        weights = "Glorot" if scale is None else f"±{scale:g}"
        yield (
            named(sizes), activation, weights, f"{program.rate:.1f}", f"{paper.rate:.0f}", f"{ratio:.3f}",
            verdict(ratio, 0.2), proof.status, proof.boxes, f"{1e3 * proof.seconds:.0f} ms", *bounds(proof),
        )  # fmt: skip


PARTIALS_COLUMNS = ("derivatives", "worst upper / lower − 1", "target", "time", "target")


def derivatives() -> Rows:
    from integraph.certify.derivatives import partials

    expression = integraph.function(FORMULAS[2]).expression
    assert expression is not None
    found, seconds = timed(lambda: partials(expression, [0, 0], [1, 1], ORDER, progress=False))
    worst = 100 * float(np.max(found.upper / found.lower - 1))
    yield len(found.upper), f"{worst:.2f} %", verdict(worst, 1, "%"), f"{seconds:.2f} s", verdict(seconds, 1, "s")


SMOOTH_COLUMNS = (
    "d", "method", "W × D", "terms", "bits", "compile", "asked", "status", "boxes", "whole call", "end to end", "target",
    "promised", "proven", "seen", "proven / seen", "target",
)  # fmt: skip


def smooth() -> Rows:
    """The targets are those of lean; the rows of other methods are there to be seen."""
    for d, method, gaps in METHODS:
        function = integraph.function(FORMULAS[d])
        program, compiling = timed(
            lambda function=function, method=method: integraph.compile(function, EPS1, method=method)
        )
        for gap in gaps:
            proof, seconds = prove(program, function, EPS1, gap=gap)
            total, ratio = compiling + seconds, closeness(proof)
            aimed = method == "lean"
            yield (
                d, method, f"{program.width} × {program.depth}", program.terms, program.bits, f"{compiling:.1f} s",
                "ε" if gap is None else f"ε, gap {gap:g}", proof.status, proof.boxes, f"{seconds:.1f} s",
                f"{total:.1f} s", verdict(total, SECONDS[d], "s") if aimed else "", *bounds(proof), against(proof),
                verdict(ratio, RATIO) if aimed and gap is not None else "",
            )  # fmt: skip


CHECK_COLUMNS = ("proof", "boxes", "leaves", "certify", "of it search", "check", "check / search", "holds", "bytes")


def cases() -> Iterator[Case]:
    """A proof in one box, of one large box, of many boxes; one of a function."""
    network = net(SMALL, 1.0, seed=0)
    program = integraph.compile(network, EPS)
    yield Case(named(SMALL), program, network, {})
    yield Case(f"{named(SMALL)}, gap {CLOSE:g}", program, network, {"gap": CLOSE})
    sizes, activation = LARGE[0]
    network = net(sizes, 1.0, activation)
    yield Case(named(sizes), integraph.compile(network, EPS), network, {})
    function = integraph.function(FORMULAS[2])
    yield Case("lean, d = 2, gap 1", integraph.compile(function, EPS1), function, {"gap": 1.0})


def checks() -> Rows:
    for name, program, source, options in cases():
        proof, seconds = prove(program, source, EPS if isinstance(source, Network) else EPS1, **options)
        checked, again = timed(
            lambda proof=proof, program=program, source=source: integraph.check(proof.certificate, program, source)
        )
        yield (
            name, proof.boxes, checked.boxes, f"{seconds:.2f} s", f"{proof.seconds:.2f} s", f"{again:.2f} s",
            f"{again / proof.seconds:.2g}", "yes" if checked else f"NO: {checked.reason}",
            len(str(proof.certificate).encode()),
        )  # fmt: skip


POOL_COLUMNS = ("proof", "processes", "boxes", "search", "speed-up", "proven", "proven / seen")


def pools() -> Rows:
    """A network within 2 % of what is seen, and a function of three variables within 10 %."""
    network, function = net(SMALL, 1.0, seed=0), integraph.function(FORMULAS[3])
    for name, source, eps, gap in ((named(SMALL), network, EPS, 0.02), ("lean, d = 3", function, EPS1, 1.0)):
        program, alone = integraph.compile(source, eps), 0.0
        for workers in (1, 2):
            proof = prove(program, source, eps, gap=gap, workers=workers, seconds=300.0).value
            alone = alone or proof.seconds
            faster = f"{alone / proof.seconds:.2f}"
            title = f"{name}, gap {gap:g}"
            yield title, workers, proof.boxes, f"{proof.seconds:.1f} s", faster, proof.proven.hex(), against(proof)


if __name__ == "__main__":
    main()
