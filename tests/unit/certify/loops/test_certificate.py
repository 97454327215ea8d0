"""Certificates of closed loops: what is stored, and that nothing false passes the check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import integraph
from integraph.api.loops import closed_loop
from integraph.certify.certificate.tree import Split
from integraph.certify.loops.certificate import CertifiedStep, LoopCertificate, fault, loop_digest
from integraph.certify.problem import Box
from integraph.errors import FileError, UsageError

SETTING = {
    "plant": {"x": "v", "v": "u - sin(x)"},
    "controller": "-2*v",
    "period": 0.2,
    "steps": 3,
    "start": {"x": (0.9, 1.0), "v": 0},
}
SPEC = "x in [0.78, 0.91] at end"
LOOP = {name: value for name, value in SETTING.items() if name != "start"}


@pytest.fixture(scope="module")
def result():
    proved = integraph.loop(**SETTING, spec=SPEC, progress=False)
    assert proved.answer.value == "proved"
    return proved


def stepped(certificate: LoopCertificate, change: Callable[[CertifiedStep], CertifiedStep]) -> LoopCertificate:
    """The certificate with another second period, under a new seal."""
    first, second, *rest = certificate.cells[0]
    return replace(certificate, cells=((first, tuple(map(change, second)), *rest),)).sealed()


def test_round_trip(result, tmp_path) -> None:
    certificate = result.certificate()
    certificate.save(tmp_path / "loop.proof.json")
    assert LoopCertificate.load(tmp_path / "loop.proof.json") == certificate
    checked = integraph.check(tmp_path / "loop.proof.json", result.loop)
    assert checked, checked.reason
    assert checked.status == "proved"
    assert SPEC in checked.claim
    assert integraph.check(result, result)
    with pytest.raises(UsageError, match="has no source"):
        integraph.check(result, result, "x")
    with pytest.raises(UsageError, match="has no source: leave it out"):
        integraph.check(result, result, parameters={"g": 1.0})


def test_an_altered_byte(result, tmp_path) -> None:
    data = bytearray(str(result.certificate()).encode())
    for place in np.random.default_rng(0).integers(0, len(data), 50):
        changed = data.copy()
        changed[place] ^= 1
        (tmp_path / "changed.json").write_bytes(bytes(changed))
        with pytest.raises(FileError):
            LoopCertificate.load(tmp_path / "changed.json")


def shrunk(step: CertifiedStep) -> CertifiedStep:
    low, high = np.array(step.box.low), np.array(step.box.high)
    inner = Box(tuple((low + 0.3 * (high - low)).tolist()), tuple((high - 0.3 * (high - low)).tolist()))
    return replace(step, box=inner)


def moved(step: CertifiedStep) -> CertifiedStep:
    low, high = ((np.array(end) + 1.0).tolist() for end in (step.box.low, step.box.high))
    return replace(step, box=Box(tuple(low), tuple(high)))


def widened(certificate: LoopCertificate, side: tuple[float, ...]) -> LoopCertificate:
    """The certificate with one state more."""

    def wide(box: Box) -> Box:
        return Box(box.low + side, box.high + side)

    cells = tuple(
        tuple(tuple(replace(step, box=wide(step.box)) for step in steps) for steps in path)
        for path in certificate.cells
    )
    return replace(certificate, states=(*certificate.states, "q"), box=wide(certificate.box), cells=cells)


TAMPERED = {
    "a box is shrunk": (lambda c: stepped(c, shrunk), "may leave"),
    "a box is moved": (lambda c: stepped(c, moved), "may leave"),
    "a step is shorter": (lambda c: stepped(c, lambda s: replace(s, halvings=s.halvings + 1)), "of it"),
    "a share of a step": (lambda c: stepped(c, lambda s: replace(s, halvings=float(s.halvings))), "are integers"),
    "a step is longer": (lambda c: stepped(c, lambda s: replace(s, halvings=s.halvings - 1)), "a step"),
    "a series is cut off": (lambda c: stepped(c, lambda s: replace(s, order=1)), "may leave"),
    "a step is skipped": (lambda c: replace(c, cells=((c.cells[0][0], (), c.cells[0][2]),)), "are 0 of it"),
    "a period is skipped": (lambda c: replace(c, cells=(c.cells[0][:2],)), "not proved"),
    "a period more": (lambda c: replace(c, cells=(c.cells[0] + c.cells[0][:1],)), "4 periods"),
    "more starts": (lambda c: replace(c, box=Box((0.8, 0.0), (1.0, 0.0))), "may leave"),
    "another specification": (lambda c: replace(c, spec="x in [0.80, 0.85] at end"), "not proved"),
    "other names of the states": (lambda c: replace(c, states=("v", "x")), "other states"),
    "a state too many": (lambda c: widened(c, (0.0,)), "other states"),
    "another answer": (lambda c: replace(c, status="refuted"), "one start"),
    "a cell too few": (lambda c: replace(c, tree=(Split(0, 0.95), None, None)), "one tube for each cell"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_false_certificate(name: str, result) -> None:
    change, reason = TAMPERED[name]
    false = change(result.certificate()).sealed()
    checked = integraph.check(false, result.loop)
    assert not checked
    assert reason in checked.reason
    assert checked.status == "unknown"


@pytest.mark.parametrize(
    "change",
    [
        {"plant": {"x": "v", "v": "u - sin(x) + 0.0001"}},
        {"controller": "-2.0001*v"},
        {"period": 0.2001},
        {"steps": 4},
        {"scale": 1.5},
        {"offset": 0.1},
        {"limits": (-1.0, 1.0)},
        {"discrete": True},
        {"outputs": ["x + v", "v"], "controller": "-2*y", "plant": LOOP["plant"]},
    ],
)
def test_another_loop(change: dict[str, object], result) -> None:
    if "outputs" in change:
        change = {**change, "controller": integraph.network([(np.array([[0.0, -2.0]]), np.zeros(1))])}
    checked = integraph.check(result.certificate(), closed_loop(**{**LOOP, **change}))
    assert not checked
    assert "another loop" in checked.reason


def test_another_net() -> None:
    def net(weight: float) -> object:
        return integraph.network([(np.array([[0.3, weight]]), np.zeros(1), "tanh"), (np.array([[-1.0]]), np.zeros(1))])

    setting = {**SETTING, "controller": net(0.5)}
    certificate = integraph.loop(**setting, spec="x <= 1.5 at end", progress=False).certificate()
    assert integraph.check(certificate, closed_loop(**{**LOOP, "controller": net(0.5)}))
    assert "another loop" in integraph.check(certificate, closed_loop(**{**LOOP, "controller": net(0.5 + 1e-9)})).reason


def test_a_start_that_fails() -> None:
    result = integraph.loop(**SETTING, spec="x <= 0.85 always", progress=False)
    certificate = result.certificate()
    checked = integraph.check(certificate, result.loop)
    assert checked, checked.reason
    assert checked.status == "refuted"
    good = replace(certificate, spec="x <= 1.2 always").sealed()
    assert "not refuted" in integraph.check(good, result.loop).reason


def test_a_refutation_that_saw_nothing(result) -> None:
    spec, start = "x >= 0.5 by 0", Box((0.9, 0.0), (0.9, 0.0))
    false = replace(result.certificate(), spec=spec, status="refuted", box=start, cells=((),)).sealed()
    checked = integraph.check(false, result.loop)
    assert not checked
    assert "not refuted" in checked.reason


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("last", [[1.0, -0.5], [1.0, 0.0]])
def test_a_controller_without_a_value(last: list[float], discrete: bool) -> None:
    """What is not known of 1/x is ∞ − ∞ after two layers, or 0·∞, and stays unknown."""
    net = integraph.network([(np.array([[1.0, 0.0], [1.0, 1.0]]), np.zeros(2)), (np.array([last]), np.zeros(1))])
    plant = {"x": "x + 0*v", "v": "u"} if discrete else {"x": "0*x", "v": "u"}
    loop = closed_loop(plant, net, period=0.5, steps=1, outputs=["1/x", "v"], discrete=discrete)
    steps = () if discrete else (CertifiedStep(0, 3, Box((-3.0, -3.0), (3.0, 3.0))),)
    start = Box((-1.0, 0.5), (1.0, 0.5))
    head = loop_digest(loop), loop.states, "v <= 1 at end", "proved"
    false = LoopCertificate(*head, start, (None,), (4,), ((steps,),))
    checked = integraph.check(false.sealed(), loop)
    assert not checked
    assert "not defined" in checked.reason or "may leave" in checked.reason


@pytest.mark.parametrize("term", ["asin(x/3)", "acos(x/3)", "asinh(x)", "acosh(2 + x)", "atanh(x/3)", "erf(x)"])
def test_functions(term: str) -> None:
    setting = {**SETTING, "plant": {"x": "v", "v": f"u - {term}"}}
    result = integraph.loop(**setting, spec="x <= 1.5 at end", progress=False)
    checked = integraph.check(result, result)
    assert checked, checked.reason


def test_all_cells_are_in_it() -> None:
    setting = {**SETTING, "plant": {"x": "v", "v": "u - x^3"}, "start": {"x": (-2.5, 2.5), "v": 0}, "steps": 5}
    result = integraph.loop(**setting, spec="x in [-2.3, 2.3] and v in [-2.2, 2.2] at end", progress=False)
    if len(result.proved) == 1:
        result = replace(result, proved=halves(result))
    certificate = result.certificate()
    assert len(certificate.cells) == len(result.proved) > 1
    checked = integraph.check(certificate, result)
    assert checked, checked.reason
    assert checked.boxes == len(result.proved)


def halves(result):
    """The same result in two cells."""
    from integraph.certify.loops.tube import tube

    whole = result.proved[0]
    middle = 0.5 * whole.low + 0.5 * whole.high
    ends = [(whole.low, np.array([middle[0], whole.high[1]])), (np.array([middle[0], whole.low[1]]), whole.high)]
    return tuple(tube(result.loop, low, high, result.spec) for low, high in ends)


def test_unknown_has_no_certificate(result) -> None:
    from integraph.certify.loops.spec import Answer

    with pytest.raises(UsageError, match="unknown"):
        replace(result, answer=Answer.UNKNOWN).certificate()


def test_what_is_checked(result) -> None:
    with pytest.raises(UsageError, match="closed loop"):
        integraph.check(result.certificate(), "x + 1")
    assert "infinite" in fault(replace(result.certificate(), box=Box((0.0, 0.0), (np.inf, 0.0))))


@pytest.mark.slow
def test_a_start_that_fails_with_a_disturbance() -> None:
    """x' = v, v' = −x + u + w: the middle of w is good, its end is not, and both say so to the check."""
    loop = {"plant": {"x": "v", "v": "-x + u + w"}, "controller": "-0.1*v", "period": 0.25, "steps": 8}
    loop |= {"disturbances": {"w": (-3, 3)}}
    result = integraph.loop(**loop, start={"x": (-0.1, 0.1), "v": 0}, spec="x <= 1.3 always", progress=False)
    assert result.answer.value == "refuted"
    assert result.disturbance == {"w": 3.0}
    assert "with w = 3 at all times" in repr(result)
    certificate = result.certificate()
    checked = integraph.check(certificate, result)
    assert checked, checked.reason
    assert "with the disturbance 3 at all times" in checked.claim
    wrong = {
        (): "may leave",
        (0.0,): "may leave",
        (3.1,): "not one of",
        (np.nan,): "not one of",
        (3.0, 3.0): "not have",
    }
    for other, reason in wrong.items():
        assert reason in integraph.check(replace(certificate, disturbance=other).sealed(), result).reason
    proved = replace(certificate, status="proved").sealed()
    assert "all disturbances" in integraph.check(proved, result).reason
