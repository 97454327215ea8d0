"""SBML models against libRoadRunner, and what of SBML is no ODE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
import sbml_models as m
from integraph.errors import FileError, SourceError, UsageError
from integraph.frontends.dynamics import read_system
from integraph.frontends.dynamics.sbml import mathematics
from integraph.targets.float_arithmetic import values
from lazy import needs
from sbml_tools import by_roadrunner, course

pytestmark = needs("libsbml")
GROWTH = m.document(
    Compartments='<compartment id="cell" spatialDimensions="3" size="1.5" constant="false"/>',
    Species=m.species("S", "cell", 'initialConcentration="2"') + m.species("Z", "cell", 'initialAmount="1"'),
    Parameters=m.parameter("g", 0.2) + m.parameter("k", 0.7),
    Rules=f'<rateRule variable="cell">{m.MATH}{m.apply("times", *m.ci("g", "cell"))}</math></rateRule>',
    Reactions=m.reaction("loss", m.references("Reactants", "S"), m.apply("times", *m.ci("k", "S", "cell"))),
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(text)
    return path


@needs("roadrunner")
def test_compartments_amounts_functions_and_rules(tmp_path: Path) -> None:
    path = written(tmp_path, m.two_compartments())
    system = integraph.lift(path, progress=False)
    assert system.starts == {"A": 3.0, "B": 2.0, "D": 0.1, "total": 5.0}
    assert system.source.inputs == ("total",)
    expected = course(str(path), ["[A]", "[B]", "D", "total"], 3.0)
    assert np.max(np.abs(system.simulate(times=[3.0]).states[0, -1] - expected)) < 1e-9


@needs("roadrunner")
@pytest.mark.slow
def test_a_model_becomes_a_program_and_a_model_again(tmp_path: Path) -> None:
    """SBML → lift → program → SBML, both files by roadrunner."""
    path, again = written(tmp_path, m.two_compartments()), tmp_path / "program.sbml"
    system = integraph.lift(path, progress=False)
    start = np.array(list(system.starts.values()))
    program = system.program(3.0, np.stack([0.9 * start, 1.1 * start], 1))
    program.export(again)
    names = [program.registers.name(n) for n in range(program.inputs)]
    outputs = [f"out{n + 1}" for n in range(program.outputs)]
    expected = course(str(path), ["[A]", "[B]", "D"], 3.0)
    assert np.abs(by_roadrunner(again, program, start[None], names, outputs)[0] - expected).max() < 1e-8
    assert np.abs(program(start) - expected).max() < 1e-9


@needs("roadrunner")
def test_a_volume_that_grows_dilutes(tmp_path: Path) -> None:
    path = written(tmp_path, GROWTH)
    system = integraph.lift(path, progress=False)
    assert system.source.states == ("S", "Z", "cell")
    expected = course(str(path), ["[S]", "[Z]", "cell"], 2.0)
    assert np.max(np.abs(system.simulate(times=[2.0]).states[0, -1] - expected)) < 1e-9


@needs("roadrunner")
@pytest.mark.parametrize("level", [2, 3])
def test_dimensions_may_be_left_out_and_level_2_is_read(tmp_path: Path, level: int) -> None:
    """libsbml says that a compartment without dimensions has 0, and that Level 2 needs a package."""
    import libsbml

    text = m.two_compartments().replace('spatialDimensions="3" ', "")
    assert "spatialDimensions" not in text
    document = libsbml.readSBMLFromString(text)
    if level == 2:
        assert document.setLevelAndVersion(2, 4, False)
    path = written(tmp_path, libsbml.writeSBMLToString(document))
    system = integraph.lift(path, progress=False)
    expected = course(str(path), ["[A]", "[B]", "D", "total"], 3.0)
    assert np.max(np.abs(system.simulate(times=[3.0]).states[0, -1] - expected)) < 1e-9


def test_constants_become_inputs_or_other_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, GROWTH)
    system = read_system(path, inputs="k", parameters={"g": 0.5})
    assert system.inputs == ("k",)
    assert system.start == (2.0, pytest.approx(1 / 1.5), 1.5, 0.7)
    assert values(system.expression, np.array([[2.0, 1.0, 1.5, 3.0]]))[0, 0] == pytest.approx(-3.0 * 2 - 0.5 * 2)
    for options, words in (
        ({"inputs": "S"}, "no constant"),
        ({"parameters": {"y": 1}}, "no constant"),
        ({"parameters": {"g": "pi"}}, "needs a number"),
        ({"parameters": {"g": "1/0"}}, "needs a number"),
        ({"parameters": {"g": "nan"}}, "needs a number"),
        ({"inputs": "g", "parameters": {"g": 1}}, "an input too"),
    ):
        with pytest.raises(UsageError, match=words):
            read_system(path, **options)  # type: ignore[arg-type]


def test_a_start_may_be_given_in_part(tmp_path: Path) -> None:
    system = integraph.lift(written(tmp_path, GROWTH), progress=False)
    swept = system.simulate({"S": [1.0, 2.0]}, [1.0])
    assert swept["S"][:, -1] == pytest.approx(np.array([1.0, 2.0]) * np.exp(-0.9))
    with pytest.raises(UsageError, match="give times"):
        system.simulate()
    with pytest.raises(UsageError, match="the source gives no start"):
        integraph.lift("x' = -x").simulate(times=[1.0])


def test_an_initial_assignment_is_of_time_zero(tmp_path: Path) -> None:
    """A parameter that is x + t at the start keeps that value."""
    time = "<csymbol encoding='text' definitionURL='http://www.sbml.org/sbml/symbols/time'>t</csymbol>"
    text = m.document(
        Parameters=m.parameter("x", 2, "false") + m.parameter("k", 7) + m.parameter("c", 7),
        InitialAssignments=f'<initialAssignment symbol="k">{m.MATH}{m.apply("plus", "<cn>3</cn>", time)}</math>'
        f'</initialAssignment><initialAssignment symbol="c">{m.MATH}<cn>5</cn></math></initialAssignment>',
        Rules=f'<rateRule variable="x">{m.MATH}{m.apply("times", *m.ci("k", "x", "c"))}</math></rateRule>',
    )
    system = read_system(written(tmp_path, text))
    assert (system.states, system.inputs, system.start) == (("x",), ("k",), (2.0, 3.0))
    assert values(system.expression, np.array([[2.0, 3.0]])).tolist() == [[30.0]]


def stoichiometry(math: str) -> str:
    text = m.two_compartments().replace('species="D" stoichiometry="1"', 'id="n" species="D"')
    start = f'<initialAssignment symbol="n">{m.MATH}{math}</math></initialAssignment>'
    return text.replace("</listOfInitialAssignments>", f"{start}</listOfInitialAssignments>")


def test_a_stoichiometry_may_be_computed(tmp_path: Path) -> None:
    path = written(tmp_path, stoichiometry(m.apply("times", "<cn>2</cn>", "<ci>k</ci>")))
    system = read_system(path)
    x = np.array([[3.0, 2.0, 0.1, 5.0]])
    assert values(system.expression, x)[0, 2] == pytest.approx(0.6 * (0.3 * 4 * 0.25) - 0.6 * 0.3 * 0.1)
    with pytest.raises(SourceError, match="the start of a state"):
        read_system(written(tmp_path, stoichiometry("<ci>A</ci>")))


def broken(old: str, new: str) -> str:
    text = m.two_compartments()
    assert old in text
    return text.replace(old, new)


EVENT = (
    f'<event id="dose" useValuesFromTriggerTime="true"><trigger initialValue="true" persistent="true">{m.MATH}'
    "<apply><gt/><csymbol encoding='text' definitionURL='http://www.sbml.org/sbml/symbols/time'>t</csymbol><cn>1</cn>"
    "</apply></math></trigger></event>"
)
DELAY = "<csymbol encoding='text' definitionURL='http://www.sbml.org/sbml/symbols/delay'>delay</csymbol>"
COMP = "http://www.sbml.org/sbml/level3/version1/comp/version1"
REFUSALS = {
    "event": (m.two_compartments(Events=EVENT), "the event dose"),
    "algebraic": (
        m.two_compartments(Rules=f"<algebraicRule>{m.MATH}{m.apply('minus', *m.ci('f', 'A'))}</math></algebraicRule>"),
        "an algebraic rule",
    ),
    "fast": (broken('id="decay" reversible="false" fast="false"', 'id="decay" reversible="false" fast="true"'), "fast"),
    "delay": (
        broken("<apply><ci>twice</ci><ci>X</ci></apply>", f"<apply>{DELAY}<ci>X</ci><cn>1</cn></apply>"),
        "kinetic law of feed: a delay",
    ),
    "piecewise": (
        broken("<apply><ci>twice</ci><ci>X</ci></apply>", "<piecewise><otherwise><ci>X</ci></otherwise></piecewise>"),
        "kinetic law of feed: a piecewise function",
    ),
    "abs": (broken("<apply><ci>twice</ci><ci>X</ci></apply>", m.apply("abs", "<ci>X</ci>")), "has a kink"),
    "floor": (broken("<apply><ci>twice</ci><ci>X</ci></apply>", m.apply("floor", "<ci>X</ci>")), "floor jumps"),
    "unknown name": (broken("<ci>twice</ci><ci>X</ci>", "<ci>twice</ci><ci>Y</ci>"), "'Y' is used in a formula"),
    "zero": (broken('size="2"', 'size="0"'), "division by zero"),
    "no number": (broken('size="2"', 'size="INF"'), "finite number"),
    "missing": (broken('id="k" value="0.3"', 'id="k"'), "k has no value"),
    "package": (
        broken(m.HEAD, m.HEAD[:-1] + f' xmlns:x="{COMP}" x:required="true">'),
        "package comp",
    ),
    "no ODE": (m.document(Parameters=m.parameter("k", 1)), "there is no ODE"),
    "no model": (m.HEAD + "</sbml>", "no SBML that can be read|has no model"),
    "no SBML": ("<html/>", "no SBML that can be read"),
    "circle": (
        broken("</apply></math></assignmentRule>", '</apply></math></assignmentRule>').replace(
            m.apply("divide", "<ci>A</ci>", m.apply("plus", *m.ci("A", "total"))), m.apply("plus", *m.ci("A", "f"))
        ),
        "in a circle",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_no_ode_gets_a_sentence(name: str, tmp_path: Path) -> None:
    text, words = REFUSALS[name]
    with pytest.raises((SourceError, UsageError), match=words):
        read_system(written(tmp_path, text))


@pytest.mark.parametrize("other", ["<ci>s</ci>", m.apply("plus", "<ci>s</ci>", "<cn>1</cn>")])
def test_functions_that_unfold(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathematics, "VISITS", 3_000)
    calls = ("<apply><ci>f{}</ci>" + arg + "</apply>" for arg in ("<ci>s</ci>", other))
    body = m.apply("plus", *calls)
    plain = m.apply("times", "<cn>1</cn>", "<ci>s</ci>")
    functions = "".join(
        f'<functionDefinition id="f{n}">{m.MATH}<lambda><bvar><ci>s</ci></bvar>'
        f"{body.replace('{}', str(n - 1)) if n else plain}</lambda></math></functionDefinition>"
        for n in range(40)
    )
    text = m.document(
        FunctionDefinitions=functions,
        Parameters=m.parameter("x", 1, "false"),
        Rules=f'<rateRule variable="x">{m.MATH}<apply><ci>f39</ci><ci>x</ci></apply></math></rateRule>',
    )
    path = written(tmp_path, text)
    if other == "<ci>s</ci>":
        assert values(read_system(path).expression, np.array([[1.0]]))[0, 0] == 2.0**39
    else:
        with pytest.raises(SourceError, match="unfold into more than"):
            read_system(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        read_system(tmp_path / "nowhere.sbml")
