"""Messages that speak of arguments in Python, as whoever types a command would say them."""

from __future__ import annotations

import re

WORDS = (
    (re.compile(r"integraph\.network\(module, inputs=n\)"), "--inputs"),
    (re.compile(r"\binputs=(\w+)"), r"--inputs \1"),
    (re.compile(r"\bvariables=\['(\w+)', …\]"), r"--variables \1,…"),
    (re.compile(r"\b(inputs|variables|box)=(?=$|[\s,;:)])"), r"--\1"),
    (
        re.compile(r"the box has shape \((\d+), 2\): needs \(low, high\) for all inputs, (\d+) such pairs, or .*"),
        r"--box has \1 pairs: needs 'low,high' for all inputs, or \2 of them, a pair for each",
    ),
)


def spoken(message: str) -> str:
    """`inputs=2` becomes `--inputs 2`."""
    for pattern, words in WORDS:
        message = pattern.sub(words, message)
    return message
