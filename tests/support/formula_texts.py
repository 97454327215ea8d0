"""A law of texts: each is a formula, whose record is read again as the same, or a mistake that is shown in place."""

from __future__ import annotations

from typing import Any

import pytest

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


def assert_shown(text: str, marked: str, message: str) -> str:
    """Fails unless the text is refused with this message, and a caret below what is `marked`; returns the fix."""
    with pytest.raises(SourceError) as caught:
        parse(text)
    reason, line, caret, fix = str(caught.value).split("\n")
    assert message in reason + fix
    assert line.ljust(len(caret))[caret.index("^") : len(caret)] == marked
    return fix
