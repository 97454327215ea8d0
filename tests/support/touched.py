"""A plugin of pytest: `--every-module` fails a run in which no test was skipped and a module was never imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import integraph

SOURCE = Path(integraph.__file__).parent
TOUCHED: set[str] = set()  # by this process, and under xdist by those that it started


def modules() -> set[str]:
    """All of the package, by their dotted names; two of them run in processes of their own."""
    dotted = (path.relative_to(SOURCE.parent).with_suffix("").parts for path in SOURCE.rglob("*.py"))
    return {".".join(parts).removesuffix(".__init__") for parts in dotted} - {
        "integraph.__main__",
        "integraph.cli.start",
    }


def untouched(config: pytest.Config) -> set[str]:
    """Modules that no test reached, if that was asked and none was skipped for want of a framework."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter is None or reporter.stats.get("skipped")
    return modules() - TOUCHED if config.getoption("--every-module") and not skipped else set()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-module", action="store_true", help="fail if a module of the package was never imported")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    TOUCHED.update(getattr(node, "workeroutput", {}).get("touched", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    TOUCHED.update(name for name in sys.modules if name.partition(".")[0] == "integraph")
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["touched"] = sorted(TOUCHED)
    elif untouched(session.config) and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if missing := sorted(untouched(config)):
        terminalreporter.write_line(f"never imported: {', '.join(missing)}", red=True)
