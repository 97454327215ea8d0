"""Antimony models against libRoadRunner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
import sbml_models as m
from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics import read_system
from lazy import Lazy, needs
from sbml_tools import course

pytestmark = needs("antimony")
antimony: Any = Lazy("antimony")
MODELS = {"Michaelis–Menten": m.MICHAELIS_MENTEN, "toggle switch": m.TOGGLE_SWITCH, "repressilator": m.REPRESSILATOR}


@needs("roadrunner")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n == "repressilator" else n for n in MODELS]
)
def test_models(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.ant"
    path.write_text(MODELS[name])
    system = integraph.lift(path, seconds=3, progress=False)
    antimony.loadAntimonyString(MODELS[name])
    sbml = antimony.getSBMLString(antimony.getMainModuleName())
    states = [one if name == "toggle switch" else f"[{one}]" for one in system.source.states]
    simulated = system.simulate(times=[4.0])
    assert np.max(np.abs(simulated.states[0, -1] - course(sbml, states, 4.0))) < 1e-9


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "model.ant"
    for text, words in (
        ('import "/etc/hostname"\nx\' = -x', "imports another file"),
        ("model broken(", "no Antimony that can be read"),
        ("model m; x' = -x; x = 1; at (time > 1): x = 2; end", "has the event"),
        ("model m; x = 1; J: x -> ; k*x; end", "k has no value"),
        ("import 'b.ant'", "imports another file"),
    ):
        path.write_text(text)
        with pytest.raises((SourceError, UsageError), match=words):
            read_system(path)
    path.write_text("x' = -x; x = 2")
    assert read_system(path).start == (2.0,)
