"""Programs from programs: other units of time and state, the inverse flow.

What was known of the old controls is not known of new ones that are rounded anew: `proven` and `budget` are dropped,
and probes too where registers change their number, or units that no power of 2 gives.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from integraph.errors import SpecError, UsageError
from integraph.numbers.arrays import Floats, Indices, numbers, real
from integraph.program.annotations import Domain, Probe
from integraph.program.engine import DOUBLE
from integraph.program.origin import INVERSE, PROGRAM, Origin
from integraph.program.terms import positions
from integraph.program.views import Ref

if TYPE_CHECKING:
    from integraph.program.program import Program

PACE = 2.0**64  # times faster or slower, at most, for controls that stay what they are


def readout(width: int, out: Ref | scipy.sparse.csr_array, matrix: ArrayLike | None = None) -> scipy.sparse.csr_array:
    """The matrix C of c·y(T), sparse."""
    if scipy.sparse.issparse(out):
        copied: scipy.sparse.csr_array = scipy.sparse.csr_array(scipy.sparse.coo_array(out)).astype(np.float64)
        return copied
    if not isinstance(out, Ref):
        raise SpecError(f"the read-out is a view of registers or a sparse matrix, got {out!r}")
    low, high = out.extent()
    if low < 0 or high >= width:
        raise SpecError(f"the read-out uses registers {low} … {high}, there are {width}")
    columns = out.indices().ravel()
    if matrix is None:
        rows, values = positions(len(columns)), np.ones(len(columns))
        return scipy.sparse.csr_array((values, (rows, columns)), shape=(len(columns), width))
    dense_matrix = np.atleast_2d(numbers(matrix, "the read-out matrix", SpecError))
    if dense_matrix.ndim != 2 or dense_matrix.shape[1] != len(columns):
        raise SpecError(f"the read-out matrix has shape {dense_matrix.shape}: needs {len(columns)} columns")
    rows, chosen = np.nonzero(dense_matrix)
    return scipy.sparse.csr_array(
        (dense_matrix[rows, chosen], (rows, columns[chosen])), shape=(len(dense_matrix), width)
    )


def rescale_time(program: Program, horizon: float) -> Program:
    horizon = _horizon(program, horizon)
    paced = _paced(program, _evenly(program, horizon))
    if program.bits > DOUBLE and not _same_flow(program, paced):
        good = math.ldexp(program.horizon, round(math.log2(horizon / program.horizon)))
        raise UsageError(
            f"horizon {horizon:g}: duration times rate of a segment would be rounded, and this program needs "
            f"{program.bits} bits: choose {program.horizon!r} times a power of 2, such as {good!r}",
            argument="horizon",
        )
    return paced


def with_horizon(program: Program, horizon: float) -> Program:
    """The same flow in that time, with durations that are powers of 2 where equal ones would round the controls."""
    horizon = _horizon(program, horizon)
    paced = _paced(program, _evenly(program, horizon))
    halves = _halves(horizon, program.depth)
    if not _same_flow(program, paced) and halves and len({s.duration for s in program.segments}) == 1:
        return _paced(program, halves)
    return rescale_time(program, horizon)


def _horizon(program: Program, horizon: float) -> float:
    horizon = real(horizon, "the horizon")
    if not (math.isfinite(horizon) and horizon > 0):
        raise UsageError(f"the horizon must be finite and > 0, got {horizon}", argument="horizon")
    if not program.segments:
        raise UsageError("a program without segments has horizon 0 and cannot be rescaled", argument="horizon")
    return horizon


def _evenly(program: Program, horizon: float) -> list[float]:
    """All durations by one factor."""
    factor = horizon / program.horizon
    durations = [s.duration * factor for s in program.segments]
    rest = float(horizon - np.sum(durations[:-1], dtype=np.longdouble))
    if abs(rest - durations[-1]) < 1e-6 * durations[-1]:
        durations[-1] = rest  # what rounding left, so that T is what was asked for
    return durations


def _halves(horizon: float, count: int) -> list[float]:
    """Powers of 2 that add up to the horizon, as equal as possible; none if it has more than `count` binary digits."""
    mantissa, exponent = math.frexp(horizon)
    digits = int(math.ldexp(mantissa, 53))
    parts = [math.ldexp(1.0, exponent - 53 + n) for n in range(54) if digits >> n & 1]
    while 0 < len(parts) < count:
        half = parts.pop() / 2  # of the largest
        insort(parts, half)
        insort(parts, half)
    return parts[::-1] if len(parts) == count else []


def _paced(program: Program, durations: list[float]) -> Program:
    """Keep what is known of the error where the new controls are exactly the same flow: none was rounded."""
    pairs = zip(program.segments, durations, strict=True)
    segments = tuple(replace(s, duration=d, rate=s.rate * (s.duration / d) if d > 0 else s.rate) for s, d in pairs)
    paced = replace(program, segments=segments)
    if _same_flow(program, paced):
        return paced
    here = program.box
    return replace(paced, proven=None, budget=None, domain=None if here is None else Domain(here.low, here.high))


def _same_flow(old: Program, new: Program) -> bool:
    """Whether duration times rate is the same in every segment, in real arithmetic, and no control can underflow."""
    return all(
        Fraction(a.duration) * Fraction(a.rate) == Fraction(b.duration) * Fraction(b.rate)
        and 1 / PACE <= abs(b.rate / a.rate) <= PACE
        for a, b in zip(old.segments, new.segments, strict=True)
    )


def rescale_states(program: Program, scales: ArrayLike) -> Program:
    given = numbers(scales, "state scales")
    if given.shape not in ((), (1,), (program.width,)):
        raise UsageError(f"state scales have shape {given.shape}: needs one number, or {program.width}")
    s = np.array(np.broadcast_to(given, (program.width,)))
    if not (np.isfinite(s).all() and (s > 0).all()):
        raise UsageError(f"state scales must be finite and > 0, got {s[~(np.isfinite(s) & (s > 0))][0]}")
    s.flags.writeable = False
    matrix = scipy.sparse.csr_array(program.readout.multiply(s[None, :]))
    with np.errstate(over="ignore"):  # the spec refuses what is not finite
        combined = s if program.scales is None else s * program.scales
    bare = replace(program, readout=matrix, scales=combined, proven=None, budget=None, probes=(), domain=None)
    if not same_mantissas(program, bare, s):
        return bare
    box, here = program.budget, s[: program.inputs]
    return bare.annotate(
        proven=program.proven,
        budget=None if box is None else replace(box, low=box.low / here, high=box.high / here),
        probes=tuple(replace(p, scale=p.scale * float(u[0])) for p in program.probes if len(u := _units(p, s)) == 1),
        domain=None if program.domain is None else Domain(program.domain.low / here, program.domain.high / here),
    )


def _units(probe: Probe, scales: Floats) -> Floats:
    """The different units of a probe's registers."""
    return np.unique(scales[probe.ref.indices()])


