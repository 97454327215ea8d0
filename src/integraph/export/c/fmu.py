"""FMU 2.0 for co-simulation and model exchange: a zip archive of a model description and the C file that it needs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from integraph.export.c.c99 import comment, core, template
from integraph.export.c.c_names import function_name
from integraph.export.equations import output_names, start_box
from integraph.export.header import header, meanings
from integraph.version import VERSION

if TYPE_CHECKING:
    from integraph.program import Program

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in the archive: the same program gives the same bytes
CAPABLE = {
    "CoSimulation": ' canHandleVariableCommunicationStepSize="true" canGetAndSetFMUstate="true"',
    "ModelExchange": ' completedIntegratorStepNotNeeded="true" canGetAndSetFMUstate="true"',
}
DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="{name}" guid={guid} description={about}
    generationTool="integraph {version}" variableNamingConvention="structured" numberOfEventIndicators="0">
{kinds}
  <LogCategories>
    <Category name="error"/>
  </LogCategories>
  <DefaultExperiment startTime="0.0" stopTime="{horizon!r}" tolerance="1e-10"/>
  <ModelVariables>
{variables}
  </ModelVariables>
  <ModelStructure>
{structure}
  </ModelStructure>
</fmiModelDescription>
"""


def write(program: Program, name: str) -> bytes:
    function = function_name(name)
    starts = [(low + high) / 2 for low, high in zip(*start_box(program), strict=True)]
    guid = f"{{{program.digest[:32]}}}"
    tables = f'static const char MODEL_GUID[] = "{guid}";\n' + (
        f"static const double MODEL_default[MODEL_INPUTS + 1] = {{{', '.join(map(float.hex, [*starts, 0.0]))}}};\n"
    )
    source = comment(header(program, name, exact=True)) + core(program, function)
    kinds = (
        f'  <{kind} modelIdentifier="{function}"{flags}>\n    <SourceFiles>\n      <File name="{function}.c"/>\n'
        f"    </SourceFiles>\n  </{kind}>"
        for kind, flags in sorted(CAPABLE.items(), reverse=True)
    )
    description = DESCRIPTION.format(
        name=name,
        guid=quoteattr(guid),
        about=quoteattr("; ".join(header(program, name, exact=True)[:4])),
        version=VERSION,
        kinds="\n".join(kinds),
        horizon=program.horizon,
        variables="\n".join(_variables(program, starts)),
        structure="\n".join(_structure(program)),
    )
    return _archive(
        {
            "modelDescription.xml": description,
            f"sources/{function}.c": source + template("fmi2.c", function, STARTS=tables),
        }
    )


def _variables(program: Program, starts: list[float]) -> Iterator[str]:
    """Registers, their derivatives, inputs and outputs, in the order of their value references."""
    width, says = program.width, meanings(program)
    names = [program.registers.name(register) for register in range(width)]
    for n, name in enumerate(names):
        yield _variable(n, f"state.{name}", "local", 'initial="calculated"', says[n])
    for n, name in enumerate(names):
        yield _variable(width + n, f"der(state.{name})", "local", 'initial="calculated"', real=f' derivative="{n + 1}"')
    for n, start in enumerate(starts):
        fixed, real = 'variability="fixed" initial="exact"', f' start="{start!r}"'
        yield _variable(2 * width + n, names[n], "parameter", fixed, says[n], real)
    for n, name in enumerate(output_names(names, program.outputs)):
        yield _variable(2 * width + len(starts) + n, name, "output", 'initial="calculated"')


def _variable(reference: int, name: str, causality: str, more: str, meaning: str = "", real: str = "") -> str:
    says = f" description={quoteattr(meaning)}" if meaning else ""
    head = f'name={quoteattr(name)} valueReference="{reference}" causality="{causality}" {more}{says}'
    return f"    <ScalarVariable {head}><Real{real}/></ScalarVariable>"


def _structure(program: Program) -> Iterator[str]:
    """Outputs, derivatives and what is computed at the start, each by its place among the variables, from 1."""
    width = program.width
    first = 2 * width + program.inputs + 1
    outputs, states = range(first, first + program.outputs), range(1, 2 * width + 1)
    yield from _unknowns("Outputs", outputs)
    yield from _unknowns("Derivatives", states[width:])
    yield from _unknowns("InitialUnknowns", [*states, *outputs])


def _unknowns(kind: str, places: Iterable[int]) -> list[str]:
    return [f"    <{kind}>", *(f'      <Unknown index="{place}"/>' for place in places), f"    </{kind}>"]


def _archive(files: dict[str, str]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), text.encode("ascii"), zipfile.ZIP_DEFLATED)
    return whole.getvalue()
