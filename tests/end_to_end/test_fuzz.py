"""The fuzzing machine: a short run of each kind with a fixed seed, and the machine itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fuzz import judge, precision
from fuzz.__main__ import Tally, alike, main
from fuzz.formula import KIND, Case, oracle
from fuzz.kind import FAILS, Absent, Outcome, known, load
from fuzz.shrink import shrink
from integraph import compile as compiled
from lazy import framework

SEED, FOREVER = 20, 600.0
COUNTS = {"onnx": 120, "formula": 25, "network": 25, "torch": 8, "jax": 20}  # cases that take a few seconds
BOX = np.zeros(1), np.ones(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", known())
def test_a_short_run_finds_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        tally = Tally(load(name), SEED, shrinking=5.0)
    except Absent as why:
        pytest.skip(str(why))
    tally.run(FOREVER, COUNTS[name])
    assert tally.cases == COUNTS[name]
    assert not tally.statuses[FAILS], f"{tally}\n{capsys.readouterr().out}"


@dataclass(frozen=True)
class Numbers:
    """Of lists of numbers, those with a 7 fail."""

    name: str = "numbers"
    needs: tuple[str, ...] = ()

    def draw(self, rng: np.random.Generator) -> tuple[int, ...]:
        return tuple(rng.integers(0, 10, 20).tolist())

    def check(self, case: tuple[int, ...]) -> Outcome:
        return Outcome(FAILS, f"value: {sum(case)}") if 7 in case else Outcome("agrees")

    def smaller(self, case: tuple[int, ...]) -> Iterator[Any]:
        yield from (case[:k] + case[k + 1 :] for k in range(len(case)))

    def show(self, case: tuple[int, ...]) -> str:
        return f"numbers {case}"


def test_a_failure_is_shrunk_shown_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally(Numbers(), 1, shrinking=5.0)
    tally.run(5.0, 30)
    printed = capsys.readouterr().out
    assert "--seed 1 --case numbers:" in printed
    assert "numbers (7,)" in printed
    assert printed.count("shrunk:") == 2  # of failures that are alike only the first are
    assert tally.cases == 30
    assert f"{tally.statuses[FAILS]} fails" in str(tally)
    assert f"{tally.statuses[FAILS]:8d} fails: value: #" in str(tally)


def test_shrinking_keeps_the_sort_of_failure() -> None:
    class Either(Numbers):
        def check(self, case: tuple[int, ...]) -> Outcome:
            return Outcome(FAILS, "crash: KeyError: 3") if 3 in case else Numbers.check(self, case)

    kind = Either()
    case = (1, 3, 7, 2)
    assert shrink(kind, case, kind.check(case), 5.0) == (3,)
    assert shrink(kind, (1, 7, 2), kind.check((1, 7, 2)), 5.0) == (7,)


def subject(truth: Any, formula: str = "tanh(x)", slack: float = 0.0) -> judge.Subject:
    return judge.Subject(
        lambda **options: compiled(formula, box=(0, 1), method="exact", **options),
        truth,
        lambda x: np.full((len(x), 1), slack),
        *BOX,
    )


@pytest.mark.parametrize(
    ("truth", "slack", "status", "says"),
    [
        (np.tanh, 0.0, "agrees", ""),
        (lambda x: np.tanh(x) + 1e-9, 0.0, "fails", "value:"),
        (lambda x: np.tanh(x) + 1e-9, 1e-8, "agrees", ""),
        (lambda x: np.tanh(x) + 1e-9, 1e-2, "undecided", "ill"),
        (lambda x: np.tanh(x) + np.nan, 0.0, "fails", "value:"),
        (lambda x: np.concatenate([x, x], 1), 0.0, "fails", "shape:"),
        (lambda x: np.tanh(x) + 1e-3 * (x > 0.97), 0.0, "fails", "value:"),  # only a search finds that
    ],
)
def test_what_the_judge_says(truth: Any, slack: float, status: str, says: str) -> None:
    plan = judge.Plan(judge.ENGINES, judge.FREES, search=20)
    found = judge.judge(subject(truth, slack=slack), np.array([[0.2], [0.7]]), plan, np.random.default_rng(0))
    assert found.status == status
    assert found.detail.startswith(says)


def test_an_output_that_is_ill_conditioned_hides_no_other() -> None:
    one = judge.Subject(
        lambda **options: compiled(["tanh(x)", "x"], box=(0, 1), method="exact", **options),
        lambda x: np.concatenate([np.tanh(x) + 1e-9, x + 1e-9], 1),
        lambda x: np.tile([1.0, 0.0], (len(x), 1)),
        *BOX,
    )
    found = judge.judge(one, np.array([[0.5]]), judge.Plan(), np.random.default_rng(0))
    assert found.detail.startswith("value: output 1")


def test_the_judge_tells_refusals_from_crashes() -> None:
    x, plan, rng = np.array([[0.5]]), judge.Plan(), np.random.default_rng(0)
    refused = judge.judge(subject(np.log, "ln(x-2)"), x, plan, rng)
    assert (refused.status, refused.detail[:11]) == ("refused", "SourceError")
    crashed = judge.judge(judge.Subject(lambda **_: 1 / 0, np.tanh, np.tanh, *BOX), x, plan, rng)  # type: ignore
    assert (crashed.status, crashed.failure) == ("fails", "crash: ZeroDivisionError")


def test_kinks_are_judged_by_what_is_promised() -> None:
    def kink(off: float) -> judge.Subject:
        return subject(lambda x: np.abs(x - 0.5) + off, "abs(x-0.5)")

    x, plan = np.array([[0.2]]), judge.Plan(search=20)
    assert judge.judge(kink(0.0), x, plan, np.random.default_rng(0)).status == "agrees"
    assert judge.judge(kink(2e-3), x, plan, np.random.default_rng(0)).detail.startswith("promise:")


def test_a_promise_is_not_judged_by_digits_that_the_oracle_does_not_have() -> None:
    """Of e^y − (e^y − 1) at y = 189 it has none; of x/10 it has all, and sees a promise that is broken."""
    cancelled = Case((("-", ("exp", "x"), ("expm1", "x")),), ((187.0, 190.0),), None, 3)
    assert KIND.check(cancelled).status != FAILS
    tenth = oracle(Case((("*", "0.1", "x"),), ((1.0, 2.0),), None, 3))
    program = compiled("0.1*x", box=(1, 2))
    assert precision.promise(tenth, program, tenth.points(5)) == ""
    wrong = compiled("0.1*x + 1e-9", box=(1, 2))
    assert precision.promise(tenth, wrong, tenth.points(5)).startswith("off by 1")


def test_details_that_differ_in_numbers_are_alike() -> None:
    one = Outcome(FAILS, "value: output 1 is 0.25, the oracle says nan at [0.5, 1.0] [exact]")
    other = Outcome(FAILS, "value: output 3 is -1e-9, the oracle says inf at [7.0] [taylor]")
    assert alike(one) == alike(other)


def test_the_command_repeats_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    framework("onnxruntime")
    framework("onnx")
    assert main(["--seed", "1", "--case", "onnx:1"]) in (0, 1)
    assert "helper.make_node" in capsys.readouterr().out
