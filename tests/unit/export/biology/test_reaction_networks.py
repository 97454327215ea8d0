"""Reaction networks: judged by libSBML, Antimony, libRoadRunner and COPASI, and read back reaction by reaction."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph import Program
from integraph.errors import UsageError
from lazy import Lazy, needs
from sbml_tools import by_copasi, by_roadrunner, complaints
from slow import mostly_slow

antimony = Lazy("antimony")
NAMES = list(export_programs.PROGRAMS)
SUFFIXES = (".crn.xml", ".ant")
Law = tuple[str, ...]  # factors of a rate, sorted
Rates = dict[str, dict[Law, float]]  # for each register, the coefficients of (p - n)'


def reactions_of_xml(text: str) -> list[tuple[Counter[str], Counter[str], list[str]]]:
    def side(reaction: ET.Element, kind: str) -> Counter[str]:
        references = reaction.findall(f"{{*}}listOf{kind}/{{*}}speciesReference")
        return Counter({one.attrib["species"]: int(one.attrib["stoichiometry"]) for one in references})

    return [
        (side(one, "Reactants"), side(one, "Products"), [str(ci.text) for ci in one.iter() if ci.tag.endswith("}ci")])
        for one in ET.fromstring(text).iter()
        if one.tag.endswith("}reaction")
    ]


def reactions_of_antimony(text: str) -> list[tuple[Counter[str], Counter[str], list[str]]]:
    def side(part: str) -> Counter[str]:
        species: Counter[str] = Counter()
        for one in filter(None, (word.strip() for word in part.split("+"))):
            count, _, name = one.rpartition(" ")
            species[name] += int(count or 1)
        return species

    rows = re.findall(r"reaction__\d+: (.*?)-> (.*?); (.*);", text)
    return [(side(left), side(right), law.split("*")) for left, right, law in rows]


def read(path: Path) -> tuple[Rates, float]:
    """(p - n)' of each register as a polynomial in the rails, and the rate of annihilation."""
    text = path.read_text()
    xml = path.suffix == ".xml"
    number = r'id="(c__\d+)" value="([^"]+)"' if xml else r"^  (c__\d+) = (\S+);"
    values = {name: float(value) for name, value in re.findall(number, text, re.MULTILINE)}
    rates: Rates = defaultdict(dict)
    annihilation = set()
    for reactants, products, law in reactions_of_xml(text) if xml else reactions_of_antimony(text):
        (constant,) = (values[name] for name in law if name in values)
        species = [name for name in law if name not in values and not name.startswith(("run__", "vessel__"))]
        assert Counter(species) == reactants  # mass action
        net = products.copy()
        net.subtract(reactants)
        changes = {name: change for name, change in net.items() if change}
        if not products and len(reactants) == 2 and len({name[:-3] for name in reactants}) == 1:
            annihilation.add(constant)
            assert sorted(changes.values()) == [-1, -1]
            continue
        ((name, change),) = changes.items()
        sign = change * (1 if name.endswith("__p") else -1)
        gate = [name for name in law if name.startswith("run__")]
        key = tuple(sorted(gate + species))
        assert key not in rates[name[:-3]]
        rates[name[:-3]][key] = sign * constant
    (rate,) = annihilation
    return rates, rate


def expected(program: Program) -> Rates:
    names = [program.registers.name(register) for register in range(program.width)]
    c = program.controls()
    rates: Rates = defaultdict(lambda: defaultdict(float))
    for s, i, j, k, value in zip(*(part.tolist() for part in (c.segment, c.i, c.j, c.k, c.value)), strict=True):
        factors = [names[f] for f in (j, k) if f >= 0]
        for signs in product("pn", repeat=len(factors)):
            rails = [f"{name}__{sign}" for name, sign in zip(factors, signs, strict=True)]
            sign = -1 if signs.count("n") % 2 else 1
            rates[names[i]][tuple(sorted([f"run__{s + 1}", *rails]))] += sign * value
    return rates


@mostly_slow("suffix", SUFFIXES, quick=1)
@mostly_slow("name", NAMES, quick=1)
def test_the_reactions_are_those_of_the_program(name: str, suffix: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    rates, annihilation = read(program.export(tmp_path / f"wave{suffix}"))
    assert rates == expected(program)
    assert annihilation == 100


@needs("libsbml")
@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "hostile"])
def test_libsbml_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    program = {"hostile": export_programs.hostile, **export_programs.PROGRAMS}[name]()
    assert complaints(program.export(tmp_path / "out1.crn.xml")) == []


def names(program: Program) -> tuple[list[str], list[str]]:
    return [program.registers.name(n) for n in range(program.inputs)], [f"out{n + 1}" for n in range(program.outputs)]


def translated(path: Path) -> Path:
    """The Antimony file as the SBML that Antimony makes of it."""
    assert antimony.loadAntimonyFile(str(path)) >= 0, antimony.getLastError()
    assert antimony.writeSBMLFile(str(path.with_suffix(".xml")), antimony.getMainModuleName())
    return path.with_suffix(".xml")


@needs("roadrunner")
@needs("basico")
@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", NAMES)
def test_roadrunner_and_copasi_give_the_same_outputs(name: str, suffix: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    x = export_programs.inputs(program, 3)
    path = program.export(tmp_path / f"wave{suffix}")
    path = translated(path) if suffix == ".ant" else path
    assert np.abs(by_roadrunner(path, program, x, *names(program), derived=True) - program(x)).max() <= 1e-9
    assert np.abs(by_copasi(path, program, x, *names(program)) - program(x)).max() <= 1e-9


@needs("roadrunner")
@needs("basico")
@pytest.mark.slow
def test_a_lifted_system_whose_species_are_cleared(tmp_path: Path) -> None:
    """They fall to e⁻¹⁰⁰ of their size, so CVODE needs an absolute tolerance far below that of the results."""
    program = export_programs.lifted()
    x, path = export_programs.inputs(program, 2), program.export(tmp_path / "pendulum.crn.xml")
    assert np.abs(by_roadrunner(path, program, x, *names(program), True, 1e-30) - program(x)).max() <= 1e-9
    assert np.abs(by_copasi(path, program, x, *names(program)) - program(x)).max() <= 1e-9


@needs("antimony")
def test_antimony_keeps_15_digits_as_the_header_says(tmp_path: Path) -> None:
    path = export_programs.formula().export(tmp_path / "wave.ant", annihilation=1 / 3e5)
    written = {
        name: float(value) for name, value in re.findall(r"^  (c__\d+) = (\S+);", path.read_text(), re.MULTILINE)
    }
    translation = translated(path).read_text()
    kept = {name: float(value) for name, value in re.findall(r'id="(c__\d+)" value="([^"]+)"', translation)}
    assert kept == pytest.approx(written, rel=1e-14, abs=0)
    assert 1 / 3e5 in written.values()


def test_the_rate_of_annihilation_is_given_or_explained(tmp_path: Path) -> None:
    program = export_programs.formula()
    assert "at rate 100.0 no p + n exceeds" in program.export(tmp_path / "a.ant").read_text()
    given = program.export(tmp_path / "a.ant", annihilation=7)
    assert "its rate was given" in given.read_text()
    assert read(given)[1] == 7
    for wrong in (-1, float("nan"), "fast", True):
        with pytest.raises(UsageError, match="annihilation is a rate"):
            program.export(tmp_path / "a.ant", annihilation=wrong)
