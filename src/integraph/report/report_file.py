"""From a program, or a closed loop, to the file of its report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from integraph.errors import FileError, UsageError
from integraph.files import FilePath, atomic, check_path
from integraph.frontends import Inputs, Parameters, Variables
from integraph.plot import gallery
from integraph.plot.picture import Picture
from integraph.plot.subject import Subject, subject
from integraph.program import Program
from integraph.report.contents import contents
from integraph.report.page import page
from integraph.targets import Function, Network
from integraph.targets.graph import Graph
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.certify.loops.result import LoopResult

SUFFIXES = (".html", ".htm")


def write(
    program: Program,
    path: FilePath,
    source: Any,
    box: ArrayLike | None,
    variables: Variables,
    inputs: Inputs,
    parameters: Parameters,
    proof: Any,
    figures: FilePath | None,
    formats: Sequence[str],
    progress: Callable[[str], None] | None,
) -> Path:
    """`integraph.report`, with all its arguments."""
    say = progress or (lambda text: None)
    _page(path)
    folder = None if figures is None else _folder(figures, formats)
    say("reading the source")
    shown = subject(
        program, source, box=box, variables=variables, inputs=inputs, proof=_read(proof), parameters=parameters
    )
    _fits(shown)
    drawn = gallery(shown, say)
    _draw(drawn, folder, formats, say)
    say("writing the page")
    sections = contents(shown, drawn, shown.proof)
    return _put(path, page(program.source, sections, f"Report on the quadratic neural ODE of {_shape(program)}"))


def is_loop(source: object) -> bool:
    """Whether this is what `loop` proved; its class is imported only where it is no program."""
    if isinstance(source, Program):
        return False
    from integraph.certify.loops.result import LoopResult

    return isinstance(source, LoopResult)


def write_loop(
    result: LoopResult,
    path: FilePath,
    figures: FilePath | None,
    formats: Sequence[str],
    progress: Callable[[str], None] | None,
) -> Path:
    """The report of a closed loop."""
    from integraph.plot.closed_loop import PICTURES
    from integraph.report.loop_contents import loop_contents

    say = progress or (lambda text: None)
    _page(path)
    folder = None if figures is None else _folder(figures, formats)
    say("simulating")
    drawn = {name: draw(result) for name, draw in PICTURES.items()}
    _draw(drawn, folder, formats, say)
    loop = result.loop
    lead = f"{counted(len(loop.states), 'state')}, {counted(loop.steps, 'period')} of {loop.period:g}"
    return _put(path, page(f"A closed loop: {result.answer.value}", loop_contents(result, drawn), lead))


def _draw(
    gallery: Mapping[str, Picture | str], folder: Path | None, formats: Sequence[str], say: Callable[[str], None]
) -> None:
    """Every picture as a file, where a folder is given."""
    if folder is None:
        return
    from integraph.plot import matplotlib_renderer

    for picture in (drawing for drawing in gallery.values() if isinstance(drawing, Picture)):
        say(f"drawing {picture.name}")
        for suffix in formats:
            matplotlib_renderer.save(picture, folder / f"{picture.name}.{suffix}")


def _put(path: FilePath, text: str) -> Path:
    """Written last: where there is a page, there is all that was asked for."""
    with atomic(path) as file:
        file.write(text.encode())
    return Path(path)


def _page(path: FilePath) -> None:
    """A page takes no other file's place: a program's, say."""
    check_path(path)
    if Path(path).suffix.lower() not in SUFFIXES:
        raise UsageError(f"{os.fspath(path)}: a report is a page, {' or '.join(SUFFIXES)}; give the path such a suffix")


def _shape(program: Program) -> str:
    """How many numbers go in and come out, in words."""
    counts = {"input": program.inputs, "output": program.outputs}
    return " and ".join(counted(count, name) for name, count in counts.items())


def _folder(figures: FilePath, formats: Sequence[str]) -> Path:
    """A folder for files; what cannot be written is refused before the work begins."""
    from integraph.plot import matplotlib_renderer

    check_path(figures)
    if isinstance(formats, str):
        raise UsageError(f"give a list, [{formats!r}]", argument="formats", value=formats)
    for name in formats:
        matplotlib_renderer.format_of(f"picture.{name}")
    try:
        Path(figures).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {os.fspath(figures)}: {error.strerror or error}") from None
    return Path(figures)


def _read(proof: Any) -> Any:
    """What `certify` gave, or the certificate that it wrote."""
    if proof is None:
        return None
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.proof import Proof

    return proof if isinstance(proof, Proof | Certificate) else Certificate.load(proof)


def _fits(subject: Subject) -> None:
    """The proof must be about this program and this source."""
    certificate: Any = getattr(subject.proof, "certificate", subject.proof)
    if certificate is None:
        return
    from integraph.certify.problem import Unprovable
    from integraph.certify.statement import digests, of_program

    own = of_program(subject.program)
    if certificate.program != own:
        raise UsageError(
            f"the proof is about a program with hash {certificate.program}, this one has {own}: give this one's proof"
        )
    if isinstance(subject.target, Network | Function | Graph):
        try:
            same = certificate.target == digests(subject.program, subject.target)[1]
        except Unprovable:
            same = False
        if not same:
            raise UsageError(f"the proof is about another source than {subject.target!r}: give the one that was proved")