def same_mantissas(old: Program, new: Program, scales: Floats) -> bool:
    """Whether units that are powers of 2 changed nothing but the exponents of all numbers: none was rounded."""
    power, exponent = np.frexp(np.append(scales, 1.0))  # index −1 is the constant 1
    if (power != 0.5).any():
        return False
    exponent = exponent - 1
    columns = old.readout.indices
    pairs = [(old.readout.data, new.readout.data, exponent[columns])]
    if old.box is not None:
        pairs += [(end, end / scales[: old.inputs], -exponent[: old.inputs]) for end in (old.box.low, old.box.high)]
    if not all(_moved(*pair) for pair in pairs):
        return False
    for (_, a), (_, b) in zip(old.stream(), new.stream(), strict=False):
        same = all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("i", "j", "k"))
        if not same or not _moved(a.value, b.value, exponent[a.j] + exponent[a.k] - exponent[a.i]):
            return False
    return old.terms == new.terms


def _moved(old: Floats, new: Floats, by: Indices) -> bool:
    """Whether new = old · 2^by, exactly."""
    (a, p), (b, q) = np.frexp(old), np.frexp(new)
    return len(a) == len(b) and bool(((a == b) & ((a == 0) | (p + by == q))).all())


def slow_down(program: Program, factor: float) -> Program:
    """The same flow, `factor` times as long: a power of 2, so that no duration and no control is rounded."""
    return _paced(program, [s.duration * factor for s in program.segments])


def reverse(program: Program) -> Program:
    known = program.origin
    flow = known.source if known is not None and known.method == INVERSE else None  # that this is the inverse of
    return replace(
        program,
        registers=program.registers.copy(inputs=program.width),
        segments=tuple(replace(s, rate=-s.rate) for s in reversed(program.segments)),
        readout=scipy.sparse.csr_array(scipy.sparse.identity(program.width, format="csr")),
        source=f"inverse flow of {program.source}" if flow is None else flow,
        proven=None,
        seen=None,
        budget=None,
        probes=(),
        domain=None,
        origin=Origin(program.source, PROGRAM, INVERSE) if flow is None else None,
    )
