"""`loop`: answers, starts that fail, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.api.loops import closed_loop
from integraph.certify.loops import search
from integraph.certify.loops.loop import Loop
from integraph.certify.loops.spec import Answer
from integraph.certify.loops.tube import Tube, tube
from integraph.errors import IntegraphError, SourceError, UsageError
from integraph.numbers.arrays import Floats
from slow import mostly_slow

PLANT = {"x": "v", "v": "u - x"}
TWO = integraph.network([(np.ones((1, 2)), np.zeros(1))])  # sees two outputs
SETTING = {"plant": PLANT, "controller": "-2*v", "period": 0.1, "steps": 20, "start": {"x": (0.9, 1.0), "v": 0}}


def sampled() -> np.ndarray:
    """The states at sampling times from many starts, (steps + 1, B, 2)."""
    closed = closed_loop(PLANT, "-2*v", period=0.1, steps=20)
    return integraph.simulate(closed, np.stack([np.linspace(0.9, 1.0, 50), np.zeros(50)], 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("x in [0.35, 0.4] at end", Answer.PROVED),
        ("x in [0.3, 0.38]", Answer.REFUTED),
        ("x <= 1.01 and v > -0.5 always", Answer.PROVED),
        ("x + 2*v >= 0 always", Answer.REFUTED),
        ("x + 2*v >= 0.05 at samples; x >= 0 always", Answer.REFUTED),
        ("avoid x in [0.3, 0.9] and v in [0.05, 1]", Answer.PROVED),
        ("avoid x in [0.3, 0.9] and v < -0.2", Answer.REFUTED),
        ("x <= 0.6 by 1.5", Answer.PROVED),
        ("x <= 0.6 by 1.0", Answer.REFUTED),
        ("sqrt(x^2 + v^2) <= 0.1 + x at end", Answer.PROVED),
        ("x <= 0.3 or v <= -0.1 at end", Answer.PROVED),
        ("x <= 0.3 or v >= -0.1", Answer.REFUTED),
        ("x > 0.9 implies v > -0.45 always", Answer.PROVED),
        ("avoid (x < 0.3 or v > 0.1) at sampling times", Answer.PROVED),
        ("not x < 0.3", Answer.PROVED),
    ],
)
def test_answers(spec: str, answer: Answer) -> None:
    result = integraph.loop(**SETTING, spec=spec, progress=False)
    assert result.answer is answer, result
    assert (result.start is not None) == (answer is Answer.REFUTED)
    hull = sampled()
    boxes = result.boxes()
    if answer is Answer.PROVED:
        assert (boxes[:, None, :, 0] <= hull + 1e-7).all()
        assert (hull <= boxes[:, None, :, 1] + 1e-7).all()


@pytest.mark.slow
def test_a_start_that_fails_fails() -> None:
    result = integraph.loop(**SETTING, spec="x in [0.3, 0.38]", progress=False)
    closed = closed_loop(PLANT, "-2*v", period=0.1, steps=20)
    end = integraph.simulate(closed, [[result.start["x"], result.start["v"]]])[-1, 0]
    assert not 0.3 <= end[0] <= 0.38


def test_a_disturbance_at_its_end_can_fail() -> None:
    """x⁺ = x/2 + w, |w| ≤ 1, from 0: most of all with w = 1 all the time, 1.5 after two periods."""
    setting = {"plant": {"x": "x/2 + w + 0*u"}, "controller": "x", "period": 1, "steps": 2, "discrete": True}
    setting |= {"disturbances": {"w": (-1, 1)}, "start": {"x": (-0.1, 0.1)}, "progress": False}
    result = integraph.loop(**setting, spec="x <= 1.4 always")
    assert result.answer is Answer.REFUTED
    assert result.disturbance == {"w": 1.0}
    assert result.boxes()[-1, 0] == pytest.approx([1.5 + result.start["x"] / 4] * 2)
    assert integraph.check(result, result)
    assert integraph.loop(**setting, spec="x <= 1.6 always").answer is Answer.PROVED
    known = integraph.loop(**setting | {"disturbances": {"w": 1}}, spec="x <= 1.4 always")
    assert (known.answer, known.disturbance) == (Answer.REFUTED, None)


def test_what_is_known_of_each_clause() -> None:
    """x⁺ = x/2 + w from [-0.1, 0.1], |w| ≤ 1: at most 1.55 after two periods, and with w = 1 at least 1.475."""
    setting = {"plant": {"x": "x/2 + w + 0*u"}, "controller": "x", "period": 1, "steps": 2, "discrete": True}
    setting |= {"disturbances": {"w": (-1, 1)}, "start": {"x": (-0.1, 0.1)}, "progress": False, "cells": 2}
    proved = integraph.loop(**setting, spec="x <= 2 always; x >= -3; x^2 <= 9 at samples; x <= 1 by 1")
    assert proved.answer is Answer.PROVED
    assert proved.clauses == (Answer.PROVED,) * 4
    wrong = integraph.loop(**setting, spec="x <= 2 always; x <= 1.4; x <= 0.9 always")
    assert wrong.clauses == (Answer.UNKNOWN, Answer.UNKNOWN, Answer.REFUTED)  # it ends where the answer is known
    assert repr(wrong).endswith('w = 1 at all times fails "x <= 0.9 always" by t = 1')
    late = integraph.loop(**setting, spec="x <= 2 always; x >= 5 by 1")
    assert late.clauses == (Answer.UNKNOWN, Answer.REFUTED)
    assert repr(late).endswith('fails "x >= 5 by 1"')
    same = setting | {"plant": {"x": "x + 0*u", "v": "v"}, "start": {"x": (0.4, 0.5), "v": (0.4, 0.5)}}
    there = integraph.loop(**same | {"disturbances": None}, spec="x <= 1 always; x^2 - 2*x*v + v^2 >= 0 always")
    assert there.clauses == (Answer.PROVED, Answer.UNKNOWN)
    assert repr(there).endswith('open on "x^2 - 2*x*v + v^2 >= 0 always"')
    assert {there.undecided(cell) for cell in there.open} == {'"x^2 - 2*x*v + v^2 >= 0 always"'}


def test_a_clause_may_fail_at_the_start() -> None:
    setting = SETTING | {"start": {"x": (0.9, 1.0), "v": 0}, "progress": False}
    result = integraph.loop(**setting, spec="avoid x in [0.95, 2] at samples; v <= 3")
    assert result.failure is not None
    assert (result.failure.reached, result.boxes().shape) == (0, (1, 2, 2))
    assert repr(result).endswith('fails "avoid x in [0.95, 2] at samples" by t = 0')
    assert integraph.check(result.certificate(), result)


def test_a_long_proof_waits_for_a_start_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tube takes long, a start is looked for once, in the first period in which that is so."""
    monkeypatch.setattr(search, "PATIENCE", -1.0)
    setting = SETTING | {"plant": {"x": "x + v/10", "v": "v + u"}, "discrete": True, "progress": False}
    result = integraph.loop(**setting, spec="x <= 0.95 always")
    assert result.answer is Answer.REFUTED
    assert (len(result.proved), [cell.reached for cell in result.open]) == (0, [0])
    assert integraph.loop(**setting, spec="x <= 1.1 always").answer is Answer.PROVED


