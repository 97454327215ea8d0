"""compare(): the network is evaluated in numpy, faults are planted, and the table must point at them."""

from __future__ import annotations

import importlib
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import integraph
from integraph import Index, Program, Registers, View, build, segment
from integraph.api.comparison import Comparison, ComparisonRow, compare
from integraph.errors import EscapeError, IntegraphError, UsageError
from integraph.gadgets import affine, exp, ln, ramp, tanh
from integraph.program import Budget, Probe
from integraph.targets import Layer, Network, from_layers
from networks import random_network
from tanh_net import compile_net, random_net

MODULE = importlib.import_module("integraph.api.comparison")  # not the function of that name
RNG = np.random.default_rng(5)
SIZES = (2, 8, 8, 8, 3)


def pair(fault: tuple[int, int, float] | None = None) -> tuple[Program, Network]:
    """A net of three hidden layers and its program with probes; `fault` adds to the bias of a neuron of a layer."""
    layers, readout = random_net(SIZES, seed=4)
    net = from_layers([*((A, b, "tanh") for A, b in layers), (readout, None)])
    if fault is not None:
        layer, neuron, change = fault
        layers[layer][1][neuron] += change
    program = compile_net(layers, readout)
    alpha = View(0, (8,), (1,))
    probes = tuple(Probe(f"layer {k + 1}", 3 * k + 1, alpha, layer=k + 1) for k in range(3))
    return replace(program, probes=probes), net


def points(count: int = 20) -> np.ndarray:
    return RNG.uniform(-1, 1, size=(count, 2))


def test_a_faithful_program() -> None:
    program, net = pair()
    found = compare(program, net, points())
    assert [row.label for row in found.rows] == ["layer 1", "layer 2", "layer 3", "output"]
    assert [row.segment for row in found.rows] == [1, 4, 7, 8]
    assert [row.segment_label for row in found.rows] == ["tanh 1", "tanh 2", "tanh 3", "decay 3"]
    assert 0 < found.largest < 1e-13
    assert found.notes == ()
    assert str(found) == repr(found)


@pytest.mark.parametrize("engine", [None, "exact", "taylor"])
@pytest.mark.parametrize("change", [1e-6, 0.5])
def test_a_planted_fault_is_found(engine: str | None, change: float) -> None:
    program, net = pair(fault=(1, 5, change))
    X = points()
    found = compare(program, net, X, engine)
    assert found.rows[0].difference < 1e-9
    assert found.origin is found.rows[1]
    row = found.origin
    values, wrong = (
        net.values(X),
        from_layers(
            [
                replace(layer, b=layer.b + change * np.eye(8)[5]) if n == 1 else layer
                for n, layer in enumerate(net.layers)
            ]
        ).values(X),
    )
    for row, true, other in zip(found.rows[1:], values[1:], wrong[1:], strict=True):
        gap = np.abs(true - other)
        assert row.difference == pytest.approx(gap.max(), rel=1e-3)
        assert (row.input, row.neuron) == np.unravel_index(gap.argmax(), gap.shape)
        assert row.network == true[row.input, row.neuron]
        assert row.program == pytest.approx(other[row.input, row.neuron], abs=1e-9)
    assert found.rows[1].neuron == 5
    assert found.worst.difference == found.largest == max(row.difference for row in found.rows)
    text = str(found).splitlines()
    assert text[0].startswith("20 inputs: the largest difference is")
    assert "4 'tanh 2'" in text[3]


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    program, net = pair(fault=(2, 1, 1e-3))
    X = points(11)
    whole = compare(program, net, X)
    monkeypatch.setattr(MODULE, "MEMORY", 300)  # a few inputs at a time
    parts = compare(program, net, X)
    assert [(r.label, r.input, r.neuron) for r in parts.rows[2:]] == [
        (r.label, r.input, r.neuron) for r in whole.rows[2:]
    ]
    assert [r.difference for r in parts.rows] == pytest.approx([r.difference for r in whole.rows], rel=1e-9, abs=1e-14)


def test_rescaled_programs() -> None:
    """Segments too short for times in float64; probes are kept with time, lost with units; X stays the network's."""
    program, net = pair(fault=(1, 0, 0.1))
    X = points()
    known = [row.difference for row in compare(program, net, X).rows]
    fast = program.rescale_time(1e-3)
    assert [row.difference for row in compare(fast, net, X).rows] == pytest.approx(known, abs=1e-13)
    segments = (replace(program.segments[0], duration=1e20, rate=1e-20), *program.segments[1:])
    uneven = replace(program, segments=segments)
    with pytest.raises(UsageError, match="too short for times"):
        uneven.flow(X, times=[0.0])
    assert [row.difference for row in compare(uneven, net, X).rows] == pytest.approx(known, abs=1e-13)
    scales = np.exp(RNG.normal(size=program.width))
    units = compare(program.rescale_states(scales), net, X)
    assert [row.label for row in units.rows] == ["output"]
    assert units.largest == pytest.approx(known[-1], abs=1e-13)
    probed = replace(
        program.rescale_states(4.0), probes=tuple(replace(probe, scale=4.0, shift=0.25) for probe in program.probes)
    )
    shifted = compare(probed, net, X).rows[0]
    assert shifted.difference == pytest.approx(0.25, abs=1e-12)
    assert shifted.program == pytest.approx(shifted.network + 0.25)


