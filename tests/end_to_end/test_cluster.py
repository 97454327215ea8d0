"""A dask cluster finds what one process finds, whatever happens to its workers."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.certify.problem import Box
from integraph.certify.search import cluster
from integraph.certify.search.branch_and_bound import search
from integraph.certify.search.stop import Stop
from integraph.errors import UsageError
from lazy import Lazy, needs
from slow import mostly_slow
from toy_problems import Bumpy, Faulty, Slow, Waves
from workers import killer, same

pytestmark = needs("distributed")
distributed = Lazy("distributed")

SQUARE, UNIT = Box((0.0, 0.0), (1.0, 2.0)), Box((0.0,), (1.0,))


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of two processes of two threads, which are started again when they are killed."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0", silence_logs=50
    ) as running:
        yield running.scheduler_address


@mostly_slow(
    ("problem", "options"),
    [
        (Waves(), {"gap": 1e-3}),
        (Waves(), {"goal": 2.09}),
        (Bumpy(), {"gap": 0.05, "boxes": 2000}),
    ],
    quick=1,
)
def test_the_same_tree_as_in_one_process(scheduler: str, problem: Waves, options: dict[str, float]) -> None:
    alone = search(problem, SQUARE, workers=1, **options)  # type: ignore[arg-type]
    assert same(search(problem, SQUARE, scheduler=scheduler, **options), alone)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_same_proof_as_in_one_process(scheduler: str) -> None:
    text, source = "y0 <= 1.21 and y0 >= -1.21", "sin(5*x)*cos(4*y) + x*y/5"
    alone = integraph.prove(text, source, workers=1)
    shared = integraph.prove(text, source, scheduler=scheduler)
    assert alone.status == "proved"
    assert alone.certificate == shared.certificate


@pytest.mark.slow
def test_the_same_closed_loop_as_in_one_process(scheduler: str) -> None:
    """Proved cells, and open ones, which no division helps: (x − v)² ≥ 0 where x = v."""
    setting = {
        "plant": {"x": "v", "v": "u - x^3"}, "controller": "-2*v", "period": 0.2, "steps": 20, "cells": 40,
        "start": {"x": (-2.5, 2.5), "v": (-2, 2)}, "progress": False,
    }  # fmt: skip
    for spec in ("x in [-1.7, 1.7] at end", "x^2 - 2*x*v + v^2 >= 0 at end"):
        alone = integraph.loop(**setting, spec=spec, workers=1)  # type: ignore[arg-type]
        shared = integraph.loop(**setting, spec=spec, scheduler=scheduler)  # type: ignore[arg-type]
        assert alone.answer is shared.answer
        for mine, theirs in ((alone.proved, shared.proved), (alone.open, shared.open)):
            assert np.array_equal([(a.low, a.high) for a in mine], [(b.low, b.high) for b in theirs])
        assert (alone.boxes() == shared.boxes()).all()


@pytest.mark.slow
def test_the_same_bounds_as_in_one_process(scheduler: str) -> None:
    source = "sin(3*x)*exp(-y)/(1 + x*y)"
    alone = integraph.bound(source, gap=1e-7, workers=1)
    shared = integraph.bound(source, gap=1e-7, scheduler=scheduler)
    assert alone.cells == shared.cells > 64
    assert (alone.low, alone.high) == (shared.low, shared.high)


@pytest.mark.slow
def test_a_killed_worker_loses_no_box(scheduler: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with killer(log, 1) as killed:
        found = search(Slow(0.005, str(log)), UNIT, gap=1e-3, scheduler=scheduler)
    assert len(killed) == 1
    assert same(found, search(Slow(), UNIT, gap=1e-3, workers=1))


def test_what_the_cluster_cannot_do_is_done_here(scheduler: str) -> None:
    with pytest.raises(RuntimeError, match="a mistake"):
        search(Faulty(), UNIT, gap=1e-3, scheduler=scheduler)


def test_a_scheduler_that_answers_no_more(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    submit, asked = distributed.Client.submit, []

    def sometimes(self: object, *arguments: object, **options: object) -> object:
        asked.append(arguments)
        if len(asked) > 20:
            raise OSError("nobody there")
        return submit(self, *arguments, **options)

    monkeypatch.setattr(distributed.Client, "submit", sometimes)
    with pytest.warns(RuntimeWarning, match="nobody there"):
        found = search(Waves(), SQUARE, gap=1e-2, scheduler=scheduler)
    assert same(found, search(Waves(), SQUARE, gap=1e-2, workers=1))
    assert len(asked) == 21


@pytest.mark.slow
def test_the_time_budget(scheduler: str) -> None:
    begun = time.monotonic()
    found = search(Slow(0.05), UNIT, gap=1e-9, seconds=2.0, scheduler=scheduler)
    assert found.stopped is Stop.SECONDS
    assert time.monotonic() - begun < 5
    assert found.upper[0] >= 1.656


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1"])
def test_an_address_that_does_not_answer(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    with pytest.raises(UsageError, match="no dask scheduler answers"):
        search(Waves(), SQUARE, gap=0.1, scheduler=address)


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(UsageError, match="has no workers"),
    ):
        search(Waves(), SQUARE, gap=0.1, scheduler=empty.scheduler_address)


@pytest.mark.slow
def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'integraph\[cluster\]'"):
        search(Waves(), SQUARE, gap=0.1, scheduler="tcp://127.0.0.1:9")


@mostly_slow("address", ["tcp://127.0.0.1:9", "nonsense://x"], quick=1)
def test_a_client_that_could_not_connect_blocks_no_other(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where its remains are collected by the thread of the next event loop."""
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    with pytest.raises(UsageError, match="no dask scheduler answers"):
        search(Waves(), SQUARE, gap=0.1, scheduler=address)
    run, collected = distributed.utils.asyncio_run, []

    def collect(*given: object, **options: object) -> object:
        collected.append(gc.collect())
        return run(*given, **options)

    monkeypatch.setattr(distributed.utils, "asyncio_run", collect)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50):
        assert len(collected) == 1
