"""Every gadget on every engine; what a gadget refuses; what it says about itself."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gadget_cases import CASES, Case
from integraph import Index, Registers, Status, build, gadgets, segment
from integraph.errors import SpecError
from integraph.gadgets.gadget import arguments
from integraph.program import operations
from mp_taylor import flow
from named_functions import NAMED, Named
from slow import mostly_slow

# relative errors; DOP853 takes no tolerance below 2.3e-14 a step, and its steps add up
ACCURACY = {"exact": 1e-13, "taylor": 1e-13, "oracle": 2e-12}


def test_every_gadget_has_a_case() -> None:
    assert {case.gadget.name for case in CASES} | {"raw", "low_rank"} >= {op.name for op in operations()}


@pytest.mark.parametrize("t", [1.0, -0.7])
@mostly_slow("case", CASES, quick=2, ids=lambda case: case.name)
def test_engines_agree_with_mpmath(case: Case, t: float) -> None:
    """Random starts, every register an input: closed form = taylor = DOP853 = 50 digits."""
    program = case.program(t)
    starts = case.inputs(case.draw(np.random.default_rng(23), t, 2))
    wanted = [np.array([float(v) for v in flow(program, start)]) for start in starts]
    for engine, accuracy in ACCURACY.items():
        found = program.flow(starts, engine, rtol=1e-15).check().outputs
        for start, end, truth in zip(starts, found, wanted, strict=True):
            error = np.abs(end - truth) / np.maximum(case.scale(program, start, truth), 1e-300)
            assert error.max() <= accuracy, (engine, start, end, truth)


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_extreme_arguments_on_the_exact_engine(named: Named) -> None:
    """No warning, no NaN, no plausible number: an input fails exactly where a register overflows."""
    case = Case(named.name, named.gadget, lambda *_: {}, tensors=named.tensors)
    roles = named.gadget.targets + named.gadget.operands
    sizes = (0.0, 1e-300, 1e-8, 1.0, 700.0, 1e3, 1e150)
    xs = [sign * size for size in sizes for sign in (1, -1) if named.allowed(sign * size)]
    starts = np.array([[named.start(x).get(role, 0.0) for role in roles] for x in xs])
    program = case.program(1.0)
    ends, _ = case.closed(program, starts)
    result = program.flow(starts, "exact")
    failed = {failure.input: failure.status for failure in result.failures}
    for row, (end, output) in enumerate(zip(ends, result.outputs, strict=True)):
        if np.isfinite(end).all():
            assert row not in failed
            assert output == pytest.approx(end, rel=1e-14, abs=0.0)
        else:
            assert failed[row] is Status.OVERFLOWED
            assert np.isnan(output).all()


@mostly_slow("case", CASES, quick=15, ids=lambda case: case.name)
def test_words(case: Case) -> None:
    """One line that names the gadget and what comes out at time 1, and the derivative of every target."""
    (block,) = case.program(1.0).segments[0].blocks
    text = case.gadget.words(block)
    assert re.match(rf"{case.gadget.name}( × \d+)?[,:] ", text)
    assert "(1) = " in text or ": adds " in text
    assert [target for target, _ in case.gadget.derivatives(block)] == list(case.gadget.targets)
    assert "  " not in text
    assert "\n" not in text


def test_words_of_lemma_1() -> None:
    r = Registers()
    x, alpha, lam = (r.inputs(name, 3) for name in ("x", "alpha", "lam"))
    assert gadgets.tanh.words(gadgets.tanh(alpha, lam, x, a=2.0)) == (
        "tanh × 3: from alpha = lam = 0, alpha(1) = tanh x with a·x in place of x"
    )
    derivatives = gadgets.tanh.derivatives(gadgets.tanh(alpha, lam, x))
    assert derivatives == [("alpha", "x − alpha·lam"), ("lam", "x² − lam²")]


def test_leaky_relu_is_close_to_the_function() -> None:
    """0.2785/|k|, where |Kx| = 1.278, and nowhere more."""
    r = Registers()
    s, x = r.inputs("s", 1), r.inputs("x", 1)
    at = np.concatenate([np.linspace(-50, 50, 20001), [0.0]])
    for k, c in ((2.0, 0.01), (30.0, 0.3), (30.0, -1.0), (-5.0, 1.5), (-0.1, 40.0)):
        program = build(r, [segment("leaky", gadgets.leaky_relu(s, x, k=k, c=c))], s)
        error = program(np.stack([(1 + c) / 2 * at, at], 1))[:, 0] - np.where(at > 0, at, c * at)
        assert 0.277 < np.abs(error).max() * abs(k) < 0.2785


def test_a_control_of_four_factors_is_looked_at() -> None:
    """k·c·a² overflows though every tensor is far from it."""
    r = Registers()
    s, x = r.inputs("s", 1), r.inputs("x", 1)
    with pytest.raises(SpecError, match="every control must be finite"):
        build(r, [segment("leaky", gadgets.leaky_relu(s, x, k=1e80, c=1e80, a=1e80))], s)


def test_words_of_banks() -> None:
    r = Registers()
    x, z = r.inputs("x", 3), r.new("z", 2, 4)
    assert gadgets.drain.words(gadgets.drain(z, x, w=np.ones((2, 4, 3)), r=40.0)).startswith(
        "drain, 3 registers into 2 × 4: z(1) = z(0) + w·x(0) while x decays at rate r = 40"
    )


def test_arguments_follow_the_block() -> None:
    """Views, index arrays, tensors with the inputs' axis, and the affine operand."""
    r = Registers()
    x, alpha, lam = r.inputs("x", 2, 3), r.new("alpha", 2, 3), r.new("lam", 2, 3)
    a, b = np.array([[2.0], [3.0]]), np.array([1.0, 10.0, 100.0])
    states = np.arange(18 * 4.0).reshape(18, 4)
    (alpha_, lam_), (x_,), tensors = arguments(gadgets.tanh(alpha, lam, x, a=a, b=b), states)
    assert alpha_.shape == lam_.shape == x_.shape == (2, 3, 4)
    assert np.shares_memory(alpha_, states)
    assert (x_ == a[..., None] * states[:6].reshape(2, 3, 4) + b[:, None]).all()
    assert tensors["a"].shape == (2, 1, 1)
    flipped = Index(np.array([5, 4]))
    _, (gathered,), weights = arguments(gadgets.affine(alpha[0, :2], flipped, w=np.eye(2)), states)
    assert gathered.shape == (2, 2, 4)
    assert (gathered[0] == states[[5, 4]]).all()
    assert weights["w"].shape == (2, 2, 1)
    _, (), ramp = arguments(gadgets.ramp(alpha, b=b), states)
    assert ramp["b"].shape == (3, 1)


