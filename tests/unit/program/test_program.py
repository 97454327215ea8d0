"""Program: sizes, vector field, Jacobian, stiffness, trajectories, transformations, what it says about itself."""

import numpy as np
import pytest

from integraph import Program, Registers, build, load, segment
from integraph.errors import IntegraphError, UsageError
from integraph.gadgets import affine, decay, exp, ln, monomial, product, raw, sin_cos, tanh
from lazy import Lazy
from tanh_net import compile_net, evaluate, random_net

integrate = Lazy("scipy.integrate")
RNG = np.random.default_rng(5)


def small() -> tuple[Program, object]:
    """tanh(A x + b), then a product of two of them."""
    A, b = RNG.normal(size=(3, 2)), RNG.normal(size=3)
    r = Registers()
    x, mu, alpha, lam, z = r.inputs("x", 2), r.new("mu", 3), r.new("alpha", 3), r.new("lam", 3), r.new("z")
    segments = [
        segment("affine", affine(mu, x, w=A, b=b), duration=1.0),
        segment("tanh", tanh(alpha, lam, mu)),
        segment("product", product(z, alpha[:1], alpha[1:2])),
    ]

    def true(X: np.ndarray) -> np.ndarray:
        t = np.tanh(X @ A.T + b)
        return t[:, :1] * t[:, 1:2]

    return build(r, segments, z, source="a product of tanhs"), true


def test_sizes_and_repr() -> None:
    program, _ = small()
    assert (program.width, program.depth, program.horizon) == (12, 3, 3.0)
    assert (program.inputs, program.outputs, program.readout.shape) == (2, 1, (1, 12))
    assert program.terms == len(program.controls().value) == 9 + 12 + 1
    text = repr(program.with_errors(proven=1e-6, seen=2.5e-7))
    for part in ("a product of tanhs", "2 → 1", "W = 12", "D = 3", "T = 3", "22 terms", "≤ 1e-06", "2.5e-07"):
        assert part in text
    assert "segment 1: tanh" in program.describe()
    assert "alpha1' = mu1 − alpha1·lam1" in program.describe()
    assert "tanh × 3: from alpha = lam = 0, alpha(1) = tanh mu" in program.describe()


def test_calling() -> None:
    program, true = small()
    X = RNG.uniform(size=(5, 2))
    assert np.allclose(program(X), true(X), rtol=1e-14)
    assert np.array_equal(program(X[0]), program(X)[0])
    assert program(np.zeros((0, 2))).shape == (0, 1)
    for bad, match in (([1.0], "takes"), ("ab", "numbers"), ([np.nan, 1], "component 0 is nan"), ([[[1, 2]]], "takes")):
        with pytest.raises(UsageError, match=match):
            program(bad)
    with pytest.raises(UsageError, match="unknown engine 'magic'"):
        program(X, "magic")
    with pytest.raises(UsageError, match=r"the engine is 0\.8, .* a list of its 2 inputs"):
        program(0.3, 0.8)  # type: ignore[arg-type]


def test_vector_field_is_the_equations() -> None:
    """rhs and Jacobian against the gadget's formulas and finite differences."""
    program, _ = small()
    y = RNG.normal(size=12)
    mu, alpha, lam = y[2:5], y[5:8], y[8:11]
    expected = np.concatenate([np.zeros(5), mu - alpha * lam, mu**2 - lam**2, [0]])
    assert np.allclose(program.rhs(1.5, y), expected, rtol=1e-15)
    assert np.array_equal(program.rhs(1.0, np.stack([y, y]))[1], program.rhs(1.5, y))
    h = 1e-6
    columns = [(program.rhs(1.5, y + h * e) - program.rhs(1.5, y - h * e)) / (2 * h) for e in np.eye(12)]
    assert np.allclose(program.jacobian(1.5, y).toarray(), np.stack(columns, 1), atol=1e-8)
    for call in (lambda: program.rhs(3.5, y), lambda: program.rhs(0, y[:3]), lambda: program.jacobian(0, [y, y])):
        with pytest.raises(UsageError):
            call()


def test_stiffness_is_the_largest_eigenvalue() -> None:
    """By brute force: dense eigenvalues of the Jacobian at the points of the trajectory."""
    r = Registers()
    x, y, u, v = r.inputs("x", 1), r.new("y", 3), r.new("u", 1), r.new("v", 1)
    Q = RNG.normal(size=(3, 4, 4)) * 0.03
    segments = [
        segment("raw", raw(y, x, A=RNG.normal(size=(3, 4)), Q=Q, b=np.ones(3)), duration=0.5),
        segment("turn", sin_cos(u, v, x), decay(y, r=7.0)),
    ]
    program = build(r, segments, y)
    X = np.array([[3.0], [-9.0]])
    largest = 0.0
    for point in X:
        path = program.trajectory(point, points=9)
        for number, middle in enumerate((0.25, 1.0)):
            for state in path.states[8 * number : 8 * number + 9]:
                matrix = program.jacobian(middle, state).toarray()
                largest = max(largest, np.abs(np.linalg.eigvals(matrix)).max())
    assert program.stiffness(X) == pytest.approx(largest, rel=1e-10)
    assert program.stiffness(X) == pytest.approx(9.0)  # the rotation by x = −9
    assert program.rescale_time(1.0).stiffness(X) == pytest.approx(9.0 * 1.5)


