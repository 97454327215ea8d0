"""Programs as functions of jax: values against the exact engine, derivatives against differences and the net in jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import export_programs
import integraph
import transformers
from gadget_cases import CASES, Case
from integraph import Program
from integraph.errors import UsageError
from lazy import Lazy, needs
from slow import mostly_slow

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
pytestmark = needs("jax")
PROGRAMS = ("formula", "wide", "lean", "narrow")


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def free(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters that are variables, not the constants they come as."""
    return {name: jnp.asarray(value) for name, value in params.items()}


def difference(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """The Jacobian by central differences of order six."""
    columns = []
    for k in range(len(x)):
        h = np.eye(len(x))[k] * step
        parts = [w * (function(x + n * h) - function(x - n * h)) for n, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
        columns.append(sum(parts) / (60.0 * step))
    return np.array(columns).T


@mostly_slow("name", PROGRAMS, quick=1)
def test_values_are_those_of_the_exact_engine(name: str) -> None:
    program = export_programs.PROGRAMS[name]()
    x = export_programs.inputs(program, 20)
    function, params = program.to_jax()
    for given in (params, free(params)):
        assert np.abs(function(given, x) - program(x)).max() <= 1e-13
    assert function(params, x[3]).shape == (program.outputs,)


@mostly_slow("case", CASES, quick=1, ids=lambda case: case.name)
def test_every_gadget(case: Case) -> None:
    program = case.program(1.0)
    x = case.inputs(case.draw(np.random.default_rng(1), 1.0, 8))
    function, params = program.to_jax()
    exact = program(x)
    scale = case.scale(program, x.T, exact.T).T
    for given in (params, free(params)):
        assert (np.abs(function(given, x) - exact) <= 1e-13 * np.where(scale == 0, 1.0, scale)).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if "relu" not in c.name], ids=lambda case: case.name)
def test_derivatives_of_every_gadget(case: Case) -> None:
    """First derivatives against differences of the exact engine, second ones against differences of the first; also
    with a register at 0, where closed forms have quotients 0/0 and absolute values."""
    program = case.program(1.0)
    function, params = program.to_jax()
    first = jax.jit(jax.jacrev(lambda x: function(params, x)))
    second = jax.jit(jax.jacfwd(jax.jacrev(lambda x: function(params, x))))
    start, other = case.inputs(case.draw(np.random.default_rng(1), 1.0, 2))
    points = [start] + [other * (np.arange(len(other)) != k) for k in range(len(other))]
    for x in points:
        around = np.concatenate([x + s * np.eye(len(x)) for s in (-3e-3, 3e-3)])
        if not np.isfinite(function(params, np.concatenate([x[None], around]))).all():
            continue  # outside the domain, or at its edge
        jacobian = difference(program, x)
        assert np.abs(first(x) - jacobian).max() <= 1e-8 * max(1.0, np.abs(jacobian).max())
        hessian = difference(lambda x: np.asarray(first(x)).reshape(-1), x).reshape(second(x).shape)
        assert np.abs(second(x) - hessian).max() <= 1e-6 * max(1.0, np.abs(hessian).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["tanh(x)", "softplus(x)", "atan(x) + asinh(x)", "erf(x)*x", "exp(x) - 1", "log(cosh(x))"]
)
def test_derivatives_at_0(text: str) -> None:
    function, params = integraph.compile(text, box=(-1, 1)).to_jax()
    plain = {
        "tanh(x)": lambda x: jnp.tanh(x),
        "softplus(x)": lambda x: jnp.log1p(jnp.exp(x)),
        "atan(x) + asinh(x)": lambda x: jnp.arctan(x) + jnp.log(x + jnp.sqrt(1 + x * x)),
        "erf(x)*x": lambda x: jax.scipy.special.erf(x) * x,
        "exp(x) - 1": lambda x: jnp.exp(x) - 1,
        "log(cosh(x))": lambda x: jnp.log(jnp.cosh(x)),
    }[text]
    ours: Any = lambda x: function(params, jnp.array([x]))[0]  # noqa: E731
    for _ in range(3):
        ours, plain = jax.grad(ours), jax.grad(plain)
        for x in (0.0, -0.0, 1e-9):
            assert abs(float(ours(x)) - float(plain(x))) <= 1e-9


