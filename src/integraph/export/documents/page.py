"""A page: one HTML file that integrates the ODE in a browser, with sliders for the inputs and a chart of the registers.

Texts from outside travel as JSON and are set as texts; scripts are allowed by their hash, and nothing may be fetched.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.export.equations import output_names, start_box
from integraph.export.header import header, meanings, plain
from integraph.report.markup import Html, escaped, joined, tag
from integraph.report.page import colour_variables, content_policy, data

if TYPE_CHECKING:
    from integraph.program import Program

BODY = """<header><h1>{name}</h1><p id="source"></p></header>
<main>
<div class="top">
<section aria-labelledby="inputs-title"><h2 id="inputs-title">Inputs</h2><div id="sliders"></div><p id="more"></p>
<label class="hint" for="all">All inputs, separated by commas</label><input id="all" autocomplete="off"></section>
<section aria-labelledby="outputs-title"><h2 id="outputs-title">Outputs</h2><div id="outputs"></div>
<p id="status" role="status"></p><p id="effort"></p></section>
</div>
<section aria-labelledby="registers-title"><h2 id="registers-title">Registers over time</h2>
<svg id="chart" role="img" aria-label="The registers over time"></svg>
<p class="hint settings"><label><input type="checkbox" id="compress" autocomplete="off"> compress large values</label>
<span id="moment"></span></p>
<ul id="legend"></ul><p id="undrawn"></p></section>
<section aria-labelledby="equations-title"><h2 id="equations-title">Equations</h2>
<p class="hint">Numbers are shown with six digits; this page computes with all of them.</p>
<div id="equations"></div></section>
<section aria-labelledby="about-title"><h2 id="about-title">About this file</h2><ul id="about"></ul></section>
</main>
<noscript><p>This page computes with its own JavaScript, which is off.</p></noscript>
"""


def write(program: Program, name: str) -> str:
    scripts = [_own("taylor.js"), _own("page.js")]
    head = [
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escaped(content_policy(scripts))}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        tag("title", name),
        tag("style", Html(colour_variables() + _own("page.css"))),
    ]
    body = [Html(BODY.format(name=name)), data(_model(program, name), id="model")]
    body += [tag("script", Html(text)) for text in scripts]
    return f'<!DOCTYPE html>\n<html lang="en">\n{tag("head", joined(head))}\n{tag("body", joined(body))}\n</html>\n'


def _own(file: str) -> str:
    return files("integraph.export.documents").joinpath(file).read_text("ascii")


def _model(program: Program, name: str) -> dict[str, Any]:
    """All that the scripts need; numbers are decimals that JavaScript reads back exactly."""
    controls, readout = program.controls(), program.readout.tocoo()
    names = [program.registers.name(register) for register in range(program.width)]
    low, high = map(np.array, start_box(program))
    starts = np.searchsorted(controls.segment, np.arange(program.depth + 1)).tolist()
    columns = {letter: getattr(controls, letter).tolist() for letter in ("i", "j", "k", "value")}
    segments = [
        {"label": plain(segment.label), "duration": segment.duration}
        | {letter: column[starts[n] : starts[n + 1]] for letter, column in columns.items()}
        for n, segment in enumerate(program.segments)
    ]
    return {
        "about": header(program, name, exact=True),
        "source": plain(program.source),
        "registers": names,
        "meanings": meanings(program),
        "outputs": output_names(names, program.outputs),
        "low": low.tolist(),
        "high": high.tolist(),
        "start": np.clip(np.round(0.7 * low + 0.3 * high, 2), low, high).tolist(),
        "segments": segments,
        "readout": [
            list(row) for row in zip(readout.row.tolist(), readout.col.tolist(), readout.data.tolist(), strict=True)
        ],
    }