def _registers() -> dict[str, Any]:
    r = Registers()
    shapes = {"x": (3,), "y": (3,), "z": (3,), "m": (2, 3), "r": (2,)}
    return {name: r.inputs(name, *shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda v: gadgets.power(v["x"], v["y"]), "power needs the tensor 'a': give a=… as a number"),
        (lambda v: gadgets.relu(v["x"], v["y"]), r"relu needs the tensor 'k': .* broadcasts to \(3,\)"),
        (lambda v: gadgets.leaky_relu(v["x"], v["y"], k=1.0), "leaky_relu needs the tensor 'c'"),
        (lambda v: gadgets.relax(v["x"], r=1.0), "relax needs the tensor 'v': give v=… as a number"),
        (lambda v: gadgets.decay(v["x"]), "decay needs the tensor 'r'"),
        (lambda v: gadgets.ramp(v["x"]), "ramp needs the tensor 'b'"),
        (
            lambda v: gadgets.drain(v["x"], v["y"], r=1.0),
            r"drain needs the tensors w, of shape \(3, 3\), and r, .*: w is missing",
        ),
        (lambda v: gadgets.decay(v["x"], r=[1.0, 2.0]), r"decay: tensor 'r' has shape \(2,\), .* to \(3,\): give"),
        (lambda v: gadgets.exp(v["x"], v["y"], k=1.0), r"exp takes the tensors \('a', 'b'\), not \['k'\]"),
        (lambda v: gadgets.exp(v["x"], v["m"]), r"exp: 'x' has shape \(2, 3\), 'z' has \(3,\): they must agree"),
        (lambda v: gadgets.exp(v["x"]), r"exp\(z, x\) takes 2 register views .*, got \(View\)"),
        (lambda v: gadgets.exp(v["x"], np.zeros(3)), r"exp\(z, x\) takes 2 register views .*, got \(View, ndarray\)"),
        (lambda v: gadgets.affine(v["x"], 3.0), r"affine\(z, x\) takes 2 register views .*, got \(View, float\)"),
        (lambda v: gadgets.product(v["x"], v["y"]), r"product\(z, x, v\) takes 3 register views"),
        (lambda v: gadgets.monomial(v["x"]), r"monomial\(z, l\) takes 2 register views"),
        (lambda v: gadgets.affine(v["x"], v["y"], w=np.ones((3, 4))), r"affine: tensor 'w' has shape \(3, 4\)"),
        (lambda v: gadgets.affine(v["x"], v["y"], w=np.eye(3), b=np.ones(2)), r"affine: tensor 'b' has shape \(2,\)"),
        (lambda v: gadgets.affine(v["x"], v["r"]), r"operand of shape \(2,\) does not broadcast to \(3,\)"),
        (lambda v: gadgets.product(v["x"], v["m"], v["r"]), r"product: x has shape \(2, 3\) and v \(2,\)"),
        (lambda v: gadgets.softmax(v["m"], v["m"], v["x"], v["m"]), "m needs rows; got"),
        (lambda v: gadgets.drain(v["x"], v["m"], w=1.0, r=1.0), r"x must be one-dimensional, got shape \(2, 3\)"),
        (lambda v: gadgets.drain(v["m"], v["x"], w=np.eye(3), r=1.0), r"w has shape \(3, 3\), needs \(2, 3, 3\)"),
        (lambda v: gadgets.drain(v["m"], v["x"], w=np.ones((2, 3, 3)), b=np.ones(2), r=1.0), "tensor 'b' has shape"),
        (lambda v: gadgets.drain(v["r"], v["x"], w=np.eye(3), r=1.0), r"w has shape \(3, 3\), needs \(2, 3\)"),
        (lambda v: gadgets.drain(v["r"], v["x"], w=np.ones((2, 3)), r=[1.0]), "tensor 'r' has shape"),
        (lambda v: gadgets.tanh(v["x"], v["y"], v["z"], a="two"), "a tensor must be numbers"),
    ],
)
def test_misuse_is_refused(make: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make(_registers())
