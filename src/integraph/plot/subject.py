"""What is shown: a program, what it was compiled from, where, and what was proved of it.

Whatever is evaluated for a picture is bounded by work, terms times inputs, and not by a clock: the same program gives
the same picture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.api.comparison import compare
from integraph.api.origin import Values, check_options, recalled, target_of, values
from integraph.errors import SourceError, UsageError
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.plot.places import Slice, places
from integraph.program import Program
from integraph.program.box import where
from integraph.program.engine import first_able
from integraph.program.identifiers import is_identifier
from integraph.program.summary import input_names
from integraph.targets import Function
from integraph.targets.graph import Graph

if TYPE_CHECKING:
    from integraph.certify.proof import Proof

WORK = 1_000_000_000  # terms times inputs of closed forms: a second or two
COST = {"exact": 1.0, "taylor": 100.0, "oracle": 10_000.0, "precise": 3_000.0}  # of an engine, in closed forms
SAMPLES = 1000  # points that are looked at for the largest difference
SEED = 0
FAR = 1e150  # of an axis, so that its ends can be subtracted, and squares of it are numbers
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class SampledError:
    """Points in the box (B, d), and |source − program| there, (B, outputs); NaN where either has no value."""

    points: Floats
    difference: Floats

    @property
    def largest(self) -> float:
        """NaN if there is no number."""
        return float(self.difference.flat[self._where]) if self._known else float("nan")

    @property
    def worst(self) -> Floats:
        """The point of the largest difference."""
        row: Floats = self.points[self._where // max(self.difference.shape[1], 1)]
        return row

    @property
    def output(self) -> int:
        """The output that differs most."""
        return int(self._where % max(self.difference.shape[1], 1))

    @property
    def lost(self) -> int:
        """How many points have no difference."""
        return int(np.isnan(self.difference).any(1).sum())

    @property
    def _known(self) -> bool:
        return not np.isnan(self.difference).all()

    @property
    def _where(self) -> int:
        return int(np.nanargmax(self.difference)) if self._known else 0


@dataclass(frozen=True)
class Subject:
    """A program with its context. Without a source there is no error to look at."""

    program: Program
    target: Target | None
    box: Interval
    proof: Proof | None = None

    @cached_property
    def values(self) -> Values | None:
        """The source in float64, as far as it has values."""
        return None if self.target is None else values(self.target)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """What the inputs are called: as in a formula, or in another source if these are identifiers, else as the
        registers are."""
        named = getattr(self.target, "variables", ())
        good = len(named) == self.program.inputs and (bool(self.input_names) or all(map(is_identifier, named)))
        return named if good else tuple(map(self.program.registers.name, self._inputs))

    @property
    def input_names(self) -> tuple[str, ...]:
        """What the inputs are called in the formula; none where there is no formula."""
        own = self.target.expression if isinstance(self.target, Function) else None
        return own.variables if own is not None and own.formula else input_names(self.program)

    @property
    def _inputs(self) -> range:
        return range(self.program.inputs)

    def points(self, most: int, least: int = 1) -> int:
        """How many inputs may be evaluated for a picture that wants `most` of them."""
        one = max(self.program.terms, 1) * COST.get(first_able(self.program).name, max(COST.values()))
        return int(min(max(WORK / one, least), most))

    def run(self, x: Floats) -> Floats:
        """The program at points (B, d): (B, outputs), rows of NaN where the flow fails."""
        return self.program.flow(self.units(x)).outputs

    def units(self, x: Floats) -> Floats:
        """Points in the program's own units of state."""
        scales = self.program.scales
        return x if scales is None else x / scales[: self.program.inputs]

    def wanted(self, x: Floats) -> Floats | None:
        """The source at points (B, d): (B, outputs), NaN where it has no value; None if it has none at all."""
        if self.values is None:
            return None
        try:
            values = self.values(x)
        except SourceError:  # somewhere
            values = np.concatenate([self._one(point[None]) for point in x])
        return np.where(np.isfinite(values), values, np.nan).reshape(len(x), self.program.outputs)

    def _one(self, point: Floats) -> Floats:
        assert self.values is not None
        try:
            return self.values(point)
        except SourceError:
            return np.full((1, self.program.outputs), np.nan)

    def difference(self, x: Floats) -> Floats:
        """|source − program| at points (B, d)."""
        wanted = self.wanted(x)
        assert wanted is not None
        return np.abs(wanted - self.run(x))

    @cached_property
    def places(self) -> list[Slice]:
        """Where the error is drawn."""
        return places(self)

    @cached_property
    def seen(self) -> SampledError | None:
        """The sample, and all that is drawn: the largest difference is that of everything that was looked at."""
        if self.sample is None:
            return None
        drawn = [(place.points, np.abs(place.wanted - place.got)) for place in self.places if place.wanted is not None]
        points, difference = zip((self.sample.points, self.sample.difference), *drawn, strict=True)
        return SampledError(np.concatenate(points), np.concatenate(difference))

    @cached_property
    def sample(self) -> SampledError | None:
        """The centre, some corners and random points in the box, with the differences there."""
        if self.values is None:
            return None
        count = self.points(SAMPLES, 8)
        low, high = self.box.low, self.box.high
        share = np.random.default_rng(SEED).uniform(size=(max(count - len(self.landmarks), 1), len(low)))
        x = np.concatenate([self.landmarks, low * (1 - share) + high * share])
        return SampledError(x, self.difference(x))

    @cached_property
    def landmarks(self) -> Floats:
        """The centre, the lowest and the highest corner, and for two inputs the other two."""
        low, high = self.box.low, self.box.high
        upper = [np.zeros(len(low), bool), np.ones(len(low), bool)]
        upper += [np.array([True, False]), np.array([False, True])] if len(low) == 2 else []
        points = np.stack([0.5 * low + 0.5 * high, *(np.where(corner, high, low) for corner in upper)])
        return points if len(low) else points[:1]

    @cached_property
    def broken(self) -> bool:
        """Whether the sampled error exceeds what the error bound and rounding allow."""
        if self.promised is None or self.seen is None or not self.seen.largest > self.promised:
            return False
        return compare(self.program, self.target, self.seen.worst[None]).broken

    @property
    def promised(self) -> float | None:
        """The bound of the construction, if the box is within the one that it speaks of."""
        budget = self.program.budget
        return budget.total if budget is not None and self._within(budget.low, budget.high) else None

    @property
    def proven(self) -> float | None:
        """The bound of the proof, or else the one that the program carries for the box it was made for."""
        if self.proof is not None:
            known = np.isfinite(self.proof.upper) and self._within(self.proof.box.low, self.proof.box.high)
            return self.proof.upper if known else None
        own = self.program.box
        return self.program.proven if own is not None and self._within(own.low, own.high) else None

    def _within(self, low: ArrayLike, high: ArrayLike) -> bool:
        return bool((self.box.low >= np.asarray(low)).all() and (self.box.high <= np.asarray(high)).all())


