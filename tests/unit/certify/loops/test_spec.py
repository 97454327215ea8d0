"""Judgements of specifications: what every choice within sets that are not decided allows, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from integraph.api.loop_specs import read_spec
from integraph.api.loops import closed_loop
from integraph.certify.loops.replay import sets
from integraph.certify.loops.replay.verdict import Verdict
from integraph.certify.loops.rows import of_box
from integraph.certify.loops.spec import Answer, Judgement
from integraph.certify.loops.tube import tube
from integraph.certify.problem import Box
from integraph.errors import UsageError

SIDES = {Answer.PROVED: (0.0, 0.75), Answer.UNKNOWN: (0.5, 1.5), Answer.REFUTED: (1.25, 2.0)}  # of x <= 1
ROWS = {answer: of_box(np.array([low]), np.array([high])).fresh() for answer, (low, high) in SIDES.items()}
CHECKED = {answer: sets.of_box(Box((low,), (high,)), 2).own_rows for answer, (low, high) in SIDES.items()}
WORLDS = {Answer.PROVED: (True,), Answer.UNKNOWN: (True, False), Answer.REFUTED: (False,)}
SIGNS = {Answer.PROVED: 1, Answer.UNKNOWN: 0, Answer.REFUTED: -1}
STEPS = 2

# What is seen: a set at a sampling time, one over the period after it, and so on; 0, 2 and 4 are sampling times.
ASKED: dict[str, Callable[[Sequence[bool]], bool]] = {
    "x <= 1": lambda holds: holds[4],
    "x <= 1 at end": lambda holds: holds[4],
    "x <= 1 always": all,
    "x <= 1 from 1": lambda holds: all(holds[2:]),
    "x <= 1 from 2": lambda holds: holds[4],
    "x <= 1 at samples": lambda holds: all(holds[::2]),
    "x <= 1 by 0": lambda holds: holds[0],
    "x <= 1 by 1": lambda holds: holds[0] or holds[2],
    "x <= 1 by 2": lambda holds: any(holds[::2]),
    "avoid x > 1": all,
    "avoid x > 1 at samples": lambda holds: all(holds[::2]),
}


def certain(asked: Callable[[Sequence[bool]], bool], seen: Sequence[Answer]) -> Answer:
    """The answer in every world that the sets allow, where that is one."""
    answers = {asked(world) for world in product(*(WORLDS[kind] for kind in seen))}
    return Answer.UNKNOWN if len(answers) == 2 else Answer.PROVED if answers.pop() else Answer.REFUTED


def judged(text: str, seen: Sequence[Answer]) -> Judgement:
    judgement = Judgement(read_spec(text, ("x",), 1.0, STEPS), STEPS)
    for place, kind in enumerate(seen):
        judgement.see(ROWS[kind], place // 2, sample=place % 2 == 0)
    return judgement


@pytest.mark.parametrize("text", ASKED)
def test_every_sequence_of_sets(text: str) -> None:
    for seen in product(Answer.__members__.values(), repeat=2 * STEPS + 1):
        assert judged(text, seen).answer is certain(ASKED[text], seen), seen


@pytest.mark.slow
@pytest.mark.parametrize("text", ASKED)
def test_the_check_says_the_same(text: str) -> None:
    spec = read_spec(text, ("x",), 1.0, STEPS)
    for seen in product(Answer.__members__.values(), repeat=2 * STEPS + 1):
        verdict = Verdict(spec, STEPS)
        for place, kind in enumerate(seen):
            verdict.see(CHECKED[kind], place // 2, sample=place % 2 == 0)
        assert verdict.sign() == SIGNS[certain(ASKED[text], seen)], seen


@pytest.mark.parametrize("text", ASKED)
def test_what_was_not_seen_may_be_anything(text: str) -> None:
    for length in range(1, 2 * STEPS + 1):
        for seen in product(Answer.__members__.values(), repeat=length):
            judgement = judged(text, seen)
            before, decided = judgement.answer, judgement.decided
            judgement.stop()
            later = (Answer.UNKNOWN,) * (2 * STEPS + 1 - length)
            true = certain(ASKED[text], (*seen, *later))
            assert judgement.answer in (true, Answer.UNKNOWN), seen
            if "by" not in text or true is Answer.PROVED:
                assert judgement.answer is true, seen
            assert not decided or before is true is Answer.REFUTED, seen


def test_clauses_hold_together() -> None:
    for one, other in product(SIDES, repeat=2):
        x, v = (SIDES[kind] for kind in (one, other))
        judgement = Judgement(read_spec("x <= 1 at end; v <= 1 always", ("x", "v"), 1.0, 0), 0)
        judgement.see(of_box(*np.array([x, v]).T).fresh(), 0)
        assert judgement.answer is certain(all, [one, other])


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("x <= 0.8 always", Answer.REFUTED),
        ("x <= 0.95 always", Answer.UNKNOWN),
        ("x <= 0.95 from 1", Answer.PROVED),
        ("x >= 0.8 by 0", Answer.PROVED),
        ("x >= 0.8 by 1", Answer.PROVED),
    ],
)
def test_the_starts_are_among_the_states(spec: str, answer: Answer) -> None:
    """x⁺ = x/10: what is asked of large states is asked of the starts."""
    loop = closed_loop({"x": "x/10 + 0*u"}, "x", period=1, steps=2, discrete=True)
    asked = read_spec(spec, loop.states, loop.period, loop.steps)
    assert tube(loop, np.array([0.9]), np.array([1.0]), asked).answer is answer


TIMES = [  # a time, a period, the last sampling time up to it, and whether it is one
    ("0.3", 0.1, 3, True),
    ("3e-1", 0.1, 3, True),
    ("0.29999999999999999", 0.1, 2, False),  # the float is that of 0.3
    ("0.30000000000000001", 0.1, 3, False),
    ("0.9999999999995", 1.0, 0, False),
    ("1", 1 / 3, 3, True),
    ("5", 5 / 9, 9, True),
    ("4.9999999999999999999", 5 / 9, 8, False),
    ("0.4999999999999999999999", 0.25, 1, False),
    ("1.", 0.25, 4, True),
    ("+1_0e-1", 0.25, 4, True),
    ("1e-400", 0.1, 0, True),
    ("0", 0.1, 0, True),
]


@pytest.mark.parametrize(("text", "period", "number", "exact"), TIMES)
def test_times_are_decimals(text: str, period: float, number: int, exact: bool) -> None:
    """A clause is about no sampling time that is after the time of `by`, or not that of `from`."""
    assert read_spec(f"x <= 1 by {text}", ("x",), period, 9).clauses[0].last == number
    if exact:
        assert read_spec(f"x <= 1 from {text}", ("x",), period, 9).clauses[0].first == number
    else:
        with pytest.raises(UsageError, match="a multiple of"):
            read_spec(f"x <= 1 from {text}", ("x",), period, 9)
