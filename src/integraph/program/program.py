"""A quadratic neural ODE, eq. (1): y' = b(t) + A(t) y + Q(t)(y, y), y(0) = (x, 0, …), output C y(T)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from integraph.errors import SpecError, UsageError
from integraph.numbers.arrays import Floats
from integraph.program import composition, description, dynamics, lowering, notebook, spec, summary, transform
from integraph.program.annotations import Budget, Domain, Probe
from integraph.program.engine import (
    DOUBLE,
    RTOL,
    Engine,
    Flow,
    Options,
    batch_of,
    direct,
    engine_named,
    first_able,
    quickest,
)
from integraph.program.origin import Origin
from integraph.program.plugins import EXPORT, FLOW, MACHINE, PLOT, REPORT, load_layer
from integraph.program.registers import Registers
from integraph.program.segment import Segment
from integraph.program.terms import Controls, Terms, concatenate
from integraph.program.views import Ref
from integraph.text import clean, counted

SOURCE = 1000  # characters that say what a program was compiled from
TRAJECTORY = 500_000_000  # numbers of a trajectory: 4 GB
ANNOTATIONS = {"proven", "seen", "budget", "probes", "domain", "origin"}  # what is known of a program
MATERIALISE = 50_000_000  # terms that `controls()` will put in memory: 1.2 GB


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """One input on its way: `states[n]` is y(times[n])."""

    times: Floats
    states: Floats
    switches: Floats  # where the controls change
    labels: tuple[str, ...]
    names: tuple[str, ...]

    def __repr__(self) -> str:
        size = f"{counted(len(self.names), 'register')} at {counted(len(self.times), 'time')}"
        return f"Trajectory of {size}, 0 … {self.times[-1]:g}"


@dataclass(frozen=True, repr=False, eq=False)
class Program:
    """W registers, D segments, a read-out; call it to evaluate a batch."""

    registers: Registers
    segments: tuple[Segment, ...]
    readout: scipy.sparse.csr_array
    scales: Floats | None = None  # ŷ = y / scales are the states of eq. (1)
    source: str = "gadgets"
    proven: float | None = None
    seen: float | None = None
    budget: Budget | None = None  # what the construction promises
    probes: tuple[Probe, ...] = ()  # where values of the source can be seen
    bits: int = DOUBLE  # the precision that its flow needs
    domain: Domain | None = None  # where it was made for, if nothing is promised there
    origin: Origin | None = None  # what it was compiled from, and how; `source` says it to people

    def __post_init__(self) -> None:
        self.registers.close()
        if not isinstance(self.source, str):
            raise SpecError(f"the source of a program is a text, got {self.source!r}")
        object.__setattr__(self, "source", clean(self.source, SOURCE))
        if isinstance(self.probes, list):
            object.__setattr__(self, "probes", tuple(self.probes))
        for array in (self.readout.data, self.readout.indices, self.readout.indptr):
            array.flags.writeable = False
        spec.check(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Program, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def width(self) -> int:
        return self.registers.width

    @property
    def depth(self) -> int:
        return len(self.segments)

    @property
    def horizon(self) -> float:
        return float(dynamics.switches(self)[-1])

    @property
    def inputs(self) -> int:
        return self.registers.inputs_count

    @property
    def outputs(self) -> int:
        return int(self.readout.shape[0])

    @property
    def box(self) -> Budget | Domain | None:
        """`low` and `high` of the inputs it was made for: of the promise, or else of its domain."""
        return self.budget or self.domain

    @cached_property
    def terms(self) -> int:
        """How many control terms eq. (1) has."""
        return lowering.count(self)

    @cached_property
    def rate(self) -> float:
        """The largest |coefficient| of a register in its own derivative, y_i' = −r y_i + …: how fast things decay."""
        return summary.rate(self)

    @cached_property
    def digest(self) -> str:
        """The hash of everything eq. (1) says about this program."""
        return lowering.digest(self)

    def stream(self, batch: int = lowering.BATCH) -> Iterator[tuple[int, Terms]]:
        """(segment, terms) in canonical batches; never the whole."""
        for number in range(self.depth):
            for terms in self.segment_terms(number, batch):
                yield number, terms

    def segment_terms(self, number: int, batch: int = lowering.BATCH) -> Iterator[Terms]:
        """The canonical terms of one segment, in batches."""
        return lowering.stream_segment(self.segments[number], self.width, self.scales, batch)

    def controls(self) -> Controls:
        """All terms as arrays (segment, i, j, k, value). For very large programs use `stream()`."""
        if self.terms > MATERIALISE:
            raise UsageError(f"{self.terms} terms are more than {MATERIALISE}: iterate over stream() instead")
        parts = list(self.stream())
        where = [np.full(len(t), n, np.int32) for n, t in parts]
        merged = concatenate([t for _, t in parts])
        return Controls(np.concatenate([np.zeros(0, np.int32), *where]), merged.i, merged.j, merged.k, merged.value)

    def rhs(self, t: float, y: ArrayLike) -> Floats:
        """y'(t) at state y (W,) or states (B, W)."""
        return dynamics.rhs(self, t, y)

    def jacobian(self, t: float, y: ArrayLike) -> scipy.sparse.csr_array:
        """∂y'/∂y at time t and state y (W,), sparse."""
        return dynamics.jacobian(self, t, y)

    def stiffness(self, x: ArrayLike, points: int = 9) -> float:
        """The largest |eigenvalue| of the Jacobian along the trajectories of the inputs, `points` to a segment."""
        return dynamics.stiffness(self, x, points)

    def trajectory(self, x: ArrayLike, points: int = 33, engine: str | None = None) -> Trajectory:
        """One input through all segments, at `points` equally spaced times in each, ends included."""
        if not isinstance(points, int | np.integer) or points < 2:
            raise UsageError(
                "a trajectory needs an integer ≥ 2, points in each segment", argument="points", value=points
            )
        if points * self.depth * self.width > TRAJECTORY:
            raise UsageError(
                f"{points} points × {self.depth} segments × {self.width} registers: more than {TRAJECTORY}"
            )
        times = dynamics.grid(self, points)
        flow = self.flow(x, engine=engine, times=tuple(times.tolist())).check()
        assert flow.path is not None
        if len(flow.path) != 1:
            raise UsageError(f"trajectory takes one input, got {len(flow.path)}: call it once for each")
        labels = tuple(s.label for s in self.segments)
        names = tuple(self.registers.name(r) for r in range(self.width))
        return Trajectory(times, flow.path[0], dynamics.switches(self), labels, names)

    def flow(
        self,
        x: ArrayLike,
        engine: str | None = None,
        *,
        rtol: float = RTOL,
        max_steps: int = 100_000,
        threads: int = 1,
        states: bool = False,
        times: ArrayLike | None = None,
    ) -> Flow:
        """Run an engine, by default the first that can, or `jax` for long work on an accelerator: how each input ended.

        `rtol` is relative to each register; below the rounding of float64 it has no effect."""
        options = Options(rtol, max_steps, threads, states, () if times is None else dynamics.moments(times))
        dynamics.check_options(self, options)
        chosen, batch = self._engine if engine is None else engine_named(self, engine), batch_of(x, self.inputs)
        if engine is None and not states and not options.times:
            chosen = quickest(self, chosen, len(batch))
        return chosen.run(self, batch, options)

    @cached_property
    def _engine(self) -> Engine:
        return first_able(self)

    @cached_property
    def _direct(self) -> Callable[[Any], Floats | None] | None:
        return direct(self._engine, self)

    def __call__(self, x: ArrayLike, engine: str | None = None, *, rtol: float = RTOL, threads: int = 1) -> Floats:
        """Outputs (B, outputs) for a batch (B, d); for one point (d,), just (outputs,). Raises if an input fails."""
        if engine is None and rtol is RTOL and type(threads) is int and threads == 1 and self._direct is not None:
            single = self._direct(x)
            if single is not None:
                return single
        outputs = self.flow(x, engine, rtol=rtol, threads=threads).check().outputs
        return outputs[0] if len(outputs) == 1 and np.ndim(x) < 2 else outputs

    def to_jax(self, precision: str = "highest") -> tuple[Callable[[Any, Any], Any], dict[str, Any]]:
        """`function, params`: `function(params, x)` is pure, and `jax.jit`, `vmap` and `grad` take it. `precision` is
        that of matrix products on accelerators: "highest", or "high" and "default", which are faster."""
        made: tuple[Callable[[Any, Any], Any], dict[str, Any]] = load_layer(FLOW).to_jax(self, precision)
        return made

    def to_torch(self) -> Any:
        """The program as a `torch.nn.Module`; its controls are the parameters."""
        return load_layer(FLOW).to_torch(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `integraph.load` reads back, bit by bit."""
        from integraph.program import storage

        storage.save(self, path)

    def then(self, other: Program, *, reuse: bool = False) -> Program:
        """First this program, then `other` on its outputs; one segment between them carries the values over. With
        `reuse`, this one is then run backwards, where that loses no digits, and `other` has its registers."""
        if not isinstance(other, Program):
            kind = type(other).__name__
            raise UsageError(f"then(other) takes a program, got {kind}: compile it, or lift it and call `program`")
        return composition.then(self, other, reuse)

    def repeat(self, rounds: int) -> Program:
        """The program applied so many times to its own outputs. Where these end in the input registers, as those of a
        flow do, all rounds run on its W registers; where it can be run backwards without loss of digits, they share
        them: W + (rounds − 1)·d; else there are rounds·W."""
        return composition.repeat(self, rounds)

    def rescale_time(self, horizon: float) -> Program:
        """The same map with T = `horizon`: durations and controls trade."""
        return transform.rescale_time(self, horizon)

    def rescale_states(self, scales: ArrayLike) -> Program:
        """The same flow in units ŷ = y / scales. Outputs are unchanged; inputs are taken in the new units."""
        return transform.rescale_states(self, scales)

    def ranges(self, box: ArrayLike | None = None, **options: Any) -> Any:
        """Certified low and high of every register in every segment, for all inputs of the box: a `Ranges`.
        Options: `cells` of the box at most, `seconds`, `progress`."""
        return load_layer(MACHINE).register_ranges(self, box, **options)

    def scaled(self, box: ArrayLike | None = None, **options: Any) -> Any:
        """The program in units, powers of two, in which every register fits a machine: a `Scaling`. Options:
        `unit=1.0`, `headroom=1.0`, `horizon` (at most), `largest=10.0` coefficient, `cells`, `progress`."""
        return load_layer(MACHINE).scaled(self, box, **options)

    def tolerance(self, box: ArrayLike | None = None, **options: Any) -> Any:
        """How far outputs move on a machine that is not exact: a `Tolerance`. Options: `coefficients=1e-3` (relative),
        `offsets=1e-4` (of each integrator), `samples`, `trials`, `seed`."""
        return load_layer(MACHINE).tolerance(self, box, **options)

    def reverse(self) -> Program:
        """The inverse flow: takes y(T), all W of it, and returns y(0)."""
        return transform.reverse(self)

    def describe(self) -> str:
        """What the registers mean, and what each segment does: its equations, then a sentence for each block."""
        return description.describe(self)

    def summary(self, points: int = 9) -> str:
        """A table: sizes, largest rate, stiffness (`points` times in each segment), and what is known of the error."""
        return summary.table(self, points)

    def plot(
        self,
        what: str = "trajectory",
        path: str | os.PathLike[str] | None = None,
        *,
        source: Any = None,
        x: ArrayLike | None = None,
        box: ArrayLike | None = None,
    ) -> Any:
        """A picture as a matplotlib figure, and as a PNG, SVG or PDF file if there is a path: the trajectory of `x`, or
        "error", "sparsity" …; an unknown name lists all. `source` is what was compiled."""
        return load_layer(PLOT).plot(self, what, path, source=source, x=x, box=box)

    def report(self, path: str | os.PathLike[str] = "report.html", source: Any = None, **options: Any) -> Path:
        """All pictures and numbers in one HTML file, with the options of `integraph.report`; returns its path."""
        page: Path = load_layer(REPORT).report(self, path, source, **options)
        return page

    def export(self, path: str | os.PathLike[str], format: str | None = None, **options: Any) -> Path:
        """Write the ODE for another tool (C, SBML, SPICE, …); the format follows from the suffix unless it is named.
        `integraph export --list` names the formats and their options. Returns the path."""
        written: Path = load_layer(EXPORT).export(self, path, format, **options)
        return written

    def __repr__(self) -> str:
        return summary.short(self)

    def _repr_html_(self) -> str:
        return notebook.of_program(self)

    def with_errors(self, *, proven: float | None = None, seen: float | None = None) -> Program:
        """The same program, knowing more about its error."""
        return self.annotate(proven=self.proven if proven is None else proven, seen=self.seen if seen is None else seen)

    def annotate(self, **annotations: Any) -> Program:
        """The same program with another proven, seen, budget, probes, domain or origin. Its equations are those that
        were checked when it was built, and are not checked again."""
        if not annotations.keys() <= ANNOTATIONS:
            raise SpecError(f"{', '.join(annotations)}: annotations are {', '.join(sorted(ANNOTATIONS))}")
        program = object.__new__(Program)
        program.__dict__.update(vars(self) | annotations)
        spec.check_annotations(program)
        return program


def build(
    registers: Registers,
    segments: Sequence[Segment],
    out: Ref | scipy.sparse.csr_array,
    matrix: ArrayLike | None = None,
    source: str = "gadgets",
    *,
    budget: Budget | None = None,
    probes: Sequence[Probe] = (),
    domain: Domain | None = None,
    origin: Origin | None = None,
) -> Program:
    """A program whose output is the registers `out`, or `matrix` times them, with what is known of its error."""
    if not isinstance(registers, Registers):
        raise SpecError(f"build(registers, segments, out): registers must be a Registers, got {registers!r}")
    if not isinstance(segments, Sequence) or not all(isinstance(s, Segment) for s in segments):
        raise SpecError(f"build(registers, segments, out): segments must be a list of segment(…), got {segments!r}")
    return Program(
        registers.copy(), tuple(segments), transform.readout(registers.width, out, matrix), source=source,
        budget=budget, probes=tuple(probes), domain=domain, origin=origin,
    )  # fmt: skip
