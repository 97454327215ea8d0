"""Files of jax.export: any number of inputs, the derivative too."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph.errors import UsageError
from lazy import Lazy, needs
from slow import mostly_slow

jax = Lazy("jax")
jax_export = Lazy("jax.export")
pytestmark = needs("jax")


@mostly_slow("name", export_programs.PROGRAMS, quick=1)
def test_outputs_and_derivatives(name: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    path = program.export(tmp_path / "wave.jaxexport")
    function, params = program.to_jax()
    with jax.enable_x64(True):
        exported = jax_export.deserialize(bytearray(path.read_bytes()))
        for count in (1, 7):
            x = export_programs.inputs(program, count)
            assert np.abs(exported.call(x) - program(x)).max() <= 1e-13
        (slope,) = exported.vjp().call(x, np.ones((7, program.outputs)))
        assert np.abs(slope - jax.grad(lambda x: function(params, x).sum())(x)).max() <= 1e-12
    assert exported.platforms == ("cpu", "cuda", "tpu")


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = export_programs.formula()
    with pytest.raises(UsageError, match="float64 or float32"):
        program.export(tmp_path / "wave.jaxexport", precision="half")
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(UsageError, match="pip install flatbuffers"):
        program.export(tmp_path / "wave.jaxexport")
