"""The error of a graph program, by cause: what is smoothed, what decay leaves, what rounding of the controls costs.

The segments are walked in the order of time. Of every register the range of its right values is known, and a bound of
how far it is off: sums and starts by arithmetic of intervals, gadgets by what they make of a wrong start. A register
that was left to decay starts at e^−r of what it held, one that was cleaned at what that could not take away: nothing is
left of a sum, which the controls that added it subtract.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from integraph.bounds.perturbation.activation_errors import RELU
from integraph.bounds.perturbation.gadget_ends import GRAPH_WRONG, perturbed_ends
from integraph.bounds.ranges.interval_functions import relu
from integraph.constructions.graph.allocation import DECAY
from integraph.constructions.graph.enclosure import empty, enclose, squares
from integraph.constructions.graph.forms import GraphForm
from integraph.constructions.graph.layout import GraphLayout
from integraph.constructions.graph.packing import RegisterLot
from integraph.constructions.graph.rules import LoweredGraph
from integraph.constructions.graph.runs import INPUT, Run, Start
from integraph.constructions.theorem2.budget import Parts
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval, intersection, interval
from integraph.numbers.roundoff import UP, U
from integraph.program import Block, Ref
from integraph.program.views import dense, mark


@quiet
def bound(chosen: GraphLayout, lowered: LoweredGraph, cube: Interval, r: float) -> Parts:
    """How far the outputs of the flow of the stored controls can be from the source on the box; infinite where there
    is no bound. Each cause counts what it adds to those before it."""
    smooth = _smooth(chosen, lowered, cube)
    left = _ErrorWalk(chosen, cube, r, rounding=False).worst() if chosen.free == DECAY else smooth
    whole = _ErrorWalk(chosen, cube, r, rounding=True).worst()
    return Parts(smooth, _more(left, smooth), _more(whole, left))


@quiet
def residue(chosen: GraphLayout, lowered: LoweredGraph, cube: Interval, r: float) -> float:
    """That part of the bound alone."""
    return _more(_ErrorWalk(chosen, cube, r, rounding=False).worst(), _smooth(chosen, lowered, cube))


def _smooth(chosen: GraphLayout, lowered: LoweredGraph, cube: Interval) -> float:
    return _ErrorWalk(chosen, cube, math.inf, rounding=False).worst() if lowered.smoothed else 0.0


def _more(x: float, y: float) -> float:
    return max(x - y, 0.0) if math.isfinite(x) else math.inf


class _ErrorWalk:
    """One pass through the segments, with some of the causes: r = ∞ leaves nothing behind."""

    def __init__(self, chosen: GraphLayout, cube: Interval, r: float, rounding: bool) -> None:
        self.chosen, self.r, self.rounding = chosen, r, rounding
        self.where, self.state = chosen.where, empty(chosen.allocation.width)
        self.before: dict[int, Floats] = {}  # what the registers of an atom held when it was loaded
        first = 0
        for number, atom in enumerate(chosen.tape.atoms):
            if atom.run == INPUT:
                ref, own = self.where(number, None), slice(first, first + math.prod(atom.shape))
                self._set(ref, Interval(*(end[own].reshape(atom.shape) for end in (cube.low, cube.high))))
                first = own.stop

    def worst(self) -> float:
        """The largest error of an output, after all segments."""
        time, tape = self.chosen.time, self.chosen.tape
        loads: dict[int, list[Run]] = defaultdict(list)
        stages: dict[int, list[tuple[Run, int]]] = defaultdict(list)
        frees: dict[int, list[RegisterLot]] = defaultdict(list)
        for number, run in enumerate(tape.runs):
            loads[time.load[number]].append(run)
            for s in range(len(run.stages)):
                stages[time.begin[number] + s].append((run, s))
        for lot in self.chosen.allocation.lots:
            if lot.freed:
                frees[lot.last + 1].append(lot)
        for segment in range(time.depth):
            for lot in frees[segment]:
                self._free(lot)
            for run in loads[segment]:
                self._load(run)
            for run, s in stages[segment]:
                for block in run.stages[s](self.where):
                    self._gadget(run, block)
        errors = [float(np.max(self._output(form), initial=0.0)) for form in self.chosen.outputs]
        largest = float(np.max(errors, initial=0.0))
        return largest if largest >= 0 else math.inf

    def _set(self, ref: Ref, right: Interval, off: Floats | float = 0.0) -> None:
        low, high = np.broadcast_to(right.low, ref.shape), np.broadcast_to(right.high, ref.shape)
        wide = interval(low, high)
        mark(ref, self.state.low, wide.low)
        mark(ref, self.state.high, wide.high)
        mark(ref, self.state.off, np.where(off >= 0, off, np.inf))  # NaN is ∞
        mark(ref, self.state.own, ref.of(self.state.off))
        mark(ref, self.state.share, np.inf)

    def _load(self, run: Run) -> None:
        for atom in run.atoms:
            if atom in self.chosen.time.taken:
                continue
            whole = self.where(atom, None)
            if atom in self.chosen.allocation.left:
                self.before[atom] = whole.of(self.state.off).copy()
            for start in run.starts.get(atom, ()):
                self._start(atom, start)
            known = self.chosen.tape.known.get(atom)
            if known is not None and not run.stages:
                narrow = intersection(self.state.right(whole), known)
                mark(whole, self.state.low, narrow.low)
                mark(whole, self.state.high, narrow.high)

    def _start(self, atom: int, start: Start) -> None:
        ref = self.where(atom, start.view)
        rest = ref.of(self.state.off).copy()
        right, off, rounded = enclose(start.form, self.where, self.state, self.rounding)
        square = squares(start.form, self.where, self.state)
        right = intersection(right, Interval(*map(np.array, start.known)))
        self._set(ref, right, UP * (off + rest))
        mark(ref, self.state.own, UP * (rest + rounded))
        if square is not None:
            base = np.maximum(1.0 + right.low, 0.0) / UP
            share = 2.0 * np.sqrt(square / base) + (square + rest + rounded) / base
            mark(ref, self.state.share, np.where(share >= 0, UP * share, np.inf))

    def _gadget(self, run: Run, block: Block) -> None:
        roles = dict(zip((*block.op.targets, *block.op.operands), block.refs(), strict=True))
        if block.op.name not in GRAPH_WRONG:
            for ref in block.targets:
                self._set(ref, Interval(np.array(-np.inf), np.array(np.inf)), np.inf)
            return
        starts = {role: self.state.right(ref) for role, ref in roles.items()}
        off = {role: ref.of(self.state.off) for role, ref in roles.items()}
        if "p" in roles:
            off["share"] = roles["p"].of(self.state.share)
        if run.share is not None:  # rows of scores: u, c and l are loaded from s
            share = np.broadcast_to(run.share, roles["u"].shape)
            starts["h"] = Interval(share, share)
            off["skew"] = roles["c"].of(self.state.own)
            off["eta"] = roles["u"].of(self.state.own) + share * off["skew"][..., None]
            off["begin"] = roles[block.op.targets[0]].of(self.state.own)
        lost = UP * run.ops * U if self.rounding else 0.0
        own = {}
        if block.op.operands == ("x",) and "p" not in roles:  # a function: its starts are multiples of x
            own = {role: ref.of(self.state.own) for role, ref in roles.items()}
            if any(run.reads <= run.sources(atom) for atom in run.atoms):
                own["x"] = np.zeros(roles["x"].shape)
        outcome = perturbed_ends(block.op.name, starts, off, block.tensors, self._known(run, block), lost, own)
        for role, end in outcome.items():
            right, wrong = end
            if block.op.name == "relu":
                right, wrong = relu(starts["x"]), wrong + RELU / np.abs(block.tensors["k"])
            if run.near and role == "z":
                right, wrong = right.widened(UP * run.near), wrong + UP * run.near
            self._set(roles[role], right, UP * wrong)

    def _known(self, run: Run, block: Block) -> dict[str, Interval]:
        """What nodes say about the ends of a run's last stage."""
        held = {self.chosen.allocation.place[atom]: atom for atom in run.atoms if atom in self.chosen.tape.known}
        ranges = {}
        for role, ref in zip(block.op.targets, block.targets, strict=True):
            atom = held.get(ref.extent()[0])
            if atom is not None and ref == dense(self.chosen.allocation.place[atom], ref.shape):
                known = self.chosen.tape.known[atom]
                own = Interval(known.low.reshape(ref.shape), known.high.reshape(ref.shape))
                ranges[role] = own.widened(UP * run.near) if run.near else own
        return ranges

    def _free(self, lot: RegisterLot) -> None:
        ref, atom = dense(lot.place, (lot.size,)), lot.atoms[-1]
        if self.chosen.free == DECAY:
            held = self.state.right(ref).size + ref.of(self.state.off)
            off = np.where(held == 0, 0.0, UP * math.exp(-self.r) * held) if math.isfinite(self.r) else 0.0
        elif self.chosen.tape.runs[self.chosen.tape.atoms[atom].run].stages:
            off = UP * (ref.of(self.state.off) + self._left(atom).reshape(-1))
        else:
            off = self.before[atom].reshape(-1)
        self._set(ref, Interval(np.zeros(()), np.zeros(())), off)

    def _left(self, atom: int) -> Floats:
        """How far the polynomial that is subtracted is off."""
        (start,) = self.chosen.allocation.left[atom]
        return enclose(start.form, self.where, self.state, self.rounding).off

    def _output(self, form: GraphForm) -> Floats:
        """The constant of an output is carried by a register that should hold 1."""
        off = enclose(form, self.where, self.state, self.rounding).off
        if form.b.any():
            assert self.chosen.one is not None
            off = off + np.abs(form.b) * self.where(self.chosen.one, None).of(self.state.off)
        return UP * (off + self._merged(form)) if self.rounding else off

    def _merged(self, form: GraphForm) -> Floats | float:
        """Weights of one register that the read-out adds up."""
        columns = [self.where(term.atoms[0], term.refs[0]).indices() for term in form.terms]
        if not columns:
            return 0.0
        reads = np.sort(np.concatenate(columns, -1), -1)
        if not (reads[..., 1:] == reads[..., :-1]).any():
            return 0.0
        large = [self.state.right(self.where(term.atoms[0], term.refs[0])).size for term in form.terms]
        sums = [(np.abs(term.w) * size).sum(-1) for term, size in zip(form.terms, large, strict=True)]
        result: Floats = UP * U * form.cost * np.sum(sums, 0)
        return result