def test_probes_of_lists_and_other_things() -> None:
    program, net = pair()
    X = points()
    lists = replace(program.probes[1], ref=Index(np.arange(8).reshape(2, 4)))
    odd = replace(program, probes=(Probe("mu", 0, View(16, (8,), (1,))), lists))
    found = compare(odd, net, X)
    assert [row.label for row in found.rows] == ["layer 2", "output"]
    assert found.largest < 1e-13
    assert found.notes == ("no probe shows layer 1, 3", "not a layer of the network, so not compared: 'mu'")
    turned = replace(program, probes=(replace(program.probes[0], ref=View(7, (8,), (-1,))),))
    assert compare(turned, net, X).largest > 0.1
    bare = compare(replace(program, probes=()), net, X)
    assert [row.label for row in bare.rows] == ["output"]
    assert "no probes: only its outputs are compared" in str(bare)


def test_the_promise_is_shown() -> None:
    program, net = pair()
    program = replace(program, budget=Budget([-1.0, -1.0], [1.0, 1.0], 1e-9, 0.0, 0.0))
    assert str(compare(program, net, points())).endswith("promised error of the outputs ≤ 1e-09")
    assert "≤ 1e-09, but 1 of the inputs is outside its box" in str(compare(program, net, [[0.0, 0.0], [1.5, 0.0]]))


@pytest.mark.parametrize("wrong", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"method": "wide"}, {"method": "wide", "free": "decay"}], ids=str)
def test_a_changed_layer_is_found_in_a_compiled_net(options: dict[str, str], wrong: int) -> None:
    """What a program may be off is no fault: the layer that was changed is named, and the promise is broken."""
    net = random_network((3, 6, 5, 4, 2), "tanh", seed=1)
    program = integraph.compile(net, **options)
    x = np.random.default_rng(0).uniform(size=(50, 3))
    good = compare(program, net, x)
    assert "grows most" not in str(good)
    assert "MORE" not in str(good)
    layers = [
        (layer.A, layer.b + (0.01 if n == wrong else 0.0), layer.activation) for n, layer in enumerate(net.layers, 1)
    ]
    bad = compare(program, layers, x)
    assert bad.origin.label == f"layer {wrong}"
    assert f"it grows most at layer {wrong}" in str(bad)
    assert "they differ by MORE" in str(bad)


def test_notes_of_the_reader_are_shown() -> None:
    net = replace(random_network((2, 3, 1), "tanh"), notes=("1/3 was rounded",))
    assert "when the network was read: 1/3 was rounded" in str(compare(integraph.compile(net), net, [[0.5, 0.5]]))


def scalar(name: str, weight: float) -> tuple[Program, Network]:
    """One neuron, f(w x), and a program that gives tanh(x)."""
    r = Registers()
    x, alpha, lam = r.inputs("x", 1), r.new("alpha", 1), r.new("lam", 1)
    program = build(r, [segment("tanh", tanh(alpha, lam, x))], alpha)
    return replace(program, probes=(Probe("layer 1", 0, alpha, layer=1),)), from_layers([([[weight]], None, name)])


@pytest.mark.parametrize(("weight", "value"), [(1e308, np.inf), (-1e308, 0.0)])
def test_infinite_differences(weight: float, value: float) -> None:
    program, net = scalar("exp", weight)
    found = compare(program, net, [0.5, 0.25])
    assert found.rows[0].network == value
    assert found.largest == (np.inf if value else pytest.approx(np.tanh(0.5)))


