"""A law of texts: each is a formula, whose record is read again as the same, or a mistake that is shown in place."""

from __future__ import annotations

from typing import Any

from integraph.errors import SourceError
from integraph.frontends.formula.parser import parse


def assert_read_or_shown(text: str, **options: Any) -> None:
    """Fails if neither is so."""
    try:
        expression = parse(text, **options).expression
    except SourceError as error:
        good = set(str(error).split("\n")[2]) == {" ", "^"}
    else:
        assert expression is not None
        good = parse(expression.source, expression.variables).expression == expression
    assert good, text
