"""A property of a program is that of its source, less what the program is proved to be off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import integraph
from integraph.certify.certificate.tree import Leaf
from integraph.errors import UsageError
from networks import random_network

BOX = (-1.0, 1.0)


@pytest.mark.slow
def test_programs() -> None:
    net = random_network((2, 8, 6, 2), "tanh", seed=7)
    program = integraph.compile(net, 1e-2, box=BOX)
    top = integraph.bound(net, BOX, gap=0.01).high[0]
    clear = integraph.prove(f"y0 <= {top + 0.1:.3f}", program, BOX, compiled_from=net)
    assert clear.status == "proved"
    assert 0 < clear.delta <= 1e-2
    assert "within" in repr(clear)
    assert integraph.check(clear, program, net).holds
    assert not integraph.check(clear, integraph.compile(net, 1e-4, box=BOX), net).holds
    assert not integraph.check(clear, net).holds
    between = integraph.prove(f"y0 <= {top - clear.delta / 2:.9f}", program, BOX, compiled_from=net, seconds=1)
    assert between.status == "unknown"  # the source violates it, but by less than the program may be off
    assert integraph.prove(f"y0 <= {top - 0.1:.3f}", program, BOX, compiled_from=net).status == "refuted"
    with pytest.raises(UsageError, match="only linear"):
        integraph.prove("y0*y1 <= 2", program, BOX, compiled_from=net)
    small = integraph.certify(program, net, box=(0, 0.1))
    with pytest.raises(UsageError, match="another box"):
        integraph.prove("y0 <= 2", program, BOX, compiled_from=net, closeness=small)


def test_a_distance_is_that_of_this_program_and_this_source(tmp_path: Path) -> None:
    """A proof about something else says nothing, and a certificate may come from anyone."""
    net, other = (random_network((2, 4, 1), "tanh", seed=seed) for seed in (1, 2))
    program, another = (integraph.compile(one, box=BOX) for one in (net, other))
    proof = integraph.certify(program, net, box=BOX)
    with pytest.raises(UsageError, match="about another program"):
        integraph.prove("y0 <= 9", another, BOX, compiled_from=net, closeness=proof)
    with pytest.raises(UsageError, match="about another source"):
        integraph.prove("y0 <= 9", program, BOX, compiled_from=other, closeness=proof)
    certificate = proof.certificate
    assert certificate is not None
    certificate.save(tmp_path / "distance.json")
    from_file = integraph.prove("y0 <= 9", program, BOX, compiled_from=net, closeness=tmp_path / "distance.json")
    assert from_file.status == "proved"
    assert from_file.delta == certificate.upper
    less = certificate.upper / 4
    forged = replace(certificate, upper=less, lower=0.0, point=None, tree=(Leaf(64, (less,)),)).sealed()
    with pytest.raises(UsageError, match="does not hold: on leaf 1"):
        integraph.prove("y0 <= 9", program, BOX, compiled_from=net, closeness=forged)
    property_proof = integraph.prove("y0 <= 9", net, BOX)
    with pytest.raises(UsageError, match="which certify makes"):
        integraph.prove("y0 <= 9", program, BOX, compiled_from=net, closeness=property_proof.certificate)


def test_a_program_of_a_formula_knows_its_source() -> None:
    program = integraph.compile("sin(3*x)*exp(-y)", box=(0, 1))
    proof = integraph.prove("y0 <= 1.001 and y0 + x >= -0.0001", program)
    assert proof.status == "proved"
    assert integraph.check(proof, program).holds