@pytest.mark.slow
def test_cells_are_divided() -> None:
    """A set that is too wide for one cell is proved in parts, and what is proved is said."""
    setting = {**SETTING, "plant": {"x": "v", "v": "u - x^3"}, "start": {"x": (-2.5, 2.5), "v": 0}}
    spec = "x in [-0.7, 0.7] and v in [-0.3, 0.3] at end"
    assert integraph.loop(**setting, spec=spec, cells=1, progress=False).answer is Answer.UNKNOWN
    result = integraph.loop(**setting, spec=spec, cells=64, progress=False)
    assert result.answer is Answer.PROVED
    assert len(result.proved) > 1
    assert result.share == 1.0


def test_states_that_do_not_depend_on_each_other_are_halved_in_turn() -> None:
    spec = "x^2 - 2*x*v + v^2 >= 0 always"  # is not decided where x = v
    start = {"x": (0.4, 0.5), "v": (0.4, 0.5)}
    plant = {"x": "x", "v": "v + 0*u"}
    result = integraph.loop(
        plant, "-x", period=1.0, steps=2, discrete=True, start=start, spec=spec, cells=8, progress=False
    )
    assert result.share >= 0.25
    assert {tuple((cell.high - cell.low).round(6)) for cell in result.open} == {(0.025, 0.05)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period": 0}, "period"),
        ({"steps": 0}, "steps"),
        ({"inputs": "u, x"}, "rename"),
        ({"start": {"x": (0, 1)}}, "for each of x, v"),
        ({"start": {"x": (1, 0), "v": 0}}, "low ≤ high"),
        ({"plant": {"x": "abs(x) + u", "v": "x"}}, "Taylor series"),
        ({"controller": "x, v"}, "outputs"),
        ({"spec": "x"}, "a comparison is missing"),
        ({"spec": ""}, "write conditions"),
        ({"spec": "z <= 1"}, "unknown name"),
        ({"cells": 0}, "cells"),
        ({"outputs": "x, y"}, "unknown name"),
        ({"outputs": "x, sin(v), v", "controller": TWO}, "gives it 3"),
        ({"parameters": {"m": (1, 0)}}, "low ≤ high"),
        ({"parameters": {"x": (0, 1)}}, "rename"),
        ({"disturbances": {"w": (0, 1, 2)}}, "a number or"),
        ({"controller": {"u": "-x"}, "inputs": "u"}, "leave it out"),
        ({"controller": {"u": "-x", "v": "x"}}, "rename"),
        ({"scale": [1, 2]}, "one for each input"),
        ({"spec": "x <= 1 by never"}, "a time is a number"),
        ({"spec": "x <= 1 by inf"}, "a time is a number"),
        ({"limits": (1, 0)}, "limits"),
        ({"period": float("nan")}, "finite and > 0"),
        ({"steps": 10**9}, "from 1 to 100,000"),
        ({"start": {"x": (float("nan"), 1), "v": 0}}, "x needs"),
        ({"parameters": {"m": (1, 2)}}, "m does not occur"),
        ({"disturbances": {"w": (0, 1)}}, "w does not occur"),
        ({"disturbances": {"u": (0, 1)}}, "in inputs and in disturbances"),
        ({"disturbances": {"x": (0, 1)}}, "in states and in disturbances"),
        ({"parameters": {"x": 1}}, "in states and in parameters"),
        ({"spec": " ; ;"}, "write conditions"),
        ({"spec": "x <= 1 from 0.55"}, "a sampling time"),
        ({"spec": "x <= 1 from 3"}, "up to 2"),
        ({"spec": "avoid x > 1 from 1"}, "avoid is at all times"),
    ],
)
def test_refusals(change: dict[str, object], message: str) -> None:
    with pytest.raises(IntegraphError, match=message):
        integraph.loop(**{**SETTING, "spec": "x <= 2 always", "progress": False, **change})


