"""Reports: one HTML file about one program, or one closed loop, which needs nothing but a browser.

Everything that a program or a source says is escaped; the page runs only its own script, by the hash of its text.

Read `contents`, the sections in order, with `error_summary`, and `loop_contents`; `report_file` and `page` make the
file, `markup` and `mathml` its HTML, `panel_data` and `decimation` what `chart.js` and `page.js` draw.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without `typing`: this loads with the package, before the command catches Ctrl-C
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import ArrayLike

    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.loops.result import LoopResult
    from integraph.certify.proof import Proof
    from integraph.files import FilePath
    from integraph.frontends import Inputs, Parameters, Variables
    from integraph.program import Program


def report(
    program: Program | LoopResult,
    path: FilePath = "report.html",
    source: Any = None,
    *,
    box: ArrayLike | None = None,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
    proof: Proof | Certificate | FilePath | None = None,
    figures: FilePath | None = None,
    formats: Sequence[str] = ("png",),
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write all there is to know about a program, or what `loop` proved, as one HTML file, and return its path.

    Of a program, `source` is what was compiled; a formula that it names may be left out. `proof` is what `certify`
    found, or its certificate, or the file of that. `figures` is a folder that gets every picture as a file in each of
    the `formats`, "png", "svg" or "pdf". `progress` is told what is being done.
    """
    from integraph.report.report_file import is_loop, write, write_loop

    given: Any = program
    if is_loop(given):
        return write_loop(given, path, figures, formats, progress)
    return write(given, path, source, box, variables, inputs, parameters, proof, figures, formats, progress)
