"""Verisig's YAML, also that of JuliaReach: `weights`, `offsets` and `activations`, each by the number of its layer.

Only the part of YAML that such files are written in is read: mappings, sequences and plain words, in blocks or in
brackets. A tag, an anchor, an alias or a block of text is refused where it stands, so nothing in a file can construct
an object or repeat a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from integraph.errors import FileError
from integraph.frontends.verification.activation_names import canonical
from integraph.frontends.verification.text_lines import cut_notes, floats, shown, text
from integraph.numbers.arrays import Floats
from integraph.targets import Network, from_layers
from integraph.text import clean, counted, joined

LARGEST = 1 << 25  # bytes of a text; its nodes need 30 times as many
DEPTH = 6  # levels of nesting; a weight is at the fourth
SHOWN = 12  # other keys
PARTS = ("weights", "offsets", "activations")
TOKEN = re.compile(
    r"""(?P<blank>[ ]+|(?:(?<=\s)|^)\#[^\n]*|\r?\n|(?:(?<=\n)|\A)---[ ]*(?=\r?\n))
    |(?P<mark>-(?=\s|\Z)|:(?=\s|\Z)|[\[\]{},])
    |(?P<quoted>"[^"\\\n]*"|'[^'\n]*')
    |(?P<word>[^\s\[\]{},:\#!&*|>%@`?"'][^\s\[\]{},:\#]*)""",
    re.VERBOSE,
)
REFUSED = "tags, anchors, aliases, tabs and blocks of text are not read: write plain numbers, lists and keys"


class Token(NamedTuple):
    """A word or a mark, with its line and column; nothing is after the last."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def word(self) -> bool:
        return self.kind in ("word", "quoted")

    def refuse(self, expected: str) -> FileError:
        got = "the end" if self.kind == "end" else shown(self.text)
        return FileError(f"line {self.line}: expected {expected}, got {got}")


class Node(NamedTuple):
    """A mapping, a list or a word, and its line."""

    value: dict[str, Node] | list[Node] | str
    line: int


def read(path: Path) -> Network:
    content = text(path, LARGEST)
    document = Document(content).node().value
    if not isinstance(document, dict) or not set(PARTS) <= set(document):
        raise FileError(f"expected the keys {', '.join(PARTS)} at the beginning of lines: this is not a net of Verisig")
    weights, offsets, activations = (_by_layer(document[part], part) for part in PARTS)
    if not len(weights) == len(offsets) == len(activations):
        counts = f"{counted(len(weights), 'weight')}, {counted(len(offsets), 'offset')} and "
        counts += counted(len(activations), "activation")
        raise FileError(f"there are {counts}: each layer needs one of each")
    layers = [
        (_matrix(A, f"weights of layer {n}"), _vector(b, f"offsets of layer {n}"), _activation(name, n))
        for n, (A, b, name) in enumerate(zip(weights, offsets, activations, strict=True), 1)
    ]
    rest = sorted(set(document) - set(PARTS))
    notes = [f"not read, because it is not part of the net: {joined(map(clean, rest), ', ', SHOWN)}"] if rest else []
    return from_layers(layers, f"Verisig file {path.name}", notes + cut_notes(content))


def _by_layer(node: Node, part: str) -> list[Node]:
    """What a key has for each layer: a list, or a mapping with the keys 1, 2, …"""
    if isinstance(node.value, list):
        return node.value
    if isinstance(node.value, dict):
        numbers = {str(n) for n in range(1, len(node.value) + 1)}
        if set(node.value) == numbers:
            return [node.value[str(n)] for n in range(1, len(numbers) + 1)]
    raise FileError(f"line {node.line}: {part} needs one entry for each layer, with the keys 1, 2, …")


def _activation(node: Node, number: int) -> str:
    if not isinstance(node.value, str):
        raise FileError(f"line {node.line}: expected the activation of layer {number}, one word")
    return canonical(node.value, f"line {node.line}")


def _vector(node: Node, what: str) -> Floats:
    nodes = node.value if isinstance(node.value, list) else None
    words = [item.value for item in nodes or [] if isinstance(item.value, str)]
    if nodes is None or not nodes or len(words) < len(nodes):
        raise FileError(f"line {node.line}: expected {what}, a list of numbers")
    return floats(words, lambda place: f"line {nodes[place].line} ({what})")


def _matrix(node: Node, what: str) -> list[Floats]:
    if not isinstance(node.value, list) or not node.value:
        raise FileError(f"line {node.line}: expected {what}, a list of rows")
    rows = [_vector(row, f"{what}, row {number}") for number, row in enumerate(node.value, 1)]
    for row, values in zip(node.value, rows, strict=True):
        if len(values) != len(rows[0]):
            raise FileError(
                f"line {row.line}: a row of {what} has {counted(len(values), 'number')}, the first has {len(rows[0])}"
            )
    return rows


class Document:
    """The nodes of a text. What belongs together in blocks is told by columns, as YAML has it."""

    def __init__(self, content: str) -> None:
        self._tokens = _tokens(content)
        self._ahead = [next(self._tokens), next(self._tokens, None)]

    def node(self) -> Node:
        """All of the text."""
        node = self._node(0, DEPTH)
        if self._now.kind != "end":
            raise self._now.refuse("the end, or a line that fits the ones above")
        return node

    @property
    def _now(self) -> Token:
        assert self._ahead[0] is not None
        return self._ahead[0]

    def _take(self) -> Token:
        token = self._now
        self._ahead = [self._ahead[1] or token, next(self._tokens, None)]
        return token

    def _is_key(self) -> bool:
        after = self._ahead[1]
        return self._now.word and after is not None and (after.text, after.line) == (":", self._now.line)

    def _node(self, column: int, depth: int) -> Node:
        """The node that begins here, at this column or right of it."""
        token = self._now
        if not depth:
            raise FileError(f"line {token.line}: nested deeper than {DEPTH} levels, which no net is")
        if token.kind != "end" and token.column >= column:
            if token.kind == "mark" and token.text in "[{":
                return self._bracket(depth)
            if (token.kind, token.text) == ("mark", "-"):
                return self._sequence(depth)
            if self._is_key():
                return self._mapping(depth)
            if token.word:
                self._take()
                return Node(token.text, token.line)
        raise token.refuse("a value")

    def _sequence(self, depth: int) -> Node:
        first, items = self._now, []
        while (self._now.kind, self._now.text, self._now.column) == ("mark", "-", first.column):
            self._take()
            items.append(self._node(first.column + 1, depth - 1))
        return Node(items, first.line)

    def _mapping(self, depth: int) -> Node:
        first, items = self._now, dict[str, Node]()
        while self._now.column == first.column and self._is_key():
            key = self._key(items)
            dash = (self._now.kind, self._now.text) == ("mark", "-") and self._now.line > key.line
            items[key.text] = self._node(first.column + (not dash), depth - 1)
        return Node(items, first.line)

    def _key(self, items: dict[str, Node]) -> Token:
        key = self._take()
        self._take()
        if key.text in items:
            raise FileError(f"line {key.line}: the key {shown(key.text)} is there twice")
        return key

    def _bracket(self, depth: int) -> Node:
        """[a, b] or {a: b, c: d}, over any number of lines."""
        first = self._take()
        keyed, close = first.text == "{", {"[": "]", "{": "}"}[first.text]
        items, listed = dict[str, Node](), list[Node]()
        while self._now.text != close:
            if keyed and not self._is_key():
                raise self._now.refuse("a key with a colon")
            key = self._key(items).text if keyed else ""
            node = self._node(0, depth - 1)
            if keyed:
                items[key] = node
            else:
                listed.append(node)
            if self._now.text not in (",", close):
                raise self._now.refuse(f"a comma or {close}")
            if self._now.text == ",":
                self._take()
        self._take()
        return Node(items if keyed else listed, first.line)


def _tokens(content: str) -> Iterator[Token]:
    place, line, start = 0, 1, 0
    while place < len(content):
        match = TOKEN.match(content, place)
        if match is None:
            raise FileError(f"line {line}: {shown(content[place : place + 1])} begins what is not read: {REFUSED}")
        kind, word = match.lastgroup or "", match[0]
        if kind != "blank":
            yield Token(kind, word[1:-1] if kind == "quoted" else word, line, place - start)
        place = match.end()
        if word.endswith("\n"):
            line, start = line + 1, place
    yield Token("end", "", line, 0)
