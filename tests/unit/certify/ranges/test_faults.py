"""Every part of ranges of registers that is left out or taken with another sign is noticed."""

from __future__ import annotations

from importlib import import_module

from faults import fault
from range_cases import CASES
from range_faults import FAULTS
from slow import mostly_slow


@mostly_slow("name", CASES, 4)
def test_without_a_fault(name: str) -> None:
    assert CASES[name]()


@mostly_slow("name", FAULTS, 5)
def test_a_fault_is_noticed(name: str) -> None:
    module, before, after, noticing = FAULTS[name]
    with fault(import_module(f"integraph.certify.{module}"), before, after):
        assert not CASES[noticing]()
