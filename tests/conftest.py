"""What all tests share."""

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from lazy import framework

pytest_plugins = ["touched"]

settings.register_profile("some", max_examples=15, derandomize=True, deadline=None)  # of a hundred: support/law.py
settings.register_profile("all", max_examples=100, derandomize=True, deadline=None)
settings.register_profile("fresh", max_examples=100, derandomize=False, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nothing-skipped", action="store_true", help="fail if a test was skipped")


def pytest_configure(config: pytest.Config) -> None:
    """`make test` and `make test-all` draw the same examples each time, so that what is red is red again; `make
    test-long` names the profile that draws fresh ones."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background; what tests start must hear Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("some" if config.getoption("markexpr") else "all")


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # which lists the reasons: -rs
    if session.config.getoption("--nothing-skipped") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """A module's RNG starts anew for each test, so that no test depends on which ran before it."""
    if hasattr(request.module, "RNG"):
        request.module.RNG = np.random.default_rng(5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test may write a program."""
    return tmp_path / "program.integraph"


@pytest.fixture
def seeded_torch() -> Iterator[None]:
    """For tests that make modules: the same weights in any order of tests."""
    torch = framework("torch")
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield
