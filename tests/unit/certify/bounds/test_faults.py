"""Every part of a bound that is left out, halved or taken with another sign is noticed: at corners, in Arb, or in
rational numbers."""

from __future__ import annotations

from importlib import import_module

from bound_cases import BOUNDS
from bound_faults import FAULTS
from bound_formulas import FORMULAS
from faults import fault
from flow_bounds import FLOWS
from flow_faults import FAULTS as FLOW_FAULTS
from flow_programs import PROGRAMS
from slow import mostly_slow

CASES = BOUNDS | FORMULAS | FLOWS | PROGRAMS
ALL = FAULTS | FLOW_FAULTS


@mostly_slow("name", sorted({noticing for *_, noticing in ALL.values()}), 4)
def test_without_a_fault(name: str) -> None:
    assert CASES[name]()


@mostly_slow("name", ALL, 8)
def test_a_fault_is_noticed(name: str) -> None:
    module, before, after, noticing = ALL[name]
    with fault(import_module(f"integraph.certify.bounds.{module}"), before, after):
        assert not CASES[noticing]()
