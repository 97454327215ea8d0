"""certify, check and compare in Python find the source of a program as the command does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import FileError, UsageError
from lazy import Lazy

nn = Lazy("torch.nn")


def test_the_formula_of_a_program_is_recalled(tmp_path: Path) -> None:
    integraph.compile("exp(-a*x)", parameters={"a": 3}).save(tmp_path / "bell.integraph")
    program = integraph.load(tmp_path / "bell.integraph")
    proof = integraph.certify(program)
    assert (proof.status, proof.proven) == ("proved", integraph.certify(program, "exp(-3*x)").proven)
    checked = integraph.check(proof, program)
    assert checked.holds
    assert not integraph.check(proof, program, "exp(-3.0001*x)").holds
    assert integraph.compare(program, None, [0.5]).largest < 1e-15


@pytest.mark.parametrize("call", ["certify", "check", "compare"])
def test_a_net_is_not_recalled(call: str) -> None:
    net = integraph.network([([[1.0]], [0.0], "tanh")])
    program = integraph.compile(net)
    proof = integraph.certify(program, net)
    ask: Any = {
        "certify": lambda: integraph.certify(program),
        "check": lambda: integraph.check(proof, program),
        "compare": lambda: integraph.compare(program, None, [0.5]),
    }[call]
    with pytest.raises(
        UsageError, match=r"stores only the name of its source.*: give the source too, after the program"
    ):
        ask()


def test_a_fit_to_data_is_not_sent_for_its_rows() -> None:
    x = np.linspace(0, 1, 20)
    program = integraph.compile((x[:, None], x * x))
    with pytest.raises(UsageError, match=r"give the source too, .*; data can be compared, a proof takes a formula$"):
        integraph.certify(program)
    assert integraph.certify(program, "x*x", 1e-3).status == "proved"


def test_names_and_values_of_a_formula() -> None:
    """y comes first: x/y is (second input)/(first input)."""
    options: dict[str, Any] = {"variables": "y x", "parameters": {"c": "1/3"}}
    program = integraph.compile("x/(y + 1) + c", **options)
    proof = integraph.certify(program, "x/(y + 1) + c", **options)
    assert proof.status == "proved"
    assert integraph.check(proof, program, "x/(y + 1) + c", **options).holds
    assert integraph.compare(program, "x/(y + 1) + c", [[0.5, 0.25]], **options).largest < 1e-15
    assert integraph.certify(program, "x/(y + 1) + 1/3", variables="x y").status == "refuted"


@pytest.mark.parametrize("option", [{"variables": "y"}, {"inputs": 1}, {"parameters": {"a": 1}}], ids=str)
def test_options_without_a_source(option: dict[str, Any]) -> None:
    program = integraph.compile("x")
    (name,) = option
    with pytest.raises(UsageError, match=f"{name} = .*: it says how to read the source, but there is none"):
        integraph.certify(program, **option)


@pytest.mark.slow
def test_a_module_whose_weights_do_not_tell_its_inputs() -> None:
    model = nn.Sequential(nn.Tanh(), nn.Flatten(), nn.Linear(6, 2)).double()
    program = integraph.compile(model, inputs=(2, 3))
    assert integraph.compare(program, model, np.full((1, 6), 0.3), inputs=(2, 3)).largest < 1e-6
    assert integraph.certify(program, model, inputs=(2, 3)).status == "proved"


def test_the_certificate_comes_first() -> None:
    program = integraph.compile("x")
    with pytest.raises(UsageError, match="the certificate comes first: check"):
        integraph.check(program, integraph.certify(program))  # type: ignore[arg-type]


def test_a_function_without_a_proof_is_not_called() -> None:
    """It is tried at five points, to know how to call it."""
    points = 0

    def f(x: np.ndarray) -> np.ndarray:
        nonlocal points
        points += np.size(x)
        return np.sin(3 * x)

    program = integraph.compile(f, 1e-3)
    points = 0
    proof = integraph.certify(program, f)
    assert (proof.status, points) == ("unknown", 5 + 1 + 1)
    assert "give a formula" in proof.reason


def test_points_of_another_shape() -> None:
    program = integraph.compile("x + y*z")
    with pytest.raises(UsageError, match=r"flatten them, as x.reshape\(2, 3\)"):
        program(np.zeros((2, 3, 1)))


def test_files_of_programs_serve_as_programs(tmp_path: Path) -> None:
    path = tmp_path / "bell.integraph"
    program = integraph.compile("x*exp(-x^2)", box=(-2, 2))
    program.save(path)
    renamed = tmp_path / "bell.safetensors"
    renamed.write_bytes(path.read_bytes())
    for file in (path, str(path), renamed):
        assert (integraph.bound(file, (-2, 2)).high == integraph.bound(program, (-2, 2)).high).all()
    proof = integraph.certify(path)
    assert proof.status == "proved"
    assert integraph.check(proof, str(path))
    assert integraph.compare(path, None, [0.5]).largest < 1e-15
    of_program = integraph.prove("y0 <= 0.5", path)
    assert of_program.status == "proved"
    assert integraph.check(of_program, path)
    for wrong in (lambda: integraph.compile(path), lambda: integraph.bound(tmp_path / "none.integraph")):
        with pytest.raises(FileError, match=r"compiled program|cannot read"):
            wrong()


def test_the_order_of_arguments(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the property comes first: prove\(property, source, box\)"):
        integraph.prove("tanh(x)", "y0 <= 1")
    with pytest.raises(UsageError, match="a network: the proof comes first"):
        integraph.check(tmp_path / "net.onnx", "tanh(x)")