def test_trajectory_follows_the_ode() -> None:
    """Against scipy on program.rhs, segment by segment."""
    program, _ = small()
    x = np.array([0.3, -0.8])
    path = program.trajectory(x, points=5)
    y = np.concatenate([x, np.zeros(10)])
    for number in range(3):
        times = path.times[4 * number : 4 * number + 5]
        field = lambda t, y, n=number: program.rhs(n + 0.5, y)  # noqa: E731
        found = integrate.solve_ivp(field, (number, number + 1), y, t_eval=times, rtol=1e-11, atol=1e-13)
        assert np.allclose(found.y.T, path.states[4 * number : 4 * number + 5], rtol=1e-9, atol=1e-11)
        y = found.y[:, -1]
    assert path.switches.tolist() == [0, 1, 2, 3]
    assert path.labels == ("affine", "tanh", "product")
    assert path.names[5] == "alpha1"
    with pytest.raises(UsageError, match="one input"):
        program.trajectory([x, x])


@pytest.mark.parametrize("engine", ["exact", "taylor"])
def test_rescaling_time_changes_nothing_but_rounding(engine: str) -> None:
    program, true = small()
    X = RNG.uniform(-1, 1, size=(20, 2))
    for horizon in (1.0, 0.01, 1e3):
        other = program.rescale_time(horizon)
        assert other.horizon == pytest.approx(horizon, rel=1e-15)
        assert np.allclose(other(X, engine), true(X), rtol=1e-11)
    factor = program.rescale_time(1.0).controls().value / program.controls().value
    assert np.allclose(factor, 3.0, rtol=1e-15)
    with pytest.raises(UsageError, match="finite and > 0, got -1"):
        program.rescale_time(-1)


@pytest.mark.parametrize("engine", ["exact", "taylor"])
def test_reversal_brings_every_state_back(engine: str) -> None:
    program, _ = small()
    X = RNG.uniform(-1, 1, size=(6, 2))
    end = program.flow(X, engine, states=True).check().states
    back = program.reverse()(end, engine)
    assert np.allclose(back[:, :2], X, rtol=1e-11)
    assert np.abs(back[:, 2:]).max() < 1e-11
    twice = program.reverse().reverse()
    assert np.array_equal(twice.controls().value, program.controls().value)


def test_the_inverse_flow_of_lemma_3_divides() -> None:
    r = Registers()
    logs, z = r.inputs("l", 2), r.new("z", 1)
    flow = build(r, [segment("monomial", monomial(z, logs, w=[[2.0, -0.5]], b=[0.25]))], z, source="Lemma 3")
    start = np.array([[np.log(0.5), np.log(0.25), 3.0]])
    factor = np.exp(0.25) * 0.5**2 * 0.25**-0.5
    assert flow.reverse()(start)[0, 2] == pytest.approx(3.0 / factor, rel=1e-15)


@pytest.mark.parametrize("engine", ["exact", "taylor", "oracle"])
def test_rescaling_states(engine: str) -> None:
    """The same function; the states of eq. (1) are y / s, and the terms say so."""
    program, true = small()
    s = np.exp(RNG.normal(size=12))
    s[:2] = 1.0
    scaled = program.rescale_states(s)
    X = RNG.uniform(-1, 1, size=(4, 2))
    assert np.allclose(scaled(X, engine), true(X), rtol=1e-9 if engine == "oracle" else 1e-12)
    states, others = (p.flow(X, engine, states=True).check().states for p in (program, scaled))
    assert np.allclose(others * s, states, rtol=1e-9, atol=1e-12)
    assert np.allclose(scaled.rhs(1.2, others[0]), program.rhs(1.2, others[0] * s) / s, rtol=1e-12)
    assert np.allclose(scaled.rescale_states(1 / s)(X), true(X), rtol=1e-13)
    s[0] = 4.0  # the input in units of 4
    assert np.allclose(program.rescale_states(s)(X / [4.0, 1.0], engine), true(X), rtol=1e-9)
    with pytest.raises(UsageError, match="> 0, got -1"):
        program.rescale_states(-1.0)


