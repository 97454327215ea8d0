"""Systems of many states, as semi-discretised equations are: new variables are chosen for one monomial after the other.

A monomial that is no product of two variables gets the fewest new ones that make it and all monomials of their own
derivatives products. They depend on the neighbourhood of the monomial only, so that cells of equal structure get equal
variables, and the work grows with the number of terms. Fewer variables may exist.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction

from integraph.clock import DeadlineError, check_deadline, deadline, now, seconds_left
from integraph.constructions.lifting.derivation import CircularRulesError, Derivation, is_affine, rule_of, sums
from integraph.constructions.lifting.equations import Selection, equations
from integraph.constructions.lifting.polynomials import ONE, Exponent, Monomial, power, times
from integraph.constructions.lifting.products import Products
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.constructions.lifting.rates import unit_variables
from integraph.constructions.lifting.ring import Ring
from integraph.constructions.lifting.variants import forced_by_rates, ring_of
from integraph.errors import SourceError
from integraph.progress import late_bar
from integraph.targets.dynamical_system import DynamicalSystem

DEPTH = 4  # new variables at once for one monomial
NODES = 300  # sets of new variables that are tried for one monomial
SPLITS = 1_024  # ways to write a monomial as a product
MOST = 20  # new variables for each state
AMONG = "what was chosen monomial by monomial"

Shape = tuple[tuple[str, Exponent], ...]


def lift_large(system: DynamicalSystem, seconds: float, progress: bool) -> QuadraticSystem:
    """A quadratic system with few new variables. It is proved minimal only where it needs none."""
    best: _Choice | None = None
    most = MOST * len(system.states)
    with late_bar(progress, "lifting") as show:
        try:
            with deadline(seconds):
                choices = list(_choices(system))
                for place, choice in enumerate(choices):
                    share = now() + seconds_left() / (len(choices) - place)  # one that never closes leaves some
                    try:
                        for done in choice.run(most):
                            show(done, f"lifting: {len(choice.chosen)} new variables")
                            if now() > share:
                                break
                    except CircularRulesError:
                        continue
                    if not choice.waiting and len(choice.chosen) <= most:
                        best, most = choice, len(choice.chosen) - 1
        except DeadlineError:
            check_deadline()
        except KeyboardInterrupt:
            if best is None:
                raise
    if best is None:
        raise SourceError(
            f"no quadratic form of {system.name} within {seconds:g} seconds and {MOST} new variables for each state: "
            "define parts of the right-hand sides as states of their own, or allow more",
            argument="seconds",
        )
    selection = Selection(best.ring, best.derivation, best.chosen, best.free)
    return equations(system, selection, not best.chosen, AMONG, ["first"])[0]


def _choices(system: DynamicalSystem) -> Iterator[_Choice]:
    """Without rules, and with each sum in the place of one of its terms; units with their rates."""
    ring = ring_of(system, expand=True)
    free = [number for number in sums(ring) if is_affine(ring, number)]
    rated = ring_of(system, expand=True, rates=True)
    if rated.rates:
        forced = forced_by_rates(rated)
        affine = [number for number in sums(rated) if is_affine(rated, number, forced)]
        new: list[Monomial] = [*(((n, 1),) for n in forced), *unit_variables(rated, tuple(forced))]
        yield _Choice(rated, Derivation(rated, {}), affine, new)
    yield _Choice(ring, Derivation(ring, {}), free)
    if sums(ring):
        before = None
        for place in (0, 1):
            rules = {number: rule_of(ring, number, place, always=False) for number in sums(ring)}
            if rules != before:
                yield _Choice(ring, Derivation(ring, {n: rule for n, rule in rules.items() if rule is not None}), free)
            before = rules


class _Choice:
    """New variables, `new` among them, and monomials that wait for them."""

    def __init__(self, ring: Ring, derivation: Derivation, free: list[int], new: Sequence[Monomial] = ()) -> None:
        self.ring, self.derivation, self.free = ring, derivation, free
        states: list[Monomial] = [((n, 1),) for n in range(ring.states)]
        affine: list[Monomial] = [((n, 1),) for n in free]
        self.products = Products([ONE, *states, *affine, *new])
        self.chosen = list(new)
        self.waiting = deque(m for one in (*states, *affine, *new) for m in derivation(one))
        self._depths: dict[Shape, int] = {}

    def run(self, most: int) -> Iterator[float]:
        """Choose until nothing waits, or too much is chosen; the part that is done after each step."""
        steps = 0
        while self.waiting and len(self.chosen) <= most:
            monomial = self.waiting.popleft()
            steps += 1
            if self.products.pair(monomial) is not None:
                continue
            for new in self._additions(monomial):
                self.products.add(new)
                self.chosen.append(new)
                self.waiting.extend(self.derivation(new))
            yield steps / (steps + len(self.waiting))

    def _additions(self, monomial: Monomial) -> list[Monomial]:
        """The fewest new variables after which nothing more is needed, or the split that needs the least."""
        shape: Shape = tuple(sorted(((self.ring.generators[n].op, e) for n, e in monomial), key=str))
        for depth in range(self._depths.get(shape, 1), DEPTH + 1):
            self._left = NODES
            new = self._closure([monomial], [], depth)
            if new is not None:
                self._depths[shape] = depth
                return new
        self._depths[shape] = DEPTH + 1
        return min(self._new(monomial), key=self._price)

    def _closure(self, missing: list[Monomial], new: list[Monomial], depth: int) -> list[Monomial] | None:
        """At most `depth` new variables beside `new`, which are among the products already, for all that is missing."""
        missing = [m for m in missing if self.products.pair(m) is None]
        if not missing:
            return new
        self._left -= 1
        if depth == 0 or self._left < 0:
            return None
        for some in self._new(missing[0]):
            if len(some) > depth:
                continue
            for one in some:
                self.products.add(one)
            following = [*missing[1:], *(m for one in some for m in self.derivation(one))]
            result = self._closure(following, [*new, *some], depth - len(some))
            for _ in some:
                self.products.remove_last()
            if result is not None:
                return result
        return None

    def _new(self, monomial: Monomial) -> list[list[Monomial]]:
        """What the ways to split a monomial add to the variables, small additions first."""
        ways = [[m for m in dict.fromkeys(pair) if m not in self.products.rank] for pair in _splits(monomial)]
        return sorted(ways, key=len)

    def _price(self, some: list[Monomial]) -> tuple[int, int]:
        needs = {m for one in some for m in self.derivation(one) if self.products.pair(m) is None}
        return len(some), len(needs)


def _splits(monomial: Monomial) -> list[tuple[Monomial, Monomial]]:
    """Pairs whose product it is, each between 1 and it in every exponent."""
    ranges = [_between(exponent) for _, exponent in monomial]
    ways = 1
    for each in ranges:
        ways *= len(each)
    if ways > SPLITS:
        first = monomial[:1]
        return [(ONE, monomial), (first, monomial[1:])]
    halves = [
        tuple((number, e) for (number, _), e in zip(monomial, exponents, strict=True) if e)
        for exponents in itertools.product(*ranges)
    ]
    return list({frozenset((a, b)): (a, b) for a in halves for b in [times(monomial, power(a, -1))]}.values())


def _between(exponent: Exponent) -> list[Exponent]:
    """0, the exponent, and what whole steps from either reach between them."""
    sign = 1 if exponent > 0 else -1
    whole = [Fraction(sign * n) for n in range(int(abs(Fraction(exponent))) + 1)]
    values = sorted({*whole, *(Fraction(exponent) - e for e in whole)})
    return [int(e) if e.denominator == 1 else e for e in values]
