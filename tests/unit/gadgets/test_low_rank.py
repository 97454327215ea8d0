"""The low-rank block: its terms, its flow from the factors and from the terms, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from integraph import Index, Program, Registers, Segment, build, load, segment
from integraph.errors import SpecError
from integraph.flow.taylor.factors import factored
from integraph.gadgets import low_rank, raw, tanh
from integraph.program import ONE, Block
from mp_taylor import integrate

RNG = np.random.default_rng(5)


def draw(m: int, n: int, r: int, size: float = 0.4) -> dict[str, np.ndarray]:
    shapes = {"U": (m, r), "V1": (r, n), "V2": (r, n), "A": (m, n), "b": (m,)}
    return {name: size * RNG.normal(size=shape) for name, shape in shapes.items()}


def dense_q(tensors: dict[str, np.ndarray]) -> np.ndarray:
    return np.einsum("is,sj,sk->ijk", tensors["U"], tensors["V1"], tensors["V2"])


def program(tensors: dict[str, np.ndarray], block: Any = low_rank, depth: int = 2) -> Program:
    """Three inputs that stand still, four registers that move."""
    r = Registers()
    x, y = r.inputs("x", 3), r.new("y", 4)
    return build(r, [segment(f"s{n}", block(y, x, **tensors), duration=0.8) for n in range(depth)], y)


def truth(tensors: dict[str, np.ndarray], x: np.ndarray, depth: int = 2) -> np.ndarray:
    """mpmath from the unrounded products of the factors, at 50 digits."""
    m, n = tensors["A"].shape
    z = [*range(3, 3 + m), *range(3)]
    with mp.workdps(50):
        terms = [(z[i], ONE, ONE, mpf(tensors["b"][i])) for i in range(m)]
        terms += [(z[i], ONE, z[j], mpf(tensors["A"][i, j])) for i in range(m) for j in range(n)]
        U, V1, V2 = (tensors[name].astype(object) * mpf(1) for name in ("U", "V1", "V2"))
        for i, j, k in np.ndindex(m, n, n):
            terms.append((z[i], z[j], z[k], sum((U[i, s] * V1[s, j] * V2[s, k] for s in range(U.shape[1])), mpf(0))))
        y: list[Any] = [*x, *[0.0] * m]
        for _ in range(depth):
            y = integrate(terms, y, 0.8, digits=30, order=24, tolerance=1e-20)
        return np.array([float(v) for v in y[3:]])


@pytest.mark.slow
def test_engines_agree_with_mpmath_at_the_factors() -> None:
    tensors, x = draw(4, 7, 3), RNG.uniform(-1, 1, 3)
    p, wanted = program(tensors), truth(tensors, x)
    for engine, accuracy in {"taylor": 1e-13, "oracle": 2e-12}.items():
        assert np.abs(p(x, engine=engine) / wanted - 1).max() < accuracy


@pytest.mark.parametrize("rank", [0, 1, 3, 27, 28, 40])
def test_the_flow_is_that_of_the_terms(rank: int) -> None:
    """Below 28 = 7·8/2 products from the factors, else and for rank 0 from the terms."""
    tensors, x = draw(4, 7, rank, 0.2), RNG.uniform(-1, 1, (40, 3))
    p = program(tensors)
    assert factored(p.segments[0].blocks[0]) == (0 < rank < 28)
    same = program({"A": tensors["A"], "b": tensors["b"], "Q": dense_q(tensors)}, raw)
    assert np.allclose(p.flow(x, "taylor").check().outputs, same(x, engine="taylor"), rtol=1e-12, atol=1e-13)


def test_beside_other_blocks_and_in_other_units() -> None:
    """A gadget in the same segment, forms that are used twice, squares, rescaled time and states, the inverse flow."""
    r = Registers()
    x, y, alpha, lam = r.inputs("x", 3), r.inputs("y", 4), r.new("alpha", 3), r.new("lam", 3)
    tensors = draw(4, 7, 4)
    tensors["V1"][1], tensors["V2"][2], tensors["V1"][3] = tensors["V1"][0], tensors["V1"][0], tensors["V2"][3]
    p = build(r, [segment("both", low_rank(y, x, **tensors), tanh(alpha, lam, x))], Index(np.arange(3, 10)))
    points = RNG.uniform(-1, 1, (20, 7))
    found = p.flow(points, "taylor").check().outputs
    assert np.allclose(found[:, 4:], np.tanh(points[:, :3]), rtol=1e-13, atol=0)
    alone = build(r, [segment("one", raw(y, x, Q=dense_q(tensors), A=tensors["A"], b=tensors["b"]))], y)
    assert np.allclose(found[:, :4], alone(points, engine="taylor"), rtol=1e-12, atol=1e-13)
    scales = np.exp(RNG.normal(size=p.width))
    other = p.rescale_states(scales).rescale_time(0.25)
    assert np.allclose(other.flow(points / scales[:7], "taylor").check().outputs, found, rtol=1e-12, atol=1e-13)
    whole = p.flow(points, "taylor", states=True).check().states
    assert whole is not None
    back = p.reverse().flow(whole, "taylor").check().outputs
    assert np.allclose(back[:, :7], points, rtol=1e-11, atol=1e-12)


def test_the_terms_come_in_bounded_batches() -> None:
    """Register by register where all terms together are more than a batch."""
    p = program(draw(4, 7, 2), depth=1)
    whole = p.controls()
    assert p.terms == len(whole.value) == 4 * (1 + 7 + 28)
    pieces = list(p.segment_terms(0, 40))
    assert [len(part) for part in pieces] == [36] * 4
    assert np.array_equal(np.concatenate([part.value for part in pieces]), whole.value)


def test_only_what_the_factors_read_has_terms() -> None:
    """Zero rows of U, zero columns of both V."""
    tensors = draw(4, 7, 2)
    tensors["U"][2] = 0.0
    tensors["V1"][:, [0, 5]] = tensors["V2"][:, [0, 5]] = 0.0
    p = program({name: tensors[name] for name in ("U", "V1", "V2")}, depth=1)
    assert p.terms == 3 * 15
    assert p.segments[0].blocks[0].op.per_lane(p.segments[0].blocks[0], 0).tolist() == [15, 15, 0, 15]


def test_a_file_stores_the_factors_once(tmp_path: Path) -> None:
    tensors = draw(4, 7, 2)
    r = Registers()
    x, y = r.inputs("x", 3), r.new("y", 4)
    block = low_rank(y, x, **tensors)
    p = build(r, [Segment("twice", (block,)), Segment("again", (block,))], y)
    p.save(tmp_path / "p.safetensors")
    again = load(tmp_path / "p.safetensors")
    assert again.digest == p.digest
    first, second = (s.blocks[0].tensors for s in again.segments)
    assert all(first[name] is second[name] and np.array_equal(first[name], tensors[name]) for name in tensors)
    assert np.array_equal(again([0.1, 0.2, 0.3]), p([0.1, 0.2, 0.3]))


def test_words() -> None:
    r = Registers()
    y = r.inputs("y", 2)
    block = low_rank(y, U=np.ones((2, 1)), V1=np.ones((1, 2)), V2=np.ones((1, 2)))
    assert low_rank.words(block) == "low_rank, 2 registers, rank 1: a quadratic right-hand side in factors"
    assert low_rank.derivatives(block) == [("y", "U((V1·y) ∘ (V2·y))")]
    text = program(draw(4, 7, 2)).describe()
    assert "A, U, V1, V2, b  stored numbers" in text
    assert "y' = b + A·(y, x) + U((V1·(y, x)) ∘ (V2·(y, x)))" in text


def _block(**changes: Any) -> Block:
    r = Registers()
    x, y = r.inputs("x", 3), r.new("y", 4)
    return low_rank(y, x, **(draw(4, 7, 2) | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"U": None}, "low_rank needs the tensors U .*: U is missing"),
        ({"V2": None}, "V2 is missing"),
        ({"U": np.ones((3, 2))}, r"U has shape \(3, 2\), needs \(4, r\)"),
        ({"U": np.ones(4)}, r"U has shape \(4,\)"),
        ({"V1": np.ones((2, 4))}, r"V1 has shape \(2, 4\), needs \(2, 7\): the rank is 2, y has 4 registers and x 3"),
        ({"V2": np.ones((3, 7))}, r"V2 has shape \(3, 7\), needs \(2, 7\)"),
        ({"A": np.ones((4, 4))}, r"A has shape \(4, 4\), needs \(4, 7\)"),
        ({"b": 1.0}, r"b has shape \(\), needs \(4,\)"),
        ({"Q": np.ones((4, 7, 7))}, r"low_rank takes the tensors .*, not \['Q'\]"),
    ],
)
def test_misuse_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        _block(**changes)


def test_other_misuse() -> None:
    r = Registers()
    y, square = r.inputs("y", 4), r.inputs("square", 2, 2)
    with pytest.raises(SpecError, match=r"must be one-dimensional, got shapes \(2, 2\)"):
        low_rank(square, y, **draw(4, 8, 1))
    with pytest.raises(SpecError, match="holds nan"):
        build(r, [segment("s", low_rank(y, **(draw(4, 4, 1) | {"b": [0.0, np.nan, 0.0, 0.0]})))], y)
    with pytest.raises(SpecError, match="every control must be finite"):
        build(r, [segment("s", low_rank(y, **(draw(4, 4, 1) | {"U": [[1e200]] * 4, "V1": [[1e200] * 4]})))], y)
