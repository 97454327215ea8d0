"""The progress bar of a search: what it shows, to whom and when."""

from __future__ import annotations

import io
import signal
import threading
import time

import pytest

from integraph import progress
from integraph.progress import signals_blocked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, wanted: bool, boxes: int, seconds: float) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress.search_bar(wanted, boxes, seconds) as show:
        show((3e-7,), (1e-7,), 50)
        time.sleep(0.15)
    return stream.getvalue()


def test_a_person_at_a_terminal_sees_bounds_and_the_budget_that_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.0)
    found = shown(monkeypatch, Terminal(), True, 100, 1e9)
    assert all(word in found for word in ("3e-07", "1e-07", "50 boxes", "50%")), "half of the boxes"
    assert "100%" in shown(monkeypatch, Terminal(), True, 10**9, 1e-9), "all of the time"


def test_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), True, 100, 1e9) == "", "not in the first second"
    monkeypatch.setattr(progress, "AFTER", 0.0)
    assert shown(monkeypatch, Terminal(), False, 100, 1e9) == ""
    assert shown(monkeypatch, io.StringIO(), True, 100, 1e9) == ""


def test_the_thread_of_a_bar_leaves_ctrl_c_to_the_main_thread() -> None:
    """Else a main thread that sleeps would not hear of it."""
    found = []
    with signals_blocked():
        thread = threading.Thread(target=lambda: found.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
        thread.start()
    thread.join()
    assert signal.SIGINT in found[0]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