def test_the_bar_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that is reached, then cells."""
    said: list[tuple[float, str]] = []

    @contextmanager
    def bar(wanted: bool, what: str) -> Iterator[Callable[[float, str], None]]:
        yield lambda share, text: said.append((share, text))

    monkeypatch.setattr(search, "late_bar", bar)
    setting = {**SETTING, "discrete": True, "plant": {"x": "x", "v": "v + 0*u"}, "start": {"x": (0, 1), "v": (0, 1)}}
    result = integraph.loop(**{**setting, "steps": 4}, spec="x^2 - 2*x*v + v^2 >= 0 always", cells=8)
    assert said[:4] == [(n / 4, f"closed loop: t = {0.1 * n:.4g} of 0.4") for n in range(4)]
    assert said[-1][1] == f"closed loop: {len(result.proved)} cells proved, {len(result.open)} open, all reach t = 0.4"
    assert 0 < said[-1][0] < 1


def test_from_a_time_on() -> None:
    """What fails before does not matter, what fails later does; and the check sees it as the search does."""
    setting = {**SETTING, "plant": {"x": "x + 0.5*v", "v": "v + u"}, "controller": "-0.5*x - v", "discrete": True}
    setting["start"] = {"x": (-1, 1), "v": (-0.1, 0.1)}
    answers = {"x <= 0.1 from 1": "proved", "x <= 0.1 always": "refuted", "abs(x) <= 1e-6 from 1": "refuted"}
    for spec, answer in answers.items():
        result = integraph.loop(**setting, spec=spec, progress=False)
        assert result.answer.value == answer
        assert integraph.check(result, result)
    certificate = integraph.loop(**setting, spec="x <= 0.1 from 1", progress=False).certificate()
    assert not integraph.check(replace(certificate, spec="x <= 0.1 from 0.5").sealed(), result)


POLES = {  # a plant, a start, and the last sampling time, of 8, before its pole or the end of its domain
    "x^2 + u": (1.0, 3),
    "-1/x + u": (2.0, 7),
    "tan(x) + u": (1.5, 0),
    "-2*sqrt(x) + u": (1.1, 4),
}


@mostly_slow("plant", POLES, quick=1)
def test_simulation_ends_at_a_pole(plant: str) -> None:
    start, last = POLES[plant]
    closed = closed_loop({"x": plant}, "0*x", period=0.25, steps=8)
    x = integraph.simulate(closed, [[start], [1e-3]])[:, 0, 0]
    known = np.isfinite(x)
    assert known.sum() - 1 == last
    assert not known[last + 1 :].any()


def test_simulation_ends_where_a_map_is_not_defined() -> None:
    closed = closed_loop({"x": "1/x + u"}, "0*x", period=1, steps=4, discrete=True)
    x = integraph.simulate(closed, [[0.0], [2.0]])[..., 0]
    assert np.isnan(x[1:, 0]).all()
    assert x[:, 1].tolist() == [2.0, 0.5, 2.0, 0.5, 2.0]


@pytest.mark.slow
def test_processes_prove_the_same() -> None:
    """Cells that take long enough to be sent elsewhere."""
    setting = {**SETTING, "plant": {"x": "v", "v": "u - x^3"}, "start": {"x": (-2.5, 2.5), "v": (-2, 2)}, "steps": 40}
    spec = "x in [-1, 1] and v in [-0.35, 0.35] at end"
    alone, shared = (
        integraph.loop(**setting, spec=spec, cells=200, workers=workers, progress=False) for workers in (1, 2)
    )
    assert alone.answer is shared.answer is Answer.PROVED
    assert len(alone.proved) == len(shared.proved) > 10
    assert (alone.boxes() == shared.boxes()).all()


def test_what_was_not_looked_at_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between two cells: neither is lost, and nothing is proved of the second."""
    calls, right = [], search.tube

    def interrupted(*args, **more):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        made = right(*args, **more)
        return replace(made, answer=Answer.UNKNOWN) if len(calls) == 1 else made

    monkeypatch.setattr(search, "tube", interrupted)
    monkeypatch.setattr(search, "refutation", lambda *args: None)
    result = integraph.loop(
        {"x": "x/2 + 0*u"}, "x", period=1, steps=1, discrete=True, start={"x": (-1, 1)}, progress=False,
        spec="x <= 0.6", workers=1,
    )  # fmt: skip
    assert len(calls) == 3
    assert result.interrupted
    assert result.answer is Answer.UNKNOWN
    assert result.share == 0.5
    assert sum(cell.high[0] - cell.low[0] for cell in result.proved + result.open) == 2.0


