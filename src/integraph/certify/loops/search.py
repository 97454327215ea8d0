"""Whether all starts of a box meet a specification: a start that fails, or cells whose tubes prove it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from threadpoolctl import threadpool_limits

from integraph.certify.loops.division import halves
from integraph.certify.loops.loop import Loop, periods
from integraph.certify.loops.refutation import Refutation, hopeless, refutation
from integraph.certify.loops.result import LoopResult
from integraph.certify.loops.spec import Answer, Specification
from integraph.certify.loops.tube import Tube, tube, unfinished
from integraph.certify.search.work import team
from integraph.clock import DeadlineError, deadline, now
from integraph.numbers.arrays import Floats
from integraph.numbers.jit import compiling
from integraph.progress import late_bar
from integraph.text import counted

PATIENCE = 1.0  # seconds for a proof in one cell, before a start that fails is looked for


def search(
    loop: Loop,
    spec: Specification,
    low: Floats,
    high: Floats,
    cells: int,
    seconds: float,
    progress: bool,
    workers: int | None = None,
    scheduler: str | None = None,
) -> LoopResult:
    """Prove it of all starts at once; if that fails, or takes long, look for a start that fails; then bisect cells that
    are not proved, until there are so many cells, or time is up, or Ctrl-C."""
    proved: list[Tube] = []
    todo: list[Tube] = []
    failure: Refutation | None = None
    boxes, interrupted = [(low, high)], False
    with threadpool_limits(1), late_bar(progress, "closed loop") as show:
        with compiling(lambda: show(0.0, "closed loop: kernels are compiled, once")):
            next(periods(loop, low, high))  # so that it takes no time of the budget
        crew = team(partial(_cell, loop, spec), workers, scheduler)
        try:
            with deadline(seconds):
                sought = cache(partial(refutation, loop, spec, low, high))
                first = _first(loop, spec, low, high, show, sought)
                if first is None or first.answer is Answer.UNKNOWN:
                    failure = sought()
                whole = [first] if first and not failure else []
                if whole and whole[0].reached < loop.steps and hopeless(loop, spec, low, high):
                    cells = 1  # the halves would be as open
                while boxes and failure is None:
                    for part in whole or crew.run(boxes):
                        (proved if part.answer is Answer.PROVED else todo).append(part)
                        boxes = boxes[1:]  # last: whenever Ctrl-C comes, every start is in a cell or a box
                        show(len(proved) / (len(proved) + len(todo) + len(boxes)), _progress(loop, proved, todo))
                        if part.answer is Answer.REFUTED:
                            point = tube(loop, part.low, part.low, spec)  # all its starts fail: one of them
                            failure = Refutation(point if point.answer is Answer.REFUTED else part)
                            break
                    if failure is None:
                        whole = []
                        more = cells - len(proved) - len(todo)
                        divided = [cell for cell in todo if (cell.high > cell.low).any()][:more]
                        rest = [cell for cell in todo if cell not in divided]
                        boxes, todo = [half for cell in divided for half in halves(cell, high - low)], rest
        except DeadlineError:
            pass
        except KeyboardInterrupt:
            interrupted = True
        except SystemError as error:  # what a compiled kernel makes of Ctrl-C
            if not _is_ctrl_c(error):
                raise
            interrupted = True
        finally:
            crew.close()
    todo += [unfinished(*box) for box in boxes]
    answer = Answer.REFUTED if failure else Answer.UNKNOWN if todo or not proved else Answer.PROVED
    shown = (failure.tube, interrupted, failure.disturbance) if failure else (None, interrupted)
    return LoopResult(loop, spec, answer, tuple(proved), tuple(todo), *shown)


def _is_ctrl_c(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _cell(loop: Loop, spec: Specification, box: tuple[Floats, Floats]) -> Tube:
    return tube(loop, *box, spec)


def _first(
    loop: Loop,
    spec: Specification,
    low: Floats,
    high: Floats,
    show: Callable[[float, str], None],
    sought: Callable[[], Refutation | None],
) -> Tube | None:
    """The tube of all starts, showing the time that it reached; None if it takes long and a start that fails is known
    before."""
    begun = now()

    def seen(number: int) -> None:
        show(number / loop.steps, f"closed loop: t = {number * loop.period:.4g} of {loop.steps * loop.period:.4g}")
        if now() - begun > PATIENCE and sought():
            raise _RefutedError

    try:
        return tube(loop, low, high, spec, watch=seen)
    except _RefutedError:
        return None


class _RefutedError(Exception):
    """The proof is in vain: a start fails."""


def _progress(loop: Loop, proved: Sequence[Tube], todo: Sequence[Tube]) -> str:
    reached = min([cell.reached for cell in todo], default=loop.steps) * loop.period
    return f"closed loop: {counted(len(proved), 'cell')} proved, {len(todo)} open, all reach t = {reached:.4g}"
