"""From a program to a file: choose the format, refuse what it cannot hold, write the file whole or not at all."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integraph.errors import UsageError
from integraph.export.formats import FORMATS, Format, format_named
from integraph.files import atomic, check_path
from integraph.program.engine import DOUBLE
from integraph.program.identifiers import LONGEST, is_identifier

if TYPE_CHECKING:
    from integraph.program import Program

MODEL = "model"  # the name of a model whose file has none that every language takes


def export(
    program: Program,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    limit: int | None = None,
    name: str | None = None,
    **options: Any,
) -> Path:
    """Write the ODE of a program for another tool, and return the path.

    The format follows from the suffix unless it is named. `limit` is the largest number of terms that is written;
    `name` is that of the model in the file. Other options are those of the format."""
    check_path(path)
    target = Path(path)
    chosen = format_named(format, target)
    _fits(program, chosen, limit)
    text = chosen.write(program, model_name(target, name), **_options(chosen, options))
    with atomic(target) as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return target


def model_name(path: Path, wish: str | None = None) -> str:
    """The name of the model: an identifier in every language, from the name of the file if none is given."""
    if wish is not None:
        if not is_identifier(wish):
            raise UsageError(
                f"a name is an ASCII letter, then at most {LONGEST - 1} letters, digits and single underscores, and "
                "no keyword of a language",
                argument="name",
                value=wish,
            )
        return wish
    stem = re.sub(r"[^A-Za-z0-9]+", "_", path.name.partition(".")[0]).strip("_")[:LONGEST].strip("_")
    return next((one for one in (stem, f"{MODEL}_{stem}"[:LONGEST]) if is_identifier(one)), MODEL)


def _fits(program: Program, chosen: Format, limit: int | None) -> None:
    if program.bits > DOUBLE:
        raise UsageError(
            f"this program needs {program.bits} bits, and the numbers of other tools have {DOUBLE}: compile it by "
            "'lean' or 'remark', which need no more"
        )
    most = chosen.limit if limit is None else limit
    if isinstance(most, bool) or not isinstance(most, int | float) or math.isnan(most) or most < 0:
        raise UsageError("limit is a number of terms", argument="limit", value=limit)
    if program.terms > most:
        larger = [one.name for one in FORMATS if one.limit >= program.terms and one.limit > chosen.limit]
        other = f"; formats that can: {', '.join(larger)}" if larger else ""
        raise UsageError(
            f"{program.terms:,} terms are more than the {most:,} that {chosen.name} takes{other}; or raise the limit",
            argument="limit",
        )


def _options(chosen: Format, given: dict[str, Any]) -> dict[str, Any]:
    known = chosen.options()
    for option, value in given.items():
        if option not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise UsageError(f"the format {chosen.name} has no option {option!r}: {has}", argument=option, value=value)
    return given
