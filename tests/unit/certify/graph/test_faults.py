"""Every part of a bound that is left out, halved or taken with another sign is noticed: by exact rationals, or by the
difference of a graph and a program whose controls are slightly off, in many bits."""

from __future__ import annotations

from importlib import import_module

import pytest

from faults import fault
from graph_arithmetic import ARITHMETIC
from graph_faults import FAULTS
from graph_programs import PROGRAMS
from slow import mostly_slow

CASES = ARITHMETIC | PROGRAMS


@mostly_slow("name", CASES, 4)
def test_without_a_fault(name: str) -> None:
    assert CASES[name]()


@mostly_slow("name", FAULTS, 8)
def test_a_fault_is_noticed(name: str) -> None:
    module, before, after, noticing = FAULTS[name]
    with fault(import_module(f"integraph.certify.graph.{module}"), before, after):
        try:
            holds = CASES[noticing]()
        except pytest.fail.Exception:  # what should have been refused was not
            holds = False
    assert not holds
