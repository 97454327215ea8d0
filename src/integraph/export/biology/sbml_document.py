"""What SBML files share: the document, numbers as parameters, products and sums in MathML, an event for each switch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from integraph.export.equations import Equations
from integraph.export.header import plain

MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">{}</math>'
INTEGER = '<cn sbml:units="dimensionless" type="integer">{}</cn>'
TIME = '<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">time</csymbol>'
CORE = "http://www.sbml.org/sbml/level3/version2/core"
DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="{core}" xmlns:sbml="{core}" level="3" version="2">
<model id="{name}" timeUnits="dimensionless"{units}>
<notes><body xmlns="http://www.w3.org/1999/xhtml">
{notes}</body></notes>
{lists}</model>
</sbml>
"""
PARAMETER = '<parameter id="{}" value="{!r}" units="dimensionless" constant="{}"{}/>\n'
EVENT = """<event id="switch__{0}" useValuesFromTriggerTime="true"><trigger initialValue="true" persistent="true">{1}
</trigger><listOfEventAssignments>{2}</listOfEventAssignments></event>
"""
ASSIGNMENT = '<eventAssignment variable="{}">{}</eventAssignment>'
TIMING = (
    "Time: segment n runs from time n - 1 to n, and its duration is the parameter duration__n; simulate up to time {}."
)


class Constants:
    """Numbers as parameters, each once: `c__1, c__2, ...`."""

    def __init__(self) -> None:
        self._names: dict[float, str] = {}

    def name(self, value: float) -> str:
        return self._names.setdefault(value, f"c__{len(self._names) + 1}")

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return ((name, value) for value, name in self._names.items())

    def parameters(self) -> str:
        return "".join(parameter(name, value) for name, value in self)


def document(name: str, about: Sequence[str], lists: str, units: str = "") -> str:
    notes = "".join(f"<p>{escaped(line)}</p>\n" for line in about)
    return DOCUMENT.format(core=CORE, name=name, notes=notes, lists=lists, units=units)


def escaped(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def listed(kind: str, items: str) -> str:
    return f"<listOf{kind}>\n{items}</listOf{kind}>\n" if items else ""


def parameter(name: str, value: float, label: str = "", *, constant: bool = True) -> str:
    return PARAMETER.format(name, value, str(constant).lower(), f' name="{label}"' if label else "")


def apply(operator: str, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<apply><{operator}/>{''.join(parts)}</apply>"


def product(names: Iterable[str]) -> str:
    return apply("times", [f"<ci>{name}</ci>" for name in names])


def runs(eq: Equations) -> str:
    """The durations, and which segment runs: at first the first one."""
    text = ""
    for number, (duration, label) in enumerate(zip(eq.durations, eq.labels, strict=True), 1):
        text += parameter(f"duration__{number}", duration, escaped(plain(label)))
        text += parameter(f"run__{number}", duration if number == 1 else 0.0, constant=False)
    return text


def events(eq: Equations) -> str:
    """At time n, segment n stops, and the next one runs if there is one."""
    text = ""
    for number in range(1, len(eq.durations) + 1):
        trigger = MATH.format(f"<apply><geq/>{TIME}{INTEGER.format(number)}</apply>")
        changes = ASSIGNMENT.format(f"run__{number}", MATH.format(INTEGER.format(0)))
        if number < len(eq.durations):
            changes += ASSIGNMENT.format(f"run__{number + 1}", MATH.format(f"<ci>duration__{number + 1}</ci>"))
        text += EVENT.format(number, trigger, changes)
    return text