def subject(
    program: Program,
    source: Any = None,
    *,
    box: ArrayLike | None = None,
    variables: Variables = None,
    inputs: Inputs = None,
    proof: Proof | None = None,
    parameters: Parameters = None,
) -> Subject:
    """A program with what there is to say about it. Without a source, the formula that the program names is the source;
    without a box, the one that it was made for."""
    if not isinstance(program, Program):
        raise UsageError(f"a program is needed, got {type(program).__name__}: compile or load one")
    domain = where(program, box)
    for n, (low, high) in enumerate(zip(domain.low.tolist(), domain.high.tolist(), strict=True)):
        if max(-low, high) > FAR:
            raise UsageError(
                f"side {n} of the box is [{low:g}, {high:g}]: pictures end at {FAR:g}, give a smaller box",
                argument="box",
            )
    options = ReadOptions(variables, inputs, parameters=parameters)
    check_options(source, options)
    if source is None:
        return Subject(program, recalled(program), domain, proof)
    sides = np.stack([domain.low, domain.high], 1) if program.inputs else None
    target = target_of(program, source, replace(options, box=sides))
    outputs = target.sizes if isinstance(target, Graph) else target.outputs
    if (target.inputs, outputs) != (program.inputs, program.outputs):
        raise UsageError(
            f"the program maps {program.inputs} → {program.outputs}, the source {target.inputs} → {outputs}: "
            "give what it was compiled from"
        )
    return Subject(program, target, domain, proof)
