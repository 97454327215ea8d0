"""Programs that look like a network and are something else: whatever is proved of them is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy

import integraph
from integraph import Index, Probe, Program, Registers, build, segment
from integraph.certify.network.difference import NetworkState
from integraph.certify.network.form import RelaxStep
from integraph.gadgets import affine, product, ramp, relax, tanh
from integraph.targets.activations import CUBIC, ROOT_2_PI
from network_truth import difference
from slow import mostly_slow

Case = tuple[Program, list[tuple[object, ...]]]


def reading(program: Program, entries: dict[int, float]) -> Program:
    """With these weights of registers as its one output."""
    row = np.zeros((1, program.width))
    for register, weight in entries.items():
        row[0, register] = weight
    return replace(program, readout=scipy.sparse.csr_array(row))


def changed_stage() -> Case:
    """A register of GELU's tanh form that is put right after it was used wrongly."""
    r = Registers()
    x = r.inputs("x", 1)
    M, q, u, alpha, lam, z = (r.new(name, 1) for name in ("M", "q", "u", "alpha", "lam", "z"))
    segments = [
        segment("dirt", ramp(q, b=5.0)),
        segment("load", affine(M, x, w=[[1.0]])),
        segment("1", product(q, M, M)),
        segment("2", affine(u, M, w=ROOT_2_PI), product(u, M, q, w=ROOT_2_PI * CUBIC)),
        segment("3", tanh(alpha, lam, u)),
        segment("4", affine(z, M, w=0.5), product(z, M, alpha, w=0.5), ramp(q, b=-5.0)),
    ]
    return replace(build(r, segments, z), probes=(Probe("l", 5, z),)), [([[1.0]], [0.0], "gelu_tanh")]


def spare_load() -> Case:
    """A register beside the layer that follows the input, and is read."""
    r = Registers()
    x = r.inputs("x", 1)
    mu, alpha, lam, c = (r.new(name, 1) for name in ("mu", "alpha", "lam", "c"))
    load = segment("load", affine(mu, x, w=[[1.0]]), affine(c, x, w=[[5.0]]))
    program = reading(build(r, [load, segment("t", tanh(alpha, lam, mu))], alpha), {2: 1.0, 4: 1.0})
    return replace(program, probes=(Probe("l", 1, alpha),)), [([[1.0]], [0.0], "tanh"), ([[1.0]], [0.0])]


def one_argument_for_all() -> Case:
    """Units that share a register, which is not empty when it is loaded."""
    n = 64
    r = Registers()
    x = r.inputs("x", 1)
    mu, alpha, lam = (r.new(name, 1) for name in ("mu", "alpha", "lam"))
    a2, l2 = r.new("a2", n), r.new("l2", n)
    segments = [
        segment("load", affine(mu, x, w=[[1.0]])),
        segment("t", tanh(alpha, lam, mu)),
        segment("load 2", affine(mu, alpha, w=[[0.001]])),
        segment("t 2", tanh(a2, l2, mu.broadcast((n,)))),
    ]
    program = reading(build(r, segments, a2), {4 + unit: 1.0 for unit in range(n)})
    program = replace(program, probes=(Probe("l", 1, alpha), Probe("l 2", 3, a2)))
    return program, [([[1.0]], [0.0], "tanh"), ([[0.001]] * n, [0.0] * n, "tanh"), ([[1.0] * n], [0.0])]


def probe_twice() -> Case:
    r = Registers()
    x, mu = r.inputs("x", 1), r.new("mu", 1)
    program = build(r, [segment("load", affine(mu, x, w=[[1.0]])), segment("relu")], mu)
    program = replace(program, probes=(Probe("l", 1, Index(np.array([1, 1]))),))
    return program, [([[1.0], [1.0]], [0.0, 0.0], "relu"), ([[1.0, 1.0]], [0.0])]


def load_over_the_layer_before() -> Case:
    r = Registers()
    x = r.inputs("x", 2)
    mu, alpha, lam = (r.new(name, 1) for name in ("mu", "alpha", "lam"))
    load = segment("load", affine(mu, x[:1], w=[[1.0]]), affine(x[1:], x[:1], w=[[5.0]]))
    program = reading(build(r, [load, segment("t", tanh(alpha, lam, mu))], alpha), {3: 1.0, 1: 1.0})
    return replace(program, probes=(Probe("l", 1, alpha),)), [([[1.0, 0.0]], [0.0], "tanh"), ([[1.0]], [0.0])]