@pytest.mark.parametrize("engine", ["exact", "taylor"])
def test_then_composes(engine: str) -> None:
    program, true = small()
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    r_exp = build(r, [segment("one", affine(z, x, w=[[0.0]], b=[1.0])), segment("exp", exp(z, x))], z, [[2.0]])
    X = RNG.uniform(-1, 1, size=(4, 2))
    both = program.then(r_exp)
    assert (both.width, both.depth) == (14, 3 + 1 + 2)
    assert np.allclose(both(X, engine), 2 * np.exp(true(X)), rtol=1e-11)
    scaled = program.rescale_states(2.0).then(r_exp.rescale_states(4.0))
    assert np.allclose(scaled(X / 2.0, engine), 2 * np.exp(4 * true(X)), rtol=1e-10)
    with pytest.raises(UsageError, match="has 1 output, the second takes 2 inputs"):
        program.then(program)


def test_a_net_by_hand_equals_numpy() -> None:
    layers, readout = random_net((3, 16, 16, 2), seed=3)
    program = compile_net(layers, readout)
    X = RNG.uniform(-1, 1, size=(300, 3))
    assert np.abs(program(X) - evaluate(layers, readout, X)).max() < 1e-13
    assert (program.width, program.depth) == (48, 6)


def test_flow_options() -> None:
    program, _ = small()
    for option in ({"rtol": 0.0}, {"rtol": np.nan}, {"max_steps": 0}, {"threads": 0}, {"times": (9.0,)}):
        with pytest.raises(UsageError):
            program.flow([0.1, 0.2], **option)
    r = Registers()
    p, z = r.inputs("p", 1), r.new("z", 1)
    raw_program = build(r, [segment("free", raw(z, p, b=[1.0]))], z)
    with pytest.raises(UsageError, match="no closed form"):
        raw_program([1.0], "exact")
    assert raw_program([1.0])[0] == pytest.approx(1.0)  # the default engine is the first that can
    assert build(r, [segment("ln", ln(p, z))], z)([[1.0]]).shape == (1, 1)


def test_mistakes_are_named() -> None:
    """What a hurried user writes: an IntegraphError that says what was wrong, never a bare Python error."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    s = segment("copy", affine(z, x))
    program = build(r, [s], z)
    for call, match in (
        (lambda: segment(affine(z, x)), "begins with its label"),
        (lambda: build(r, s, z), "list of segment"),
        (lambda: build(r, [affine(z, x)], z), "list of segment"),
        (lambda: build(r, [s], [z]), "view of registers"),
        (lambda: build("r", [s], z), "registers must be a Registers, got 'r'"),
        (lambda: raw(z, A=[[1.0]], q=3), r"not \['q'\]"),
        (lambda: affine(z, x, w=1j), "complex"),
        (lambda: program.then("x"), "takes a program"),
        (lambda: program([1.0], rtol="a"), "rtol = 'a'"),
        (lambda: program.flow([1.0], threads=0), "threads = 0"),
        (lambda: program.flow([1.0], times=["a"]), "times must be numbers"),
        (lambda: load(3), "a path must be a string"),
        (lambda: z[5], "view of shape"),
        (lambda: z.reshape(3), "view of shape"),
    ):
        with pytest.raises(IntegraphError, match=match):
            call()


def test_what_things_say_about_themselves() -> None:
    program, _ = small()
    times = np.linspace(0, 3, 7)
    flow = program.flow([0.1, 0.2], times=times)  # any array of times
    assert flow.path.shape == (1, 7, 12)
    assert repr(flow) == "Flow by exact: 1 input, 1 output each, all reached the end"
    assert repr(program.trajectory([0.1, 0.2])) == "Trajectory of 12 registers at 97 times, 0 … 3"
    assert repr(tanh) == "<gadget tanh(alpha, lam, x)>"
    assert "Lemma 1" in tanh.__doc__
    assert repr(program.registers).startswith("Registers: W = 12, of them 2 inputs: x [2], mu [3]")
    assert "adds Σ w·x + b to mu" in program.describe()
    back = program.rescale_time(1.5).reverse()
    assert "(duration 0.5, right-hand sides × -2)" in back.describe()
    assert back.reverse().source == program.source
    r = Registers()
    y = r.inputs("y", 3)
    A, Q = np.diag([-10.0, -1.0, -8 / 3]), np.zeros((3, 3, 3))
    A[0, 1], A[1, 0], Q[1, 0, 2], Q[2, 0, 1] = 10.0, 28.0, -1.0, 1.0
    lorenz = build(r, [segment("Lorenz", raw(y, A=A, Q=Q))], y)
    assert "    y1' = −10·y1 + 10·y2\n    y2' = 28·y1 − y2 − y1·y3\n" in lorenz.describe()
