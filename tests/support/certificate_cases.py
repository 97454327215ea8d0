"""Two programs with their sources and proofs: a network, and a smooth function."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import integraph
from integraph.certify.certificate.certificate import Certificate
from integraph.certify.proof import Proof
from networks import random_network

FORMULA = "sin(3*x)*exp(-y)"


@cache
def network_case() -> tuple[integraph.Program, integraph.Network, Proof]:
    network = random_network((2, 3, 1), "tanh")
    program = integraph.compile(network, 1e-4)
    return program, network, integraph.certify(program, network, gap=0.05)


@cache
def smooth_case() -> tuple[integraph.Program, str, Proof]:
    program = integraph.compile(FORMULA, 1e-2, method="lean")
    return program, FORMULA, integraph.certify(program, FORMULA, gap=0.5)


CASES = [network_case, smooth_case]


def certificate(case: Callable[[], tuple[integraph.Program, object, Proof]]) -> Certificate:
    found = case()[2].certificate
    assert found is not None
    return found
