"""Properties of programs that have no source: bounds against values of the engine `taylor`, proofs against samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call
from free_programs import learned, two_segments
from integraph import Program
from integraph.certify.properties.program_margins import program_margins
from integraph.errors import UsageError
from integraph.frontends.property.names import names_of
from integraph.frontends.property.sentence import parse
from taylor_programs import free

BOX = (-0.5, 0.5)


def samples(program: Program, count: int = 21) -> tuple[np.ndarray, np.ndarray]:
    """A grid of the box with its corners."""
    side = np.linspace(*BOX, count)
    x = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    return x, program(x, engine="taylor")


def test_bounds_hold_and_what_is_in_common_cancels() -> None:
    program = two_segments("low_rank")
    x, y = samples(program, 7)
    stated = parse("y0 - y1 <= 3*x0 - 2*x1 or x1 > 0", names_of(2, 2, ()))
    margins = program_margins(program, stated)
    truth = {(1, -1, -3, 2): y[:, 0] - y[:, 1] - 3 * x[:, 0] + 2 * x[:, 1], (0, 0, 0, 1): x[:, 1]}
    wanted = np.stack([truth[tuple(row)] for row in margins.weights.astype(int).tolist()], 1)
    assert np.abs(margins.values(x) - wanted).max() <= 1e-12
    at = margins.cells(x, x, 0)
    assert ((at.least <= wanted + 1e-12) & (wanted - 1e-12 <= at.most)).all()
    assert (at.most - at.least).max() <= 1e-9
    half = margins.cells(np.full((1, 2), -0.5), np.full((1, 2), 0.5), 2)
    assert ((half.least <= wanted) & (wanted <= half.most)).all()
    sign = "-" if np.corrcoef(y[:, 0], x[:, 0])[0, 1] < 0 else ""
    texts = (f"y0 <= {sign}x0", "y0 <= 0", "x0 <= 0")
    own = [program_margins(program, parse(text, names_of(2, 2, ()))) for text in texts]
    spans = [float(np.ptp([c.least, c.most])) for c in (m.cells(half.low, half.high, 2) for m in own)]
    assert spans[0] < 0.9 * (spans[1] + spans[2])


@pytest.mark.slow
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_what_samples_suggest_is_proved_and_refuted(block: str) -> None:
    program = two_segments(block)
    x, y = samples(program)
    most = float((y[:, 0] - 2 * y[:, 1] - x[:, 0]).max())
    proved = integraph.prove(f"y0 - 2*y1 <= x0 + {most + 0.02!r}", program, BOX, progress=False, workers=1)
    assert proved
    assert proved.certificate is None
    assert "none: its checker" in repr(proved)
    refuted = integraph.prove(f"y0 - 2*y1 <= x0 + {most - 0.02!r}", program, BOX, progress=False, workers=1)
    assert refuted.status == "refuted"
    assert refuted.point is not None
    assert refuted.low is not None
    assert refuted.high is not None
    value = program(refuted.point, engine="precise")
    assert ((refuted.low <= value) & (value <= refuted.high)).all()
    assert value[0] - 2 * value[1] - refuted.point[0] > most - 0.02


@pytest.mark.slow
def test_units_of_the_model_and_its_default_box() -> None:
    """The first segments overwrite the inputs, which the property means as they were."""
    program = learned()
    x, y = samples(program)
    least = float((y[:, 0] - x[:, 0]).min())
    assert integraph.prove(f"y > x0 + {least - 0.5!r}", program, BOX, progress=False, workers=1)
    assert integraph.prove(f"y > x0 + {least + 0.1!r}", program, BOX, progress=False, workers=1).status == "refuted"


@pytest.mark.slow
def test_nothing_is_proved_where_solutions_end() -> None:
    """y' = y² has no value after unit time from 1 on: a property of all values is not proved there, and not refuted."""
    program = free(1.0, Q=[[[1.0]]])
    made = integraph.prove("y >= -1", program, (-0.5, 1.5), seconds=3, progress=False, workers=1)
    assert made.status == "unknown"
    assert made.remaining[:, 1].max() == 1.5
    assert integraph.prove("y >= -1", program, (-0.5, 0.5), progress=False, workers=1)


def test_what_is_refused() -> None:
    program = two_segments("low_rank")
    for options, cause in (
        ({"closeness": object()}, "leave it out"),
        ({"variables": ("a", "b")}, "there is none"),
        ({"box": (-1e308, 1e308)}, "longer than float64"),
    ):
        with pytest.raises(UsageError, match=cause):
            integraph.prove("y0 <= 2", program, **{"box": BOX, **options})
    with pytest.raises(UsageError, match="only linear"):
        integraph.prove("y0*y1 <= 2", program, BOX)
    with pytest.raises(UsageError, match="nothing of the outputs"):
        integraph.prove("x0 <= 2", program, BOX)


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    two_segments("low_rank").save(tmp_path / "model.integraph")
    done = call("prove", tmp_path / "model.integraph", "y0 <= 50", "--box=-0.5,0.5", "-o", tmp_path / "p.json")
    assert done.code == 0, done.err
    assert "holds" in done.out
    assert "no certificate of a learned program" in " ".join((done.out + done.err).split())
    assert not (tmp_path / "p.json").exists()