@pytest.mark.slow
def test_gradient_of_the_net_itself() -> None:
    rng = np.random.default_rng(5)
    layers = [(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in ((3, 8), (8, 8), (8, 2))]
    names = ("tanh", "tanh", None)
    network = integraph.network([(*layer, name) for layer, name in zip(layers, names, strict=True)])
    program = integraph.compile(network, method="wide", box=(-1, 1))
    function, params = program.to_jax()

    def net(weights: Any, x: Any) -> Any:
        for (A, b), name in zip(weights, names, strict=True):
            x = A @ x + b
            x = jnp.tanh(x) if name else x
        return x

    x = jnp.asarray(rng.uniform(-1, 1, 3))
    ours = jax.jacrev(lambda x: function(params, x))(x)
    assert np.abs(ours - jax.jacrev(net, 1)(layers, x)).max() <= 1e-12
    gradient = jax.grad(lambda p: function(p, x).sum())(free(params))
    wanted = jax.grad(lambda w: net(w, x).sum())(layers)[1][0]
    (name,) = [name for name in gradient if params[name].shape == (8, 8)]
    assert np.abs(gradient[name] - wanted).max() <= 1e-12


def test_jit_vmap_and_the_pytree() -> None:
    program = export_programs.wide()
    function, params = program.to_jax()
    x = export_programs.inputs(program, 6)
    leaves, tree = jax.tree.flatten(params)
    again = jax.tree.unflatten(tree, leaves)
    outputs = program(x)
    assert np.abs(jax.jit(function)(again, x) - outputs).max() <= 1e-13
    assert np.abs(jax.vmap(lambda row: function(params, row))(x) - outputs).max() <= 1e-13
    assert len(leaves) == len({leaf.ctypes.data for leaf in leaves})  # what is shared comes once


def test_a_shared_tensor_is_one_parameter() -> None:
    registers = integraph.Registers()
    x, y, z = registers.inputs("x", 2), registers.new("y", 2), registers.new("z", 2)
    weights = integraph.gadgets.affine(y, x, w=np.eye(2)).tensors["w"]
    steps = [integraph.segment(n, integraph.gadgets.affine(a, b, w=weights)) for n, a, b in (("1", y, x), ("2", z, y))]
    function, params = integraph.build(registers, steps, z).to_jax()
    assert set(params) == {"s0_b0_affine_w", "readout"}
    twice = {**params, "s0_b0_affine_w": 2.0 * params["s0_b0_affine_w"]}
    assert np.abs(function(twice, np.ones(2)) - 4.0).max() <= 1e-15


def test_the_gradient_at_0() -> None:
    function, params = integraph.compile("tanh(2*x)", box=(-1, 1)).to_jax()
    assert abs(jax.grad(lambda x: function(params, x)[0])(np.zeros(1))[0] - 2.0) <= 1e-15


@pytest.mark.slow
def test_a_transformer() -> None:
    net = transformers.transformer()
    program = integraph.compile(transformers.to_graph(net), box=(-1, 1))
    x = np.random.default_rng(1).uniform(-1, 1, (3, program.inputs))
    function, params = program.to_jax()
    assert np.abs(jax.jit(function)(params, x) - program(x)).max() <= 1e-12


def test_float32() -> None:
    program = export_programs.wide()
    function, params = program.to_jax()
    x = export_programs.inputs(program, 9)
    single = function(params, x.astype(np.float32))
    assert single.dtype == jnp.float32
    assert 0 < np.abs(single - program(x)).max() <= 1e-5


def test_an_escape_is_nan_and_has_no_gradient() -> None:
    program = integraph.compile("x*ln(x)", box=(0.1, 1))
    function, params = program.to_jax()
    outputs = function(params, np.array([[0.5], [-0.5]]))
    assert np.isfinite(outputs[0, 0])
    assert np.isnan(outputs[1, 0])
    assert np.isnan(jax.grad(lambda x: function(params, x)[0])(np.array([-0.5]))).all()


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


def test_what_is_refused() -> None:
    program: Program = export_programs.wide()
    function, params = program.to_jax()
    x = np.zeros((2, program.inputs))
    name = next(iter(params))
    assert "shape" in refused(lambda: function(params, np.zeros((2, 7))))
    assert "all of its names" in refused(lambda: function({}, x))
    assert "keep its shape" in refused(lambda: function({**params, name: np.zeros(3)}, x))
    assert "float32 or float64" in refused(lambda: function(params, x.astype(np.float16)))
    assert "highest" in refused(lambda: program.to_jax("low"))
    with jax.enable_x64(False):
        assert "jax_enable_x64" in refused(lambda: function(params, x))
