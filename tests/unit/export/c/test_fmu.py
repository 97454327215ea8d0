"""The FMU: validated, compiled from the source inside it and simulated by FMPy, in both modes."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import export_programs
from integraph import Program, Registers, build, segment
from integraph.gadgets import ramp
from lazy import Lazy, needs, needs_command
from slow import mostly_slow
from taylor_programs import ln_program

fmpy, fmi2, validation = Lazy("fmpy"), Lazy("fmpy.fmi2"), Lazy("fmpy.validation")
pytestmark = [needs("fmpy"), needs_command("gcc", "gcc"), pytest.mark.filterwarnings("default")]

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O2", "-shared", "-fPIC")


def compiled(program: Program, folder: Path) -> str:
    """The folder of an FMU with a library for this machine, made by gcc."""
    target = unpacked(program, folder)
    library = target / "binaries" / fmpy.platform / "wave.so"
    library.parent.mkdir(parents=True)
    subprocess.run(["gcc", *STRICT, str(target / "sources" / "wave.c"), "-o", str(library)], check=True)
    return str(target)


def unpacked(program: Program, folder: Path) -> Path:
    with zipfile.ZipFile(program.export(folder / "wave.fmu")) as archive:
        archive.extractall(folder / "wave")
    return folder / "wave"


def simulated(program: Program, fmu: str, x: np.ndarray, kind: str, **options: Any) -> np.ndarray:
    """The outputs at the end."""
    description = fmpy.read_model_description(fmu)
    inputs = [one.name for one in description.modelVariables if one.causality == "parameter"]
    outputs = [one.name for one in description.modelVariables if one.causality == "output"]
    assert (len(inputs), len(outputs)) == (program.inputs, program.outputs)
    rows = []
    for point in x.tolist():
        given = dict(zip(inputs, point, strict=True))
        result = fmpy.simulate_fmu(fmu, fmi_type=kind, start_values=given, output=outputs, **options)
        rows.append([result[name][-1] for name in outputs])
    return np.array(rows)


@mostly_slow("name", export_programs.EQUATIONS, quick=1)
def test_fmpy_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    fmu = compiled(program, tmp_path)
    assert validation.validate_fmu(str(tmp_path / "wave.fmu")) == []
    x = export_programs.inputs(program, 4)
    exact = program(x)
    assert np.abs(simulated(program, fmu, x, "CoSimulation") - exact).max() <= 1e-13
    exchange = simulated(program, fmu, x, "ModelExchange", relative_tolerance=1e-12)
    assert np.abs(exchange - exact).max() <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("interval", [0.37, 1.0 / 3.0, 1.9, 50.0])
def test_steps_need_not_meet_the_switches(interval: float, tmp_path: Path) -> None:
    """Also after the end, where nothing moves, and from a time that is not 0."""
    program = export_programs.lean()
    fmu, x = compiled(program, tmp_path), export_programs.inputs(program, 2)
    times = {"start_time": 2.5, "stop_time": 2.5 + program.horizon + 3.0}
    same = simulated(program, fmu, x, "CoSimulation", output_interval=interval, **times)
    assert np.abs(same - program(x)).max() <= 1e-13
    same = simulated(program, fmu, x, "ModelExchange", relative_tolerance=1e-12, **times)
    assert np.abs(same - program(x)).max() <= 1e-8


@pytest.mark.slow
def test_a_program_without_inputs(tmp_path: Path) -> None:
    r = Registers()
    z = r.new("z")
    program = build(r, [segment("idle"), segment("ramp", ramp(z, b=2.0))], z)
    fmu = compiled(program, tmp_path)
    assert validation.validate_fmu(fmu) == []
    for kind in ("CoSimulation", "ModelExchange"):
        assert np.abs(simulated(program, fmu, np.zeros((1, 0)), kind) - 2.0).max() <= 1e-8


@needs_command("cmake", "cmake")
@pytest.mark.slow
def test_fmpy_compiles_it(tmp_path: Path) -> None:
    from fmpy.build import build_platform_binary

    program = export_programs.formula()
    fmu = unpacked(program, tmp_path)
    (tmp_path / "build").mkdir()
    build_platform_binary(fmu, tmp_path / "build", all_warnings=True)
    x = export_programs.inputs(program, 2)
    assert np.abs(simulated(program, str(fmu), x, "CoSimulation") - program(x)).max() <= 1e-13


def instance(fmu: str) -> Any:
    description = fmpy.read_model_description(fmu)
    one = fmi2.FMU2Slave(
        guid=description.guid,
        unzipDirectory=fmu,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="one",
    )
    one.instantiate()
    return one


@pytest.mark.slow
def test_an_escape_is_an_error(tmp_path: Path) -> None:
    """ln(1 + p) for p < -1: no number comes out, of neither mode. An instance can be kept, restored and reset."""
    program = ln_program()
    fmu = compiled(program, tmp_path)
    for kind, message in (("CoSimulation", "fmi2DoStep failed"), ("ModelExchange", "CVode error")):
        with pytest.raises(Exception, match=message):
            simulated(program, fmu, np.array([[-3.0]]), kind, logger=lambda *_: None)
    one = instance(fmu)
    p, out = 2 * program.width, 2 * program.width + 1
    one.setupExperiment(startTime=0.0)
    one.enterInitializationMode()
    one.setReal([p], [-3.0])
    one.exitInitializationMode()
    with pytest.raises(fmpy.fmi1.FMICallException):
        one.doStep(0.0, 2.0)
    with pytest.raises(fmpy.fmi1.FMICallException):
        one.getReal([out])
    one.reset()
    one.setReal([p], [1.0])
    one.doStep(0.0, 0.5)
    half, kept = one.getReal([out])[0], one.getFMUState()
    assert half == pytest.approx(np.log(1.5), rel=1e-14)
    one.doStep(0.5, 1.5)
    assert one.getReal([out])[0] == pytest.approx(1 + np.log(2.0), rel=1e-14)
    one.setFMUState(kept)
    assert one.getReal([out])[0] == half
    one.freeFMUState(kept)
    for wrong in (one.setReal, one.getReal):
        with pytest.raises(fmpy.fmi1.FMICallException):
            wrong([99], [0.0]) if wrong == one.setReal else wrong([99])
    one.terminate()
    one.freeInstance()


@pytest.mark.parametrize("name", [*export_programs.EQUATIONS, "hostile"])
def test_the_archive(name: str, tmp_path: Path) -> None:
    """The terms are those of the C file, which has its own test; texts from outside stay texts."""
    program = getattr(export_programs, name)()
    with zipfile.ZipFile(program.export(tmp_path / "wave.fmu")) as archive:
        assert archive.namelist() == ["modelDescription.xml", "sources/wave.c"]
        description, source = (archive.read(one).decode("ascii") for one in archive.namelist())
    text = program.export(tmp_path / "wave.c").read_text("ascii")
    first, last = (text.index(word) for word in ("#include <float.h>", "int wave_in("))
    assert text[first:last] in source
    assert program.digest in source
    root = ElementTree.fromstring(description)
    variables = root.findall("./ModelVariables/ScalarVariable")
    assert len(variables) == 2 * program.width + program.inputs + program.outputs
    assert [int(one.attrib["valueReference"]) for one in variables] == list(range(len(variables)))
    for line in (source + description).splitlines():
        assert not line.lstrip().startswith((".control", "#include </etc", "`include", "shell"))


def test_the_judge_sees_a_broken_description(tmp_path: Path) -> None:
    folder = unpacked(export_programs.formula(), tmp_path)
    file = folder / "modelDescription.xml"
    file.write_text(file.read_text().replace('<Unknown index="1"/>', "", 1))
    assert validation.validate_fmu(str(folder)) != []
    shutil.rmtree(folder)
