"""Feedforward nets: every activation, weights of all sizes, against mpmath at 60 digits; some with a proof."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from mpmath import mp, mpf

import integraph
from fuzz.judge import ENGINES, FREES, Points, guarded, reason
from fuzz.kind import FAILS, REFUSED, Outcome
from fuzz.precision import DIGITS, LARGEST, ORACLE, Row, Subject, Undefined, Value, judge, own_rounding
from integraph import Program
from integraph.errors import IntegraphError, SpecError
from integraph.targets import Layer, Network
from integraph.targets.activations import NAMES
from network_truth import meaning, values

POINTS = 6  # random ones
CERTIFIED = 0.04  # of the cases
SECONDS = 2.0  # of a proof
OWN = 16  # roundings of an operation
WAYS = (  # method, free
    ("narrow", None), ("wide", "keep"), ("wide", "clean"), ("wide", "decay"),
    *(("exact", free) for free in FREES),
)  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """One layer: its weights by rows, biases, activation and slope."""

    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    activation: str
    slope: float = 0.0


@dataclass(frozen=True)
class Case:
    layers: tuple[Unit, ...]
    box: tuple[tuple[float, float], ...]
    eps: float
    method: str
    free: str | None
    seed: int  # of the points
    certified: bool = False

    @property
    def network(self) -> Network:
        return Network(tuple(Layer(np.array(u.A), np.array(u.b), u.activation, u.slope) for u in self.layers))


class Net:
    name = "network"
    needs = ("mpmath",)

    def draw(self, rng: np.random.Generator) -> Case:
        depth = int(rng.integers(1, 5))
        sizes = rng.integers(1, 7, depth + 1)
        size = float(10.0 ** rng.uniform(-3, 1.5) if rng.random() < 0.4 else 10.0 ** rng.uniform(-0.5, 0.5))
        layers = tuple(
            _unit(rng, int(n), int(m), size, last=k == depth - 1) for k, (n, m) in enumerate(itertools.pairwise(sizes))
        )
        method, free = WAYS[int(rng.integers(len(WAYS)))]
        box = tuple(_side(rng) for _ in range(sizes[0]))
        eps = 10.0 ** -int(rng.integers(2, 10))
        return Case(layers, box, eps, method, free, int(rng.integers(2**31)), bool(rng.random() < CERTIFIED))

    @guarded
    def check(self, case: Case) -> Outcome:
        return _check(case)

    def smaller(self, case: Case) -> Iterator[Case]:
        if case.certified:
            yield replace(case, certified=False)
        for k in range(len(case.layers)):
            yield from (replace(case, layers=layers) for layers in _without(case.layers, k))
        for k, unit in enumerate(case.layers):
            for simple in _simpler(unit):
                yield replace(case, layers=(*case.layers[:k], simple, *case.layers[k + 1 :]))
        if case.box != ((0.0, 1.0),) * len(case.box):
            yield replace(case, box=((0.0, 1.0),) * len(case.box))

    def show(self, case: Case) -> str:
        layers = [(list(map(list, u.A)), list(u.b), (u.activation, u.slope)) for u in case.layers]
        shown = ", ".join(f"({A}, {b}, {name if name[0] == 'leaky_relu' else name[0]!r})" for A, b, name in layers)
        free = "" if case.free is None else f", free={case.free!r}"
        return (
            f"import integraph\n\nnet = [{shown}]\nprogram = integraph.compile(net, {case.eps}, "
            f"box={list(case.box)}, method={case.method!r}{free})\nprogram({_subject(case).points(1)[:1].tolist()})"
        )


def _unit(rng: np.random.Generator, n: int, m: int, size: float, last: bool) -> Unit:
    name = "identity" if last and rng.random() < 0.5 else str(NAMES[int(rng.integers(len(NAMES)))])
    weights = size * rng.normal(size=(m, n)) / np.sqrt(n)
    weights[rng.random((m, n)) < 0.1] = 0.0
    biases = 0.5 * size * rng.normal(size=m) * (rng.random(m) < 0.8)
    slope = float(rng.choice([0.01, 0.3, -0.5, 1.0])) if name == "leaky_relu" else 0.0
    return Unit(tuple(map(tuple, weights.tolist())), tuple(biases.tolist()), name, slope)


def _side(rng: np.random.Generator) -> tuple[float, float]:
    if rng.random() < 0.5:
        return ((0.0, 1.0), (-1.0, 1.0), (-3.0, 3.0))[int(rng.integers(3))]
    middle, radius = float(rng.normal()), float(10.0 ** rng.uniform(-4, 1))
    return middle - radius, middle + radius


def _without(layers: Sequence[Unit], k: int) -> Iterator[tuple[Unit, ...]]:
    """Without a layer, if its neighbours fit; without the second half of its units."""
    n, m = len(layers[k].A[0]), len(layers[k].A)
    if len(layers) > 1 and n == m:
        yield (*layers[:k], *layers[k + 1 :])
    if m > 1:
        half = replace(layers[k], A=layers[k].A[: m // 2], b=layers[k].b[: m // 2])
        rest = [replace(u, A=tuple(row[: m // 2] for row in u.A)) for u in layers[k + 1 : k + 2]]
        yield (*layers[:k], half, *rest, *layers[k + 2 :])


def _simpler(unit: Unit) -> Iterator[Unit]:
    if unit.activation != "identity":
        yield replace(unit, activation="identity", slope=0.0)
    if any(unit.b):
        yield replace(unit, b=(0.0,) * len(unit.b))
    rounded = tuple(tuple(float(f"{a:.1g}") for a in row) for row in unit.A)
    if rounded != unit.A:
        yield replace(unit, A=rounded)


def _check(case: Case) -> Outcome:
    eps = None if case.method == "exact" and not _kinks(case) else case.eps
    try:
        program = integraph.compile(case.network, eps, box=list(case.box), method=case.method, free=case.free)
    except SpecError:  # what the compiler made itself breaks a rule
        raise
    except IntegraphError as error:
        return Outcome(REFUSED, reason(error))
    subject = replace(_subject(case), eps=eps)
    x = subject.points(POINTS)
    found = judge(subject, program, str(case.free), ENGINES, x)
    if found.status == FAILS or not case.certified:
        return found
    return _certified(case, subject, program, x) or found


def _kinks(case: Case) -> bool:
    return any(unit.activation in ("relu", "leaky_relu") for unit in case.layers)


def _certified(case: Case, subject: Subject, program: Program, x: Points) -> Outcome | None:
    """A proof that contradicts the truth: a difference above its upper bound, or a lower bound where there is less.

    A proof is about the stored controls, which are rounded; the closed forms, which run here, know them exactly."""
    network = case.network
    proof = integraph.certify(
        program, network, box=list(case.box), seconds=SECONDS, boxes=200, workers=1, progress=False
    )
    points = x if proof.point is None else np.concatenate([x, np.array([proof.point])])
    flow = replace(program, bits=200).flow(points, engine="precise")
    for row, wanted in enumerate(subject.truth(points, ORACLE)):
        if any(isinstance(value, Undefined) for value in wanted) or not np.isfinite(flow.outputs[row]).all():
            continue
        off = max(abs(mpf(y) - value) for (value, _), y in zip(wanted, flow.outputs[row].tolist(), strict=True))
        rounding = max(abs(mpf(y)) for y in flow.outputs[row].tolist()) * mpf(2) ** -52
        rounding += max(map(own_rounding, wanted)) + (0.0 if program.budget is None else program.budget.rounding)
        if off > proof.upper + rounding:
            return Outcome(FAILS, f"promise: {float(off)!r} at {points[row].tolist()}, proved is {proof.upper!r}")
        if row == len(x) and off < proof.lower - rounding:
            return Outcome(FAILS, f"promise: {float(off)!r} at {proof.point}, said to be at least {proof.lower!r}")
    return None


def _subject(case: Case) -> Subject:
    network = case.network

    def rows(x: Points, unit: mpf) -> list[Row]:
        with mp.workdps(DIGITS):
            return [_row(network, point, unit) for point in x.tolist()]

    def floats(x: Points) -> Points:
        return np.atleast_2d(network(x)).reshape(len(x), -1)

    return Subject(rows, floats, case.box, network.outputs, case.seed, case.eps)


def _row(network: Network, x: Sequence[float], unit: mpf) -> Row:
    """Values, and what rounding may do to them, relative to everything that is added up on the way."""
    exact, off = values(network, x), [mpf(0)] * len(x)
    z = [mpf(v) for v in x]
    for layer in network.layers:
        rows = zip(layer.A.tolist(), layer.b.tolist(), strict=True)
        found: list[Value] = [_noisy(layer, k, row, b, z, off, unit) for k, (row, b) in enumerate(rows)]
        z, off = [value for value, _ in found], [lost for _, lost in found]
    return [Undefined(near=True) if not abs(v) <= LARGEST else (v, e) for v, e in zip(exact, off, strict=True)]


def _noisy(layer: Layer, k: int, row: list[float], b: float, z: list[mpf], off: list[mpf], unit: mpf) -> Value:
    f = meaning(layer, k)
    argument = sum((mpf(a) * v for a, v in zip(row, z, strict=True)), mpf(b))
    size = sum((abs(mpf(a) * v) for a, v in zip(row, z, strict=True)), abs(mpf(b)))
    lost = sum((abs(mpf(a)) * e for a, e in zip(row, off, strict=True)), OWN * unit * size)
    value = f(argument)
    if not abs(argument) <= LARGEST or not abs(value) <= LARGEST:
        return value, mp.inf
    spread: Any = max(abs(f(argument - lost) - value), abs(f(argument + lost) - value))
    return value, spread + OWN * unit * (abs(value) + abs(argument) + 1)


KIND = Net()