def test_a_formula_reads_what_it_sees_by_name() -> None:
    """In whatever order outputs are, and as it does without them."""
    setting = {"period": 1, "steps": 1, "discrete": True, "start": {"x": 1, "v": 10, "z": 100}, "progress": False}
    plant = {"x": "x", "v": "v", "z": "u"}
    for controller in ("x + 2*v", "v*2 + x"):
        for outputs in (None, "x, v, z", "v, x", ["z", "v", "x"]):
            result = integraph.loop(plant, controller, outputs=outputs, spec="z <= 21", **setting)
            assert integraph.simulate(result, [[1.0, 10.0, 100.0]])[-1, 0, 2] == 21.0
    both = integraph.loop(
        {"x": "x", "v": "a", "z": "b"}, {"a, b": "-0.3*v, x + z"}, outputs="z, x, v", spec="x <= 1", **setting
    )
    assert integraph.simulate(both, [[1.0, 10.0, 100.0]])[-1, 0].tolist() == [1.0, -3.0, 101.0]
    one = integraph.loop(plant, "tanh(y)", outputs="x - v + 9", spec="x <= 1", **setting)
    assert integraph.simulate(one, [[1.0, 10.0, 100.0]])[-1, 0, 2] == 0.0
    for controller, outputs in (("x - 2*y", "x + v, 2*x"), ("x", "x - v"), ("a*b", "x - v"), ("x + z", "x, v")):
        with pytest.raises((UsageError, SourceError), match=r"name|sees one formula"):
            integraph.loop(plant, controller, outputs=outputs, spec="x <= 1", **setting)


