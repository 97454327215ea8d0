"""The executable spec refuses every program that breaks a rule of eq. (1), and says which."""

import numpy as np
import pytest

from integraph import Index, Registers, View, build, segment
from integraph.errors import SpecError
from integraph.gadgets import affine, decay, exp, product, ramp, tanh


def registers() -> tuple[Registers, View, View, View]:
    r = Registers()
    return r, r.inputs("x", 2), r.new("z", 2), r.new("w", 2)


def refused(match: str, *blocks_or_out, out=None) -> None:
    r, *_ = registers()
    with pytest.raises(SpecError, match=match):
        build(r, [segment("first", *blocks_or_out)], out if out is not None else r["z"])


def test_one_writer_unless_all_add() -> None:
    r, x, z, w = registers()
    refused(r"segment 0 'first': register z1 has two writers, one of them exp", affine(z, x), exp(z, x))
    refused("two writers", exp(z, x), decay(z, r=1.0))
    program = build(r, [segment("s", affine(z, x), product(z, x, w), ramp(z, b=1.0))], z)
    assert program([1.0, 2.0]).tolist() == [2.0, 3.0]


def test_operands_are_frozen() -> None:
    _, _, z, w = registers()
    refused(r"affine reads register z1 as 'x' while another flow writes it", affine(w, z), decay(z, r=1.0))
    refused("frozen", exp(z, z))


def test_targets_are_distinct_and_inside() -> None:
    _, x, z, _ = registers()
    refused("lists a register twice", affine(Index([2, 2]), x))
    refused("twice", affine(View(2, (2,), (0,)), x))
    refused(r"uses registers 5 … 6, there are 6", affine(View(5, (2,), (1,)), x))
    refused(r"registers -1 … 0", affine(z, View(-1, (2,), (1,))))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_controls_are_finite(bad: float) -> None:
    r, x, z, _ = registers()
    refused(f"tensor 'w' of affine holds {bad}", affine(z, x, w=np.array([[1.0, bad], [0, 0]])))
    with pytest.raises(SpecError, match="read-out holds"):
        build(r, [], x, [[bad, 1.0]])


def test_controls_made_of_finite_tensors_are_finite() -> None:
    """(a x + b)² has the control a²; rates and scales multiply too."""
    r, x, z, w = registers()
    refused(r"control of registers \(4, 0, 0\) is inf", tanh(z, w, x, a=1e200))
    program = build(r, [segment("s", affine(z, x, w=1e200))], z)
    with pytest.raises(SpecError, match="every control must be finite"):
        program.rescale_time(1e-150)
    with pytest.raises(SpecError, match="every control must be finite"):
        program.rescale_states([1e150, 1e150, 1, 1, 1, 1])
    assert program.rescale_time(1e-50)([1.0, 2.0])[1] == pytest.approx(2e200)


def test_readout_is_reachable_and_fits() -> None:
    r, x, z, w = registers()
    refused(r"uses register w1, which is neither an input nor written", affine(z, x), out=w)
    with pytest.raises(SpecError, match="needs 2 columns"):
        build(r, [], x, np.ones((1, 3)))
    with pytest.raises(SpecError, match="there are 6"):
        build(r, [], View(5, (2,), (1,)))


def test_shapes_of_blocks() -> None:
    _, x, z, w = registers()
    with pytest.raises(SpecError, match=r"tanh\(alpha, lam, x\) takes 3 register views"):
        tanh(z, x)
    with pytest.raises(SpecError, match="must agree"):
        tanh(z, w, x[:1])
    with pytest.raises(SpecError, match="does not broadcast"):
        affine(z, x, w=np.ones((3, 2)))
    with pytest.raises(SpecError, match="takes the tensors"):
        tanh(z, w, x, k=1.0)
    with pytest.raises(SpecError, match="numbers"):
        affine(z, x, w="abc")


def test_segments_and_registers() -> None:
    r = Registers()
    with pytest.raises(SpecError, match="duration must be finite and > 0, got 0"):
        segment("s", duration=0)
    with pytest.raises(SpecError, match="gadget functions"):
        segment("s", 3)
    r.inputs("x", 1)
    r.new("y")
    with pytest.raises(SpecError, match="inputs come first"):
        r.inputs("late", 1)
    with pytest.raises(SpecError, match="names must be new"):
        r.new("x")
    with pytest.raises(SpecError, match="integer ≥ 1"):
        r.new("z", 0)
    with pytest.raises(SpecError, match="the limit is"):
        r.new("z", 2**31)
    with pytest.raises(SpecError, match="there are x, y"):
        r["q"]
    assert [r.name(0), r.name(1)] == ["x", "y"]
