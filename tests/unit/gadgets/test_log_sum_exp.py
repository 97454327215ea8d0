"""ln Σ exp and the logarithm of a softmax, from the gadget to graphs, against mpmath with 60 digits.

ln(softmax) loses all digits where scores lie 40 apart, and has no value from 745 on.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph import Registers, build, segment
from integraph.errors import SourceError, SpecError
from integraph.gadgets import affine, log_sum_exp
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from law import examples
from slow import mostly_slow

FREES = ("keep", "clean", "decay")
GAPS = (0.0, 1e-9, 1.0, 20.0, 29.0, 40.0, 50.0, 800.0, 1e3, 1e4, 1e8)
U = 2.0**-53
MASK = np.array([True, False, True, True, False])


def total(scores: Any) -> Any:
    with mpmath.workdps(60):
        return mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(float(x))) for x in scores))


def log_shares(scores: Any) -> list[Any]:
    with mpmath.workdps(60):
        return [mpmath.mpf(float(x)) - total(scores) for x in scores]


def worst(found: Any, wanted: Any) -> float:
    """The largest difference, in many digits."""
    with mpmath.workdps(60):
        pairs = zip(np.ravel(found), np.ravel(wanted), strict=True)
        return float(max(abs(mpmath.mpf(float(a)) - b) for a, b in pairs))


def rows(gap: float, n: int) -> np.ndarray:
    """A row with one score far above, one far below, and one with equal scores."""
    x = gap * np.random.default_rng(n).uniform(-0.5, 0.5, (3, n))
    x[0, 0], x[1, -1], x[2] = gap, -gap, gap
    return x


def program(n: int, c: float | None = None) -> integraph.Program:
    """The gadget with its start: c = −mean(s), or a number."""
    r = Registers()
    s, l, u, m, shift = r.inputs("s", n), r.new("l"), r.new("u", n), r.new("m"), r.new("c")
    mean = np.full(n, 1 / n)
    loads = [affine(shift[0], s, w=-mean if c is None else 0 * mean, b=None if c is None else c)]
    loads += [affine(l[0], shift[0], w=-1.0, b=np.log(n)), affine(u, s, w=1 / n)]
    more = [affine(u, shift[0].broadcast((n,)), w=1 / n), affine(m[0], s, w=mean), affine(m[0], shift[0])]
    start = [segment("c", loads[0]), segment("start", *loads[1:], *more)]
    return build(r, [*start, segment("ln Σ exp", log_sum_exp(l[0], u, m[0], s, shift[0]))], l)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@mostly_slow("gap", GAPS, quick=4)
def test_the_gadget(n: int, gap: float) -> None:
    """Good to a few ulp of the largest score, whatever lies how far apart; integrated as well as by its closed form."""
    built = program(n)
    for row in rows(gap, n):
        for engine in ("exact", "precise", *(("taylor", "oracle") if gap <= 50 and n < 100 else ())):
            close = 1e-9 if engine == "oracle" else 1e-12 if engine == "taylor" else 8 * U
            assert worst(built(row, engine), [total(row)]) <= close * (gap + n), engine


def test_the_gadget_with_another_shift() -> None:
    row = np.array([1.0, -2.0, 0.5])
    for c in (2.0, 0.0, 30.0):
        for engine in ("exact", "taylor"):
            assert worst(program(3, c)(row, engine), [total(row)]) <= 1e-13, (c, engine)


def test_its_shapes_are_checked() -> None:
    r = Registers()
    s, c = r.inputs("s", 2, 3), r.inputs("c", 2)
    l, u, m = r.new("l", 2), r.new("u", 2, 3), r.new("m", 2)
    assert "2 rows of 3" in log_sum_exp(l, u, m, s, c).op.words(log_sum_exp(l, u, m, s, c))
    for refs in ((u, u, m, s, c), (l, u, l[0], s, c), (l, u, m, s[0], c), (l, u, m, s, u), (l, l, m, c, c)):
        with pytest.raises(SpecError, match="log_sum_exp: "):
            log_sum_exp(*refs)


def graph_of(n: int, masked: bool = False) -> Graph:
    """x ↦ (log_softmax(x), ln Σ exp(x)), over all entries or over those of the mask."""
    b = Builder("rows")
    x = b.input("x", (n,))
    if not masked:
        return b.graph([b.log_softmax(x), b.logsumexp(x)])
    seen = b.apply("add", x, b.constant(np.where(MASK, 0.0, -np.inf)))
    return b.graph([b.apply("ln", b.apply("take", b.softmax(seen), data=(0, (0, 2, 3)))), b.logsumexp(seen)])


@pytest.mark.parametrize("free", FREES)
@mostly_slow(("gap", "masked"), [(gap, masked) for gap in GAPS for masked in {False, gap <= 1e7}], quick=7)
def test_graphs(gap: float, masked: bool, free: str) -> None:
    """A mask of −1e8 needs scores that are small beside it."""
    graph = graph_of(5, masked)
    built = integraph.compile(graph, box=(-gap - 1, gap + 1), free=free)
    assert not {"ln", "exp"} & {node.op for node in graph.nodes}
    for row in rows(gap, 5):
        part = row[MASK] if masked else row
        wanted = [*log_shares(part), total(part)]
        assert worst(graph.values(row), wanted) <= 4 * U * (gap + 2)
        for engine in ("exact", "precise", *(("taylor",) if gap <= 50 else ())):
            assert worst(built(row, engine), wanted) <= 32 * U * (gap + 2), engine
        assert built.budget is not None
        rounding = U * max(abs(float(value)) for value in wanted)
        assert worst(built(row, "precise"), wanted) <= built.budget.total + rounding


@pytest.mark.parametrize("free", FREES)
def test_rows_and_what_comes_before_and_after(free: str) -> None:
    """Scores of hundreds that are computed, several rows, and registers that are used again."""
    rng = np.random.default_rng(3)
    W = rng.normal(size=(4, 4))
    b = Builder("chain")
    x = b.input("x", (3, 4))
    scores = b.apply("mul", b.apply("matmul", b.apply("tanh", x), b.constant(W)), b.constant(60.0))
    shares = b.apply("mul", b.log_softmax(scores), b.constant(0.01))
    graph = b.graph([b.logsumexp(b.apply("tanh", b.apply("matmul", shares, b.constant(W))))])
    built = integraph.compile(graph, box=(-1, 1), free=free)
    points = rng.uniform(-1, 1, (20, 12))
    for point in points[:5]:
        with mpmath.workdps(60):
            weights = mpmath.matrix(W.tolist())
            inner = 60 * mpmath.matrix(point.reshape(3, 4).tolist()).apply(mpmath.tanh) * weights
            logs = mpmath.matrix([[v - _mp_total(inner[i, :]) for v in inner[i, :]] for i in range(3)])
            outer = (logs * mpmath.mpf(0.01) * weights).apply(mpmath.tanh)
            wanted = [_mp_total(outer[i, :]) for i in range(3)]
        assert worst(built(point), wanted) <= 1e-13
        assert worst(built(point, "taylor"), wanted) <= 1e-11
        assert built.budget is not None
        assert worst(built(point, "precise"), wanted) <= built.budget.total + 4 * U <= 1e-8
    np.testing.assert_allclose(built(points), graph.values(points), atol=1e-13)


def _mp_total(row: Any) -> Any:
    return mpmath.log(mpmath.fsum(mpmath.exp(v) for v in row))


def test_registers_are_saved() -> None:
    b = Builder("chain")
    x = b.input("x", (6,))
    for _ in range(4):
        x = b.log_softmax(b.apply("tanh", x))
    graph = b.graph([x])
    widths = [integraph.compile(graph, free=free).width for free in FREES]
    assert widths[0] > widths[1] > widths[2]


@examples(40)
@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8), st.sampled_from(FREES))
def test_any_scores(scores: list[float], free: str) -> None:
    row, reach = np.array(scores), 1.0 + max(map(abs, scores))
    built = integraph.compile(graph_of(len(row)), box=(-reach, reach), free=free)
    assert worst(built(row), [*log_shares(row), total(row)]) <= 32 * U * reach


def ops(graph: Graph) -> set[str]:
    return {node.op for node in graph.nodes}


def test_logarithms_that_were_written_otherwise() -> None:
    """ln of a softmax and of a sum of exponentials, moved about or not; other bases."""
    x = np.random.default_rng(4).uniform(-300, 300, (2, 3))
    wanted = np.array([log_shares(row) for row in x]).astype(float)
    sums = np.array([total(row) for row in x.T]).astype(float)
    for name, value in (("ln", 1.0), ("log2", np.log(2.0)), ("log10", np.log(10.0))):
        b = Builder()
        n = b.input("x", (2, 3))
        turned = b.apply("transpose", b.softmax(n), data=(1, 0))
        part = b.apply("slice", turned, data=((2, -1, 3), (1, 1, 1)))
        grown = b.apply("sum", b.apply("exp", n), data=((0,),))
        wide = b.apply("broadcast", b.apply("reshape", grown, data=((1, 3),)), data=((2, 3),))
        graph = b.graph([b.apply(name, y) for y in (turned, part, wide)])
        assert not {"ln", "log2", "log10", "exp", "softmax"} & ops(graph)
        found = graph.values(x.ravel())[0]
        expected = np.concatenate([wanted.T.ravel(), wanted[1, ::-1], np.tile(sums, 2)]) / value
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-13)
        built = integraph.compile(graph, box=(-300, 300))
        np.testing.assert_allclose(built(x.ravel()), expected, atol=1e-12)


@pytest.mark.parametrize(("name", "base"), [("ln", mpmath.e), ("log2", 2), ("log10", 10)])
def test_the_logarithm_of_a_sigmoid(name: str, base: Any) -> None:
    """It is −softplus(−x), also where the sigmoid underflows; a proof knows that, and does not refute the promise."""
    formula = f"{name}(sigmoid(800*x))"
    built = integraph.compile(formula, box=(-1, 1))
    with mpmath.workdps(400):
        wanted = float(-mpmath.log(1 + mpmath.exp(400), base))
    for engine in ("exact", "precise"):
        assert abs(built([-0.5], engine)[0] / wanted - 1) < 1e-12
    proof = integraph.certify(built, formula, progress=False)
    assert proof.status == "proved", proof
    b = Builder()
    n = b.input("x", (2, 2))
    graph = b.graph([b.apply(name, b.apply("transpose", b.apply("sigmoid", n), data=(1, 0)))])
    assert not {"ln", "log2", "log10", "sigmoid"} & ops(graph)
    np.testing.assert_allclose(graph.values([-400.0, 1, 2, -400])[0][[0, 3]], wanted, rtol=1e-14)


def test_a_logarithm_of_something_else_stays() -> None:
    b = Builder()
    x = b.input("x", (3,))
    square = b.apply("sum", b.apply("mul", x, x), data=((0,),))
    weights = b.apply("mul", b.softmax(x), b.constant([1.0, 2.0, 3.0]))
    assert {"ln", "softmax"} <= ops(b.graph([b.apply("ln", square), b.apply("ln", weights)]))


def test_what_takes_no_part_has_no_logarithm() -> None:
    """Unless the mask is a number: then it is that number, less the sum."""
    b = Builder()
    x = b.input("x", (5,))
    never = b.softmax(b.apply("add", x, b.constant(np.where(MASK, 0.0, -np.inf))))
    with pytest.raises(SourceError, match="ln 0"):
        b.apply("ln", never)
    with pytest.raises(SourceError, match="ln 0"):
        b.apply("ln", b.apply("slice", never, data=((1, 1, 2),)))
    graph = b.graph([b.log_softmax(b.apply("add", x, b.constant(np.where(MASK, 0.0, -1e9))))])
    row = np.linspace(-1, 1, 5)
    found, wanted = integraph.compile(graph, box=(-1, 1))(row), log_shares(row[MASK])
    assert worst(found[MASK], wanted) <= 1e-15
    np.testing.assert_allclose(found[~MASK], row[~MASK] - 1e9 - float(total(row[MASK])), rtol=1e-15)


@pytest.mark.parametrize("shape", [(1,), (3, 1), (2, 3, 4)])
def test_shapes(shape: tuple[int, ...]) -> None:
    b = Builder()
    x = b.input("x", shape)
    graph = b.graph([b.logsumexp(x), b.log_softmax(x)])
    assert [graph.nodes[n].shape for n in graph.outputs] == [shape[:-1], shape]
    point = np.random.default_rng(5).uniform(-9, 9, shape)
    built = integraph.compile(graph, box=(-9, 9))
    np.testing.assert_allclose(built(point.ravel()), graph.values(point.ravel())[0], atol=1e-14)
    with pytest.raises(SourceError, match="needs an axis"):
        b.apply("logsumexp", b.apply("sum", x, data=(tuple(range(len(shape))),)))


def test_a_proof_encloses_it() -> None:
    built = integraph.compile(graph_of(3), box=(-100, 100))
    row = np.array([90.0, -3.0, -80.0])
    bounds = integraph.bound(built, (row, row))
    for a, b, value in zip(bounds.low, bounds.high, [*log_shares(row), total(row)], strict=True):
        assert a - 1e-13 <= value <= b + 1e-13
        assert b - a <= 1e-12


def test_long_rows_have_few_terms() -> None:
    """Entries that each read all of a row, for its mean, would be n² of them."""
    n = 5000
    b = Builder()
    x = b.input("x", (n,))
    program = integraph.compile(b.graph([b.softmax(x), b.logsumexp(x)]), 1e-3, box=(-1, 1))
    assert program.terms <= 21 * n
    points = np.random.default_rng(2).uniform(-1, 1, (2, n))
    wanted = np.concatenate([scipy.special.softmax(points, 1), scipy.special.logsumexp(points, 1, keepdims=True)], 1)
    np.testing.assert_allclose(program(points), wanted, 1e-12)