def rounded_rest() -> Case:
    """r·v is stored, rounded: the register goes to another number than v."""
    r = Registers()
    x = r.inputs("x", 1)
    mu, alpha, lam, c = (r.new(name, 1) for name in ("mu", "alpha", "lam", "c"))
    v = 1e15 / 3
    load = segment("load", affine(mu, x, w=[[1.0]]), relax(c, r=700.1, v=v))
    program = reading(build(r, [load, segment("t", tanh(alpha, lam, mu))], alpha), {2: 1.0, 4: 1.0})
    return replace(program, probes=(Probe("l", 1, alpha),)), [([[1.0]], [0.0], "tanh"), ([[1.0]], [v])]


def no_load() -> Case:
    r = Registers()
    x = r.inputs("x", 1)
    mu, alpha, lam, a2, l2 = (r.new(name, 1) for name in ("mu", "alpha", "lam", "a2", "l2"))
    segments = [
        segment("load", affine(mu, x, w=[[1.0]])),
        segment("t", tanh(alpha, lam, mu)),
        segment("t 2", tanh(a2, l2, alpha)),
    ]
    program = replace(build(r, segments, a2), probes=(Probe("l", 1, alpha), Probe("l 2", 2, a2)))
    return program, [([[1.0]], [0.0], "tanh")] * 2


CASES = [
    changed_stage, spare_load, one_argument_for_all, probe_twice, load_over_the_layer_before, rounded_rest, no_load,
]  # fmt: skip


@mostly_slow("case", CASES, quick=2)
def test_what_is_proved_is_true(case: Callable[[], Case]) -> None:
    program, layers = case()
    network = integraph.network(layers)
    proof = integraph.certify(program, layers, 10.0, workers=1, boxes=50)
    assert proof.lower <= proof.upper
    for point in ((1.0,) * program.inputs, (0.4,) * program.inputs):
        true = max(abs(d) for d in difference(program, network, point))
        assert true <= proof.upper * (1 + 1e-9) + 1e-25
    if proof.certificate is not None:
        assert integraph.check(proof, program, layers)


def test_a_read_out_that_names_a_register_twice() -> None:
    r = Registers()
    x = r.inputs("x", 1)
    mu, alpha, lam = (r.new(name, 1) for name in ("mu", "alpha", "lam"))
    program = build(r, [segment("load", affine(mu, x, w=[[1.0]])), segment("t", tanh(alpha, lam, mu))], alpha)
    twice = scipy.sparse.csr_array((np.array([1e16, 1.0, -1e16]), np.array([2, 2, 2]), np.array([0, 3])), shape=(1, 4))
    program = replace(program, readout=twice, probes=(Probe("l", 1, alpha),))
    assert integraph.certify(program, [([[1.0]], [0.0], "tanh"), ([[0.0]], [0.0])], 1e-3).status != "proved"


def test_a_layer_in_which_no_unit_runs_leaves_no_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The norm of no registers was kept twice by every decay: 2^24 of them in the end."""
    layers = [([[1.0]], [1.0], "relu"), *[([[1.0]], [0.0], "tanh")] * 8, ([[1.0]], [0.0])]
    program = integraph.compile(layers, 1e-3)
    counts = []
    relaxed = NetworkState.relax

    def relax_and_count(self: NetworkState, step: RelaxStep) -> None:
        relaxed(self, step)
        counts.append(len(self.norms))

    monkeypatch.setattr(NetworkState, "relax", relax_and_count)
    assert integraph.certify(program, layers, workers=1).status == "proved"
    assert max(counts) <= 4


@pytest.mark.slow
def test_a_box_of_all_numbers() -> None:
    layers = [([[1.0, 2.0]], [0.0], "tanh"), ([[1.0]], [0.0])]
    program = integraph.compile(layers, 1e-3)
    proof = integraph.certify(program, layers, 1.0, box=(-1e308, 1e308), seconds=2, workers=1)
    assert proof.lower <= proof.upper
    assert proof.certificate is None or integraph.check(proof, program, layers)


@pytest.mark.parametrize(("activation", "says"), [("tanh", "a layer of tanh"), ("gelu_tanh", "GELU's tanh form")])
def test_a_program_of_another_network(activation: str, says: str) -> None:
    compiled, other = (
        integraph.network([([[1.0, 2.0]], [0.0], name), ([[1.0]], [0.0])]) for name in ("relu", activation)
    )
    proof = integraph.certify(integraph.compile(compiled, 1e-3), other, progress=False)
    assert proof.status == "unknown"
    assert says in proof.reason