def test_narrow_starts_are_proved_where_wide_ones_are() -> None:
    """Errors by a disturbance are no sign of a tube that diverges, however narrow the set of starts is."""
    setting = {"period": 0.1, "steps": 60, "disturbances": {"d": (-0.1, 0.1)}, "progress": False, "cells": 2}
    for start in (1.0, (1.0, 1.1), (1.0, 1.00001)):
        result = integraph.loop({"x": "x + u + d"}, "-2*x", start={"x": start}, spec="abs(x) <= 1.2 always", **setting)
        assert result.answer is Answer.PROVED


@pytest.mark.parametrize("kind", ["formula", "tanh", "silu"])
def test_symbols_of_a_disturbance_stay_in_what_the_controller_gives(kind: str) -> None:
    """From one start: without them the tube grows to hundreds, although every trajectory comes to rest near 0."""
    layers = [(np.array([[1.0, 1.0]] * 3), np.zeros(3), kind), (np.full((1, 3), -1.5), np.zeros(1))]
    controller = "-4*tanh(x + v)" if kind == "formula" else integraph.network(layers)
    result = integraph.loop(
        {"x": "v", "v": "sin(x) + u + d"}, controller, period=0.1, steps=40, start={"x": 0.3, "v": 0.0},
        disturbances={"d": (-0.05, 0.05)}, spec="abs(x) <= 0.4 always", progress=False,
    )  # fmt: skip
    assert result.answer is Answer.PROVED
    assert integraph.check(result.certificate(), result)


def test_where_all_starts_of_a_cell_fail_one_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the tube of that start alone says nothing: then that of the cell is the refutation."""

    def vague(loop: Loop, low: Floats, high: Floats, *rest: Any, **more: Any) -> Tube:
        made = tube(loop, low, high, *rest, **more)
        return made if (high > low).any() else replace(made, answer=Answer.UNKNOWN, clauses=(Answer.UNKNOWN,))

    for name, value in (("tube", vague), ("refutation", lambda *_: None)):
        monkeypatch.setattr(search, name, value)
    result = integraph.loop(**SETTING, spec="x <= 0.05 by 0.1", progress=False, workers=1)
    assert result.answer is Answer.REFUTED
    assert result.failure is not None
    assert result.failure.answer is Answer.REFUTED
    assert repr(result).endswith('fails "x <= 0.05 by 0.1"')
    assert integraph.check(result.certificate(), result)
