"""A pool finds what one process finds, whatever happens to its processes, and leaves none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import toy_problems
from integraph.certify.problem import Box
from integraph.certify.search import pool
from integraph.certify.search.bisection import Bisection, BoxPart, Job, divide
from integraph.certify.search.branch_and_bound import search
from integraph.certify.search.stop import Stop
from slow import mostly_slow
from toy_problems import Bumpy, Capricious, Deadly, Faulty, Pole, Slow, Waves
from workers import killer, pids, same

SQUARE, UNIT = Box((0.0, 0.0), (1.0, 2.0)), Box((0.0,), (1.0,))
SUPPORT = Path(toy_problems.__file__).parent


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started before the first box, and all is left to them."""
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    monkeypatch.setattr(pool, "WORTH", 0.0)
    monkeypatch.setattr(pool.Pool, "_ready", lambda self, needed: True)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(found: set[int], within: float = 5.0) -> bool:
    last = time.monotonic() + within
    while any(map(alive, found)) and time.monotonic() < last:
        time.sleep(0.02)
    return not any(map(alive, found))


@pytest.mark.usefixtures("at_once")
@mostly_slow(
    ("problem", "box", "options"),
    [
        (Waves(), SQUARE, {"goal": 2.0923, "gap": 1e-5}),
        (Waves(), SQUARE, {"goal": 2.09}),
        (Bumpy(), SQUARE, {"gap": 0.02, "boxes": 3000}),
        (Capricious(), UNIT, {"gap": 0.01, "boxes": 700}),
        (Pole(), Box((-1.0,), (1.0,)), {"goal": 1e9, "boxes": 1000}),
    ],
    quick=1,
)
def test_the_same_tree_as_in_one_process(problem: Waves, box: Box, options: dict[str, float]) -> None:
    alone, shared = (search(problem, box, workers=workers, **options) for workers in (1, 2))  # type: ignore[arg-type]
    assert same(shared, alone)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_others_do_the_work_and_go(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = search(Slow(0.01, str(log)), UNIT, gap=1e-4, workers=2)
    assert same(found, search(Slow(), UNIT, gap=1e-4, workers=1))
    others = pids(log) - {os.getpid()}
    assert len(others) == 2
    assert gone(others)


def test_short_searches_and_one_worker_need_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    search(Slow(0.0, str(log)), UNIT, gap=1e-3, workers=2)
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    monkeypatch.setattr(pool, "WORTH", 1.0)
    search(Slow(0.0, str(log)), UNIT, gap=1e-3, workers=2)
    monkeypatch.setattr(pool, "WORTH", 0.0)
    search(Slow(0.0, str(log)), UNIT, gap=1e-3, workers=1)
    assert pids(log) == {os.getpid()}


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_killed_worker_loses_no_box(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with killer(log, 2) as killed:
        found = search(Slow(0.003, str(log)), UNIT, gap=1e-4, workers=2)
    assert len(killed) == 2
    assert len(pids(log) - {os.getpid()} - killed) >= 1, "others took over"
    assert same(found, search(Slow(), UNIT, gap=1e-4, workers=1))
    assert gone(pids(log) - {os.getpid()})


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_workers_that_die_of_their_boxes(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    problem = Deadly(here=os.getpid(), mark=str(mark), times=2)
    found = search(problem, UNIT, gap=1e-2, workers=2)
    assert mark.stat().st_size > 2
    assert same(found, search(Slow(), UNIT, gap=1e-2, workers=1))


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_when_all_die_the_rest_is_done_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LOSSES", 2)
    mark = tmp_path / "mark"
    problem = Deadly(here=os.getpid(), mark=str(mark), times=10_000)
    with pytest.warns(RuntimeWarning, match="3 of them ended"):
        found = search(problem, UNIT, gap=1e-2, workers=2)
    assert 3 <= mark.stat().st_size <= 4
    assert same(found, search(Slow(), UNIT, gap=1e-2, workers=1))


@pytest.mark.usefixtures("at_once")
def test_a_mistake_in_a_problem_shows_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LOSSES", 0)
    with pytest.warns(RuntimeWarning, match="of them ended"), pytest.raises(RuntimeError, match="a mistake"):
        search(Faulty(), UNIT, gap=1e-3, workers=2)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_problem_that_cannot_be_sent() -> None:
    problem = Waves()
    problem.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.warns(RuntimeWarning, match="one process goes on"):
        found = search(problem, SQUARE, gap=0.01, workers=2)
    assert same(found, search(Waves(), SQUARE, gap=0.01, workers=1))


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_the_time_budget_ends_the_pool(tmp_path: Path) -> None:
    log = tmp_path / "log"
    begun = time.monotonic()
    found = search(Slow(0.05, str(log)), UNIT, gap=1e-9, workers=2, seconds=3.0)
    assert found.stopped is Stop.SECONDS
    assert time.monotonic() - begun < 5
    assert gone(pids(log) - {os.getpid()})
    assert found.upper[0] >= 1.656


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_answers_to_jobs_that_were_given_up_are_not_those_to_others() -> None:
    problem, part = Slow(0.01), BoxPart(64, 64, (9.0,), None)
    first, second = ([Job(UNIT, 0, (n + shift) / 99, part, (0.0,), (0.0,)) for n in range(9)] for shift in (1, 50))
    with closing(pool.Pool(Bisection(problem), 2)) as shared:
        given_up = shared.run(first)
        assert next(given_up) == divide(problem, first[0])
        given_up.close()  # type: ignore[attr-defined]
        assert [*shared.run(second)] == [divide(problem, job) for job in second]


SCRIPT = """
import sys
sys.path.insert(0, {support!r})
from integraph.certify.search import pool
from integraph.certify.search.bisection import BoxPart, Job, divide
from integraph.certify.problem import Box
from integraph.certify.search.branch_and_bound import search
from toy_problems import Slow
pool.PATIENCE = pool.WORTH = 0.0
pool.Pool._ready = lambda self, needed: True
{more}
print("begins", flush=True)
found = search({problem}, Box((0.0,), (1.0,)), gap=1e-4, workers=2)
print(found.stopped.value, found.upper[0])
"""


def script(folder: Path, problem: str, more: str = "") -> subprocess.Popen[str]:
    path = folder / "script.py"
    path.write_text(SCRIPT.format(support=str(SUPPORT), problem=problem, more=more))
    return subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.slow
def test_work_goes_on_here_until_processes_are_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody waits for those who start; when they are there, they help, and the tree is the same."""
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    monkeypatch.setattr(pool, "WORTH", 0.0)
    log = tmp_path / "log"
    found = search(Slow(0.03, str(log)), UNIT, gap=1e-4, workers=2)
    assert os.getpid() in pids(log)
    assert len(pids(log)) >= 2, "it takes longer than a process takes to start"
    assert same(found, search(Slow(), UNIT, gap=1e-4, workers=1))
    assert gone(pids(log) - {os.getpid()})


@pytest.mark.slow
def test_a_script_without_a_guard(tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = script(tmp_path, f"Slow(0.01, {str(log)!r})")
    out, err = running.communicate(timeout=60)
    expected = search(Slow(), UNIT, gap=1e-4, workers=1)
    assert (out.split(), err) == (["begins", "gap", str(expected.upper[0])], "")
    assert len(pids(log)) == 3, "this one and two workers"


@pytest.mark.slow
def test_a_problem_of_the_script_itself_is_proved_by_one_process(tmp_path: Path) -> None:
    running = script(tmp_path, "Own()", "class Own(Slow): pass")
    out, err = running.communicate(timeout=60)
    expected = search(Slow(), UNIT, gap=1e-4, workers=1)
    assert out.split() == ["begins", "gap", str(expected.upper[0])]
    assert "RuntimeWarning" in err
    assert "Traceback" not in err


def begun(log: Path, count: int) -> set[int]:
    last = time.monotonic() + 30
    while len(pids(log)) < count and time.monotonic() < last:
        time.sleep(0.02)
    return pids(log)


@pytest.mark.slow
def test_an_interrupt_ends_the_workers_and_keeps_the_bound(tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = script(tmp_path, f"Slow(0.05, {str(log)!r})")
    everyone = begun(log, 3)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all
    out, err = running.communicate(timeout=20)
    assert out.split()[1] == "interrupted"
    assert float(out.split()[2]) >= 1.656
    assert err == ""
    assert len(everyone) == 3
    assert gone(everyone)


@pytest.mark.slow
def test_an_interrupt_while_workers_start(tmp_path: Path) -> None:
    running = script(tmp_path, "Slow(0.02)")
    assert running.stdout is not None
    assert running.stdout.readline() == "begins\n"
    time.sleep(0.35)  # a few boxes; a process takes longer to start
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert out.split()[0] == "interrupted"
    assert err == ""


@pytest.mark.slow
def test_workers_end_when_nobody_asks_any_more(tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = script(tmp_path, f"Slow(0.05, {str(log)!r})")
    everyone = begun(log, 3)
    running.kill()
    running.communicate(timeout=20)
    assert len(everyone) == 3
    assert gone(everyone)
