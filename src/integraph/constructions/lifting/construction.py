"""From a dynamical system to the quadratic one: all variants are searched, the smallest result is written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from integraph.clock import DeadlineError, check_deadline, deadline, now
from integraph.constructions.lifting.beam import beam
from integraph.constructions.lifting.derivation import CircularRulesError
from integraph.constructions.lifting.drift import preference
from integraph.constructions.lifting.equations import ORDERS, Selection, equations
from integraph.constructions.lifting.formulas import monomial_text
from integraph.constructions.lifting.large_system import lift_large
from integraph.constructions.lifting.polynomials import Monomial
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.constructions.lifting.rates import unit_variables
from integraph.constructions.lifting.search import Search, SearchTimeError
from integraph.constructions.lifting.variants import Variant, variants
from integraph.errors import SourceError, UsageError
from integraph.progress import late_bar
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.text import counted

SECONDS = 30.0
LARGE = 30  # states: beyond, new variables are chosen monomial by monomial
MOST = 120  # new variables
FIRST = 10_000  # nodes of a first exhaustive search of each variant, so that a busy machine gives the same result
BEAM = 0.5  # the share of what is left that first searches, and then beams, may take
WIDTHS = (1, 4, 24)  # of beams: something soon, then something better


@dataclass(slots=True, eq=False)
class _Attempt:
    """A variant, its search, and whether that is over."""

    variant: Variant
    search: Search
    decided: bool = False


class _Best:
    """The smallest result so far: sets of new variables, equal in number."""

    def __init__(self) -> None:
        self.size = MOST + 1
        self.variant: Variant | None = None
        self.sets: list[list[int]] = []

    def offer(self, variant: Variant, sets: list[list[int]]) -> None:
        if sets and len(sets[0]) + len(variant.forced) < self.size:
            self.size = len(sets[0]) + len(variant.forced)
            self.variant, self.sets = variant, sets


def lift(system: DynamicalSystem, seconds: float = SECONDS, progress: bool = True) -> QuadraticSystem:
    """The quadratic system with the fewest new variables that so many seconds find."""
    if not seconds > 0:
        raise UsageError("needs a positive number of seconds", argument="seconds", value=seconds)
    if len(system.states) > LARGE:
        return lift_large(system, seconds, progress)
    begun = now()
    best = _Best()
    attempts: list[_Attempt] = []
    with late_bar(progress, "lifting") as show:

        def tick(size: int) -> None:
            known = f"{counted(best.size, 'new variable')}, fewer?" if best.variant else "no result yet"
            show((now() - begun) / seconds, f"lifting: {known} trying {size}")

        ended = False
        try:
            with deadline(seconds):
                _search(system, best, attempts, begun + seconds, tick)
            ended = True
        except DeadlineError:  # variants may not have been tried
            check_deadline()
        except KeyboardInterrupt:
            if best.variant is None:
                raise
    decided = all(one.decided for one in attempts)
    if best.variant is None:
        fix = "define parts of the right-hand sides as states of their own"
        if ended and decided:
            most = f"with {counted(MOST, 'new variable')} at most"
            raise SourceError(f"no quadratic form of {system.name} among {_among(attempts)}, {most}: {fix}")
        raise SourceError(
            f"no quadratic form of {system.name} in {seconds:g} seconds: allow more, or {fix}", argument="seconds"
        )
    minimal = ended and decided
    variant, among = best.variant, _among(attempts)
    selections = (_selection(variant, new) for new in best.sets)
    equals = [one for selection in selections for one in equations(system, selection, minimal, among, ORDERS)]
    return min(equals, key=preference) if len(equals) > 1 else equals[0]


def _selection(variant: Variant, new: list[int]) -> Selection:
    chosen: list[Monomial] = [*(((n, 1),) for n in variant.forced), *map(variant.problem.monomial, new)]
    return Selection(variant.ring, variant.derivation, chosen, variant.free, variant.quadratic)


def _search(
    system: DynamicalSystem, best: _Best, attempts: list[_Attempt], until: float, tick: Callable[[int], None]
) -> None:
    """A short exhaustive search of each variant, beams where it did not end, then the rest of the time."""
    half = now() + BEAM * (until - now())  # something must be left for beams
    for variant in variants(system):
        if now() > until and best.variant is not None:
            attempts.append(_Attempt(variant, Search(variant.problem, tick)))
            return
        attempts.append(_Attempt(variant, Search(variant.problem, tick)))
        best.offer(variant, _units(variant))
        _decide(attempts[-1], best, half, FIRST)
    waiting = [one for one in attempts if not one.decided]
    rounds = [(width, one) for width in WIDTHS for one in waiting]
    for place, (width, one) in enumerate(rounds):
        share = BEAM * (until - now())  # something first
        if best.variant is not None:
            share *= len(WIDTHS) / (len(rounds) - place)
        try:
            most = best.size - len(one.variant.forced)
            new = beam(one.variant.problem, now() + share, most, width)
            best.offer(one.variant, [] if new is None else [new])
        except (SearchTimeError, CircularRulesError):
            continue
    for place, one in enumerate(waiting):
        _decide(one, best, now() + (until - now()) / (len(waiting) - place))


def _units(variant: Variant) -> list[list[int]]:
    """The variables that units need, if these are all."""
    problem = variant.problem
    packed = list(map(problem.pack, unit_variables(variant.ring, variant.forced)))
    try:
        return [packed] if packed and not problem.extended(problem.root(), packed).missing else []
    except CircularRulesError:
        return []


def _decide(one: _Attempt, best: _Best, until: float, nodes: int | None = None) -> None:
    try:
        best.offer(one.variant, one.search.smallest(best.size - len(one.variant.forced), until, nodes))
        one.decided = True
    except (SearchTimeError, CircularRulesError):
        pass


def _among(attempts: list[_Attempt]) -> str:
    """Among what a result is the smallest."""
    ring = attempts[0].variant.ring
    if all(one.variant.problem.complete and one.variant.ring.generators == ring.generators for one in attempts):
        return f"monomials in {', '.join(monomial_text(ring, ((n, 1),)) for n in range(len(ring.generators)))}"
    return "the products of powers that were tried"
