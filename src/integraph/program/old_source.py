"""Facts that a file of version 0.1 tells only in texts: the origin in `Program.source`, layers in the labels of probes.

Nothing else reads these texts. Whether a source is a formula, the formula parser decides.
"""

from __future__ import annotations

import re
from dataclasses import replace

from integraph.program.annotations import Domain
from integraph.program.origin import EXACT, NETWORK, THEOREM1, UNKNOWN, Option, Origin
from integraph.program.program import Program

HOW = (  # a program was compiled, by the end of its text
    re.compile(r", (?P<smoothed>exact|smoothed)(?P<free>, cleaned| up to e\^−\S+)?$"),
    re.compile(rf", Theorem 1, (?P<method>{'|'.join(THEOREM1)}), order (?P<order>[0-9]+), N = (?P<N>[0-9]+)"),
    re.compile(r", (?P<method>narrow)$"),
    re.compile(r", (?P<method>wide)(?P<free>, cleaned| with decay)?$"),
)
LAYER = re.compile(r"layer (?P<number>[1-9][0-9]{0,8})")
INPUTS = re.compile(r" in \((?P<variables>[\w, ]+)\)$")
VERSION = "0.1"


def with_old_layers(program: Program) -> Program:
    """The program with the layers that its probes name."""
    said = (LAYER.fullmatch(probe.label) for probe in program.probes)
    pairs = zip(program.probes, said, strict=True)
    return program.annotate(
        probes=tuple(probe if name is None else replace(probe, layer=int(name["number"])) for probe, name in pairs)
    )


def with_old_origin(program: Program) -> Program:
    """The program with the origin that its text states, if it states one."""
    said = next((match for pattern in HOW if (match := pattern.search(program.source))), None)
    if said is None:
        return program
    variables: tuple[str, ...] = ()
    facts, source = said.groupdict(), program.source[: said.start()]
    options: dict[str, Option] = {name: int(facts[name]) for name in ("order", "N") if name in facts}
    if "free" in facts:
        options["free"] = {None: "keep", ", cleaned": "clean"}.get(facts["free"], "decay")
    if facts.get("smoothed") == "smoothed":
        options["smoothed"] = True
    method = facts.get("method", EXACT)
    if inputs := INPUTS.search(source):
        named = tuple(inputs["variables"].replace(",", " ").split())
        source, variables = source[: inputs.start()], named if len(named) == program.inputs else ()
    box = None if program.box is None else Domain(program.box.low, program.box.high)
    kind = UNKNOWN if method in (EXACT, *THEOREM1) else NETWORK
    return program.annotate(origin=Origin(source, kind, method, None, options, variables, box, VERSION))
