"""`powers`, `spiral` and `power_spiral` in programs: a layer norm, a formula, empty operands, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph import Index, Registers, build, gadgets, load, segment
from integraph.errors import FileError, SpecError
from integraph.program import Block
from integraph.program.document import Limits, decode
from integraph.program.schema import encode


def test_a_layer_norm_on_every_engine(path: Path) -> None:
    """One p for a row, no operand: W, terms, words, file, exact with one and many inputs, taylor, precise."""
    r = Registers()
    p, z = r.inputs("p", 16, 1), r.inputs("z", 16, 32)
    program = build(r, [segment("norm", gadgets.powers(p, z, a=-0.5))], z)
    assert program.terms == 16 + 16 * 32
    assert program.describe() == (
        "p1_1 … p16_1, z1_1 … z16_32  inputs, in properties x0 … x527\n"
        "a                            stored numbers, different in each block\n"
        "\n"
        "segment 0: norm (duration 1)\n"
        "    p' = −p²\n"
        "    z' = (a·p)·z\n"
        "    powers × 512: z(1) = z(0)·(1 + p(0))^a"
    )
    program.save(path)
    again = load(path)
    assert again.digest == program.digest
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(5, 16, 32))
    variance = rows.var(2) + 1e-5
    y = np.concatenate([variance - 1, rows.reshape(5, -1)], 1)
    wanted = (rows / np.sqrt(variance - 1 + 1)[..., None]).reshape(5, -1)
    np.testing.assert_allclose(program(y), wanted, rtol=1e-15)
    np.testing.assert_allclose(again(y[:1]), wanted[:1], rtol=1e-15)
    np.testing.assert_allclose(program(y, engine="taylor"), wanted, rtol=1e-13)
    np.testing.assert_allclose(program(y[:1], engine="precise"), wanted[:1], rtol=1e-15)
    flow = program.flow(y, "exact", states=True)
    np.testing.assert_allclose(flow.states[:, :16], 1 - 1 / variance, rtol=1e-13, atol=1e-15)


def test_a_formula_in_one_run(path: Path) -> None:
    """sin(3x) e^{−y}/(1 + xy) from p = xy, (u, v) = (0, 1), with operands from different places."""
    r = Registers()
    x, p, u, v = r.inputs("x", 2), *(r.inputs(name, 1) for name in ("p", "u", "v"))
    run = gadgets.power_spiral(p, u, v, Index([[1]]), x[:1], a=-1.0, w=-1.0, c=3.0)
    program = build(r, [segment("run", run)], u)
    at = np.random.default_rng(2).uniform(0, 2, (300, 2))
    inputs = np.stack([*at.T, at[:, 0] * at[:, 1], np.zeros(300), np.ones(300)], 1)
    wanted = np.sin(3 * at[:, 0]) * np.exp(-at[:, 1]) / (1 + at[:, 0] * at[:, 1])
    program.save(path)
    for found in (program(inputs), load(path)(inputs), program(inputs[:1])):
        np.testing.assert_allclose(found[:, 0], wanted[: len(found)], rtol=1e-13, atol=1e-15)
    found = program(inputs, engine="taylor")[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=2e-14)  # near 0 as good as the cosine
    assert "e^(w·x2), turned by θ = c·x1, which takes (0, 1) to (sin θ, cos θ)" in program.describe()


@pytest.mark.parametrize("lanes", [(), (2,), (2, 3)])
def test_nothing_in_the_exponent_nor_in_the_angle(lanes: tuple[int, ...], path: Path) -> None:
    """Operands without registers go through spec, file, lowering and engines; without rates nothing moves."""
    r = Registers()
    start = r.inputs("y", 2, *lanes)
    none = start.reshape(start.size)[:0]
    for tensors in ({}, {"d": 0.5}, {"b": 0.5}, {"w": 2.0, "c": np.zeros((*lanes, 0))}):
        block = gadgets.spiral(start[0], start[1], none, none, **tensors)
        program = build(r, [segment("still", block)], start)
        program.save(path)
        y = np.random.default_rng(1).normal(size=(3, start.size))
        z = (y[:, : start.size // 2] * 1j + y[:, start.size // 2 :]) * np.exp(tensors.get("b", 0))
        z = z * np.exp(1j * tensors.get("d", 0.0))
        for engine in ("exact", "taylor", "precise"):
            found = load(path)(y, engine=engine)
            np.testing.assert_allclose(found, np.concatenate([z.imag, z.real], 1), rtol=1e-13, atol=1e-15)


def _views() -> dict[str, Any]:
    r = Registers()
    shapes = {"p": (2,), "z": (3,), "m": (2, 3), "q": (2, 1), "x": (3, 2), "s": (1,)}
    return {name: r.inputs(name, *shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda v: gadgets.powers(v["p"], v["z"]), r"powers needs the tensor 'a': .* broadcasts to \(3, 2\)"),
        (
            lambda v: gadgets.powers(v["p"], v["m"], a=1.0),
            r"p needs the shape rows \+ \(K,\) and z rows \+ \(n,\), got",
        ),
        (lambda v: gadgets.powers(v["s"][0], v["z"], a=1.0), r"got \(\) and \(3,\)"),
        (lambda v: gadgets.powers(v["p"], v["s"][0], a=1.0), r"got \(2,\) and \(\)"),
        (lambda v: gadgets.powers(v["q"], v["m"], a=np.ones(2)), r"tensor 'a' has shape \(2,\), .* \(2, 3, 1\)"),
        (lambda v: gadgets.powers(v["p"], v["z"], a=1.0, b=np.ones(2)), r"tensor 'b' has shape \(2,\), .* \(3,\)"),
        (lambda v: gadgets.powers(v["p"], v["z"], v["x"], a=1.0, w=np.ones(3)), r"tensor 'w' has shape \(3,\)"),
        (lambda v: gadgets.powers(v["p"], v["z"], v["m"], a=1.0), r"operand of shape \(2, 3\) does not broadcast"),
        (lambda v: gadgets.powers(v["p"], v["z"], a=1.0, c=1.0), r"powers takes the tensors \('a', 'w', 'b'\)"),
        (lambda v: gadgets.powers(v["p"], a=1.0), r"powers\(p, z, x\) takes 3 register views .*, got \(View\)"),
        (lambda v: gadgets.spiral(v["z"], v["z"]), r"spiral\(u, v, x, t\) takes 4 register views"),
        (lambda v: gadgets.spiral(v["p"], v["z"], v["x"], v["x"]), r"spiral: u has shape \(2,\), v has \(3,\)"),
        (
            lambda v: Block(gadgets.spiral, (v["z"], v["z"]), (v["x"], v["x"]), {"w": 1.0}),
            "spiral needs the tensor 'c'",
        ),
        (lambda v: Block(gadgets.powers, (v["p"], v["z"]), (v["z"],), {"a": 1.0}), r"needs \(3,\) \+ \(terms,\)"),
    ],
)
def test_misuse_is_refused(make: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make(_views())


def test_operands_must_be_frozen() -> None:
    r = Registers()
    p, z = r.inputs("p", 2), r.inputs("z", 3)
    with pytest.raises(SpecError, match="operands must be frozen"):
        build(r, [segment("run", gadgets.powers(p, z, p, a=1.0))], z)
    with pytest.raises(SpecError, match="has two writers"):
        build(r, [segment("run", gadgets.powers(p, z, a=1.0), gadgets.ramp(z, b=1.0))], z)


def test_a_file_without_weights_is_refused() -> None:
    r = Registers()
    p, z, x = r.inputs("p", 1), r.inputs("z", 1), r.inputs("x", 1)
    document, tensors = encode(build(r, [segment("run", gadgets.powers(p, z, x, a=1.0))], z))
    del document["segments"][0][3][0][3]["w"]
    with pytest.raises(FileError, match="powers needs the tensor 'w'"):
        decode(document, tensors, Limits(100, 100))