def test_nan_is_the_largest_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a batch, in any chunk, beside an infinity: inf − inf in the network gives it."""
    program, _ = scalar("exp", 1.0)
    net = Network((Layer([[1e308], [500.0]], 0.0, "exp"), Layer([[1.0, -1.0]], 0.0)))
    wrong = replace(program, probes=())
    assert compare(wrong, net, [0.0, 1.0]).largest == np.inf
    for memory in (10**6, 1):
        monkeypatch.setattr(MODULE, "MEMORY", memory)
        found = compare(wrong, net, [0.0, 1.0, 2.0, 0.5])
        assert math.isnan(found.largest)
        assert (found.worst.input, found.inputs) == (2, 4)
        assert "largest difference is nan, at output" in str(found)
        assert found.origin is found.worst


def test_rows_by_size() -> None:
    def row(label: str, difference: float, network: float = 1.0) -> ComparisonRow:
        return ComparisonRow(label, 0, "s", difference, 0, 0, network, 0.0)

    nan, inf = row("nan", math.nan), row("inf", math.inf, math.inf)
    assert Comparison((row("a", 1.0), nan, inf, row("nan again", math.nan)), 1).worst is nan
    assert Comparison((row("a", 1.0), inf, row("b", 2.0)), 1).origin is inf
    same = Comparison((row("a", 0.0), row("b", 0.0)), 1)
    assert (same.worst.label, same.origin.label, same.largest) == ("a", "a", 0.0)
    grown = Comparison((row("large values", 1e-7, 1e9), row("fault", 1e-4), row("amplified", 0.1)), 1)
    assert (grown.origin.label, grown.worst.label) == ("fault", "amplified")
    assert "at amplified; it grows most at fault" in str(grown)


def test_shapes_of_inputs() -> None:
    program, net = pair()
    assert compare(program, net, [0.1, 0.2]).inputs == 1
    assert str(compare(program, net, [0.1, 0.2])).startswith("1 input:")
    for bad, match in (
        (np.zeros((3, 3)), r"inputs have shape \(3, 3\): the program takes \(2,\) or \(batch, 2\)"),
        ([[np.nan, 0.0]], "input 0 is not finite"),
        (np.zeros((0, 2)), "X is empty"),
        ("ab", "must be numbers"),
    ):
        with pytest.raises(UsageError, match=match):
            compare(program, net, bad)
    with pytest.raises(UsageError, match="unknown engine 'magic'"):
        compare(program, net, points(), "magic")
    with pytest.raises(UsageError, match="takes a program, got Network"):
        compare(net, net, points())


def test_networks_that_do_not_fit() -> None:
    program, net = pair()
    with pytest.raises(UsageError, match="the program is 2 → 3, the network 2 → 8: compare a program with the network"):
        compare(program, Network(net.layers[:-1]), points())
    with pytest.raises(UsageError, match="probe of layer 3, the network 2 layers"):
        compare(replace(program, probes=program.probes[::2]), Network((net.layers[0], net.layers[-1])), points())
    thin = from_layers([(np.ones((4, 2)), None, "tanh"), (np.ones((3, 4)), None)])
    one = replace(program, probes=program.probes[:1])
    with pytest.raises(UsageError, match="layer 1 has 8 neurons in the program, 4 in the network"):
        compare(one, thin, points())


def test_any_source_that_can_be_read() -> None:
    program, net = pair()
    X = points()
    found = compare(program, [(layer.A, layer.b, layer.activation) for layer in net.layers], X)
    assert found == compare(program, net, X)
    with pytest.raises(IntegraphError):
        compare(program, object(), X)


def test_failed_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As calling the program fails; also if only a register that no output reads fails, however many are compared."""
    r = Registers()
    x, p, z, y = r.inputs("x", 1), r.new("p", 1), r.new("z", 1), r.new("y", 1)
    load, logarithm = segment("load", affine(p, x, b=-1.0)), segment("ln", ln(p, z))
    net = from_layers([([[1.0]], None, "exp")])
    program = replace(build(r, [load, logarithm], z), probes=(Probe("layer 1", 1, z, layer=1),))
    with pytest.raises(EscapeError) as called:
        program([1.0, 0.0])
    with pytest.raises(EscapeError) as compared:
        compare(program, net, [1.0, 0.0])
    assert (str(called.value), called.value.indices) == (str(compared.value), compared.value.indices)

    both = segment("start", ramp(y, b=1.0), affine(p, x, b=-1.0))
    unread = build(r, [both, segment("exp", exp(y, x)), logarithm], y)
    probes = (Probe("layer 1", 1, y, layer=1), Probe("layer 1", 2, y, layer=1))
    for memory, some in itertools.product((10**6, 1), (probes, probes[:1])):
        monkeypatch.setattr(MODULE, "MEMORY", memory)
        with pytest.raises(EscapeError, match=r"input 1: .*register p, segment 2 'ln', t ≈ 3") as compared:
            compare(replace(unread, probes=some), net, [1.0, 0.0])
        assert compared.value.indices == (1,)


def test_a_program_without_segments() -> None:
    r = Registers()
    program = build(r, [], r.inputs("x", 2), [[1.0, 2.0]])
    found = compare(program, from_layers([([[1.0, 2.5]], None)]), [[1.0, 1.0], [0.0, 4.0]])
    assert (found.largest, found.worst.input, found.worst.segment) == (2.0, 1, -1)
    assert "none" in str(found)


def test_cancellation_is_no_fault() -> None:
    """Terms of 1e9 that cancel: the difference is rounding, and nobody is accused."""
    rng = np.random.default_rng(3)
    A = 1e3 * rng.choice([-1.0, 1.0], (1, 20))
    net = from_layers([(A, [-float((A * 1e6).sum())])])
    program = integraph.compile(net, box=(1e6 - 3e-3, 1e6 + 3e-3))
    assert "MORE" not in str(compare(program, net, rng.uniform(1e6 - 3e-3, 1e6 + 3e-3, (3000, 20))))
