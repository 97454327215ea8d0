"""Learned models, raw or in factors: every format of equations, the C file compiled, and what the other layers say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from free_programs import two_segments
from integraph import load
from integraph.errors import UsageError
from integraph.export.formats import FORMATS
from lazy import needs_command

CLOSED = ("c-closed", "onnx")  # formats of closed forms alone


@pytest.mark.slow
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_every_format_of_equations(block: str, tmp_path: Path) -> None:
    """Formats of closed forms refuse it in a sentence, and a LUCIDAC is too small for it."""
    program = two_segments(block)
    for form in FORMATS:
        path = tmp_path / f"model{form.suffixes[0]}"
        if form.name in CLOSED:
            with pytest.raises(UsageError, match="no closed form"):
                program.export(path, format=form.name)
        elif form.name == "lucidac":
            with pytest.raises(UsageError, match="does not fit"):
                program.export(path, format=form.name)
        else:
            program.export(path, format=form.name)
            assert path.stat().st_size > 0, form.name


@pytest.mark.slow
@needs_command("gcc", "gcc")
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_saved_loaded_and_compiled_by_gcc(block: str, tmp_path: Path) -> None:
    """`taylor`, `oracle`, the loaded file and C agree to 1e-10."""
    program = two_segments(block)
    program.save(tmp_path / "model.safetensors")
    loaded, x = load(tmp_path / "model.safetensors"), np.array([0.3, -0.4])
    wanted = program(x, engine="taylor")
    assert np.array_equal(loaded(x, engine="taylor"), wanted)
    assert np.allclose(loaded(x, engine="oracle"), wanted, rtol=1e-11, atol=1e-12)
    loaded.export(tmp_path / "model.c")
    command = ["gcc", "-std=c99", "-O2", "-DINTEGRAPH_MAIN", "-x", "c", "model.c", "-o", "model"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./model", *map(repr, x.tolist())], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert np.allclose([float(word) for word in done.stdout.split()], wanted, rtol=1e-10, atol=0)


@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_what_programs_say_of_themselves(block: str) -> None:
    program = two_segments(block)
    assert program.describe().count("y' = b + A·(y, x) + ") == 2
    assert "W           4 registers" in program.summary()
    assert program.stiffness([0.1, 0.2]) > 0
    path = program.trajectory([0.1, 0.2])
    assert np.allclose(path.states[-1, 2:], program([0.1, 0.2]), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_ranges_of_registers_hold_trajectories(block: str) -> None:
    program = two_segments(block)
    ranges = program.ranges((-0.5, 0.5))
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2))
    for point in points:
        path = program.trajectory(point)
        assert (path.states.max(0) <= np.max(ranges.high, 0) + 1e-12).all()
        assert (path.states.min(0) >= np.min(ranges.low, 0) - 1e-12).all()
