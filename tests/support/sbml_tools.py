"""Tools of systems biology, each with its own reader and integrator, on a file that we wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from integraph import Program
from lazy import Lazy, same_encoding

libsbml, roadrunner, basico = Lazy("libsbml"), Lazy("roadrunner"), Lazy("basico")


def complaints(path: Path) -> list[str]:
    """All that libSBML has to say: errors and warnings."""
    document = libsbml.readSBMLFromFile(str(path))
    return [document.getError(number).getMessage() for number in range(document.checkConsistency())]


@same_encoding()
def by_roadrunner(
    path: Path,
    program: Program,
    x: np.ndarray,
    inputs: list[str],
    outputs: list[str],
    derived: bool = False,
    absolute: float = 1e-14,
) -> np.ndarray:
    """`derived`: initial concentrations follow from the inputs; the absolute tolerance."""
    runner = roadrunner.RoadRunner(str(path))
    runner.integrator.absolute_tolerance, runner.integrator.relative_tolerance = absolute, 1e-12
    runner.integrator.setValue("maximum_num_steps", 200_000)
    rows = []
    for point in x.tolist():
        runner.resetAll()
        for name, value in zip(inputs, point, strict=True):
            runner.setValue(name, value)
        if derived:
            runner.reset()
        rows.append(runner.simulate(0, program.depth, 2, ["time", *outputs])[-1])
    table = np.array(rows)
    assert (table[:, 0] == program.depth).all()
    return table[:, 1:]


@same_encoding()
def by_copasi(path: Path, program: Program, x: np.ndarray, inputs: list[str], outputs: list[str]) -> np.ndarray:
    model = basico.load_model(str(path))
    rows = []
    for point in x.tolist():
        for name, value in zip(inputs, point, strict=True):
            basico.set_parameters(name, initial_value=value, exact=True, model=model)
        course = basico.run_time_course(
            start_time=0, duration=program.depth, intervals=1, r_tol=1e-12, a_tol=1e-14, max_steps=1_000_000,
            update_model=False, use_sbml_id=True, model=model,
        )  # fmt: skip
        assert course.index[-1] == program.depth
        rows.append([course[name].iloc[-1] for name in outputs])
    basico.remove_datamodel(model)
    return np.array(rows)


@same_encoding()
def course(model: str, names: list[str], end: float) -> np.ndarray:
    """The values at the end, from the start that the model (a text, or the name of a file) gives."""
    runner = roadrunner.RoadRunner(model)
    runner.integrator.absolute_tolerance, runner.integrator.relative_tolerance = 1e-14, 1e-12
    runner.integrator.setValue("maximum_num_steps", 200_000)
    return np.array(runner.simulate(0, end, 2, names)[-1])
