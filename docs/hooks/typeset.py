"""Typeset the mathematics of the pages when they are built: LaTeX becomes MathML, which browsers draw by themselves.

A formula is `$…$` in a sentence and a fence of kind `math` on lines of its own; GitHub shows both. The pages need no
script, no font and no network for them. latex2mathml translates; `polish` mends what it leaves to chance.
"""

from __future__ import annotations

import html
import re
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[]\s*(?P<latex>.*?)\s*\\[)\]]</(?P=tag)>(?P<after>[.,;:)]*)', re.DOTALL
)
FUNCTION = re.compile(r"[A-Za-z]{2,}")
SIGNS = {"+", "−"}
ENDS = {")", "]", "⌉", "⌋", "|", "‖", "!", "′", "″", "…"}  # operators behind which a sign is binary
PRIMES = {"′", "″", "‴"}
TIGHT = {"|", "‖", "/"}
FENCES = {"⌈": "prefix", "⌊": "prefix", "⌉": "postfix", "⌋": "postfix"}


def on_page_content(content: str, /, **_: object) -> str:
    """The hook of mkdocs: every formula of a page, as its Markdown left it."""
    return FORMULA.sub(typeset, content)


def typeset(formula: re.Match[str]) -> str:
    """A formula on lines of its own, or in a sentence; there a comma stays with it, so that no line begins with one."""
    latex = html.unescape(formula["latex"])
    if formula["tag"] == "div":
        return f'<div class="formula">{mathml(latex, "block")}</div>{formula["after"]}'
    return f'<span class="formula-inline">{mathml(latex)}{formula["after"]}</span>'


def mathml(latex: str, display: str = "inline") -> str:
    """One formula as MathML. A command that is not translated is an error, so that no page shows its name."""
    root = convert_to_element(latex, display=display)
    polish(root)
    text = tostring(root, encoding="unicode")
    if "\\" in text or "&amp;" in text:
        raise ValueError(f"not LaTeX that can be typeset: {latex}")
    return text


def polish(parent: Element) -> None:
    """Spaces around names of functions, none beside signs and fences, primes at the height of their glyph."""
    for child in parent:
        child.text = html.unescape(child.text) if child.text else child.text
        polish(child)
    for number, child in enumerate(list(parent)):
        before = parent[number - 1] if number else None
        after = parent[number + 1] if number + 1 < len(parent) else None
        if child.tag in ("msup", "msubsup") and child[-1].text in PRIMES:
            parent[number] = primed(child)
        elif child.tag == "mover" and child[1].tag == "mo":
            child[1].set("stretchy", "false")  # a hat is as wide as a letter
        else:
            space(child, before, after)


def space(symbol: Element, before: Element | None, after: Element | None) -> None:
    """Say how much space an operator needs among its neighbours, where a browser could only guess."""
    text = symbol.text or ""
    begins = before is None or (before.tag == "mo" and before.text not in ENDS)
    if symbol.tag in ("mi", "mo") and FUNCTION.fullmatch(text):
        opens = after is not None and after.text in ("(", "[")
        symbol.tag = "mo"
        symbol.attrib = {"lspace": "0em" if begins else "0.17em", "rspace": "0em" if opens else "0.17em"}
    elif text in SIGNS and begins:
        symbol.set("form", "prefix")
    elif text in TIGHT:
        symbol.tag, symbol.attrib = "mo", {"stretchy": "false", "lspace": "0em", "rspace": "0em"}
    elif text in FENCES:
        symbol.tag, symbol.attrib = "mo", {"stretchy": "false", **symbol.attrib, "form": FENCES[text]}


def primed(script: Element) -> Element:
    """Base, or base with its index, and beside it the prime: as a superscript it would be raised twice."""
    base, *index, prime = script
    row = Element("mrow")
    prime.tag, prime.attrib = "mo", {"lspace": "0em", "rspace": "0em"}
    if index:
        inner = Element("msub")
        inner.extend([base, *index])
        base = inner
    row.extend([base, prime])
    return row
