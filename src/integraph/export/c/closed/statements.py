"""The C code of each operation: a statement for a single number, a loop for an array."""

from __future__ import annotations

import math

import numpy as np

from integraph.export.c.closed.elements import Elements
from integraph.export.c.closed.expressions import EXPRESSIONS, REDUCTIONS
from integraph.export.c.closed.steps import Step
from integraph.flow.closed_forms import ClosedForms, Operation


class Statements:
    def __init__(self, forms: ClosedForms, elements: Elements) -> None:
        self.forms, self.elements, self.offsets, self.tables = forms, elements, elements.offsets, elements.tables
        self.positive, self.finite = ({elements.root[n][0] for n in part} for part in (forms.positive, forms.finite))

    def step(self, step: Step) -> str:
        if step.size > 1:
            body = "".join(self._member(n, step) for n in step.numbers)
            return f"    for (i = 0; i < {step.size}; ++i) {{\n{body}    }}\n"
        (n,) = step.numbers
        own = self.forms.operations[n]
        if own.op in EXPRESSIONS:
            return self._define(n, self._expression(own, "0", set())) + self._guards(n, f"v{n}", "    ")
        code: str = getattr(self, f"_{own.op}")(n, own)
        return code + self._array_guards(n, own)

    def _member(self, n: int, step: Step) -> str:
        own, indent = self.forms.operations[n], " " * 8
        text = indent[4:] + self._define(n, self._expression(own, "i", step.members))
        if n in self.offsets:
            stored = f"v{n} ? 1.0 : 0.0" if own.truth else f"v{n}"
            text += f"{indent}w[{self.offsets[n]} + i] = {stored};\n"
        return text + self._guards(n, f"v{n}", indent)

    def _define(self, n: int, expression: str) -> str:
        return f"    const {'int' if self.forms.operations[n].truth else 'double'} v{n} = {expression};\n"

    def _expression(self, own: Operation, place: str, members: set[int]) -> str:
        given = []
        for argument in own.arguments:
            if isinstance(argument, int) and self.elements.root[argument][0] in members:
                given.append(f"v{self.elements.root[argument][0]}")
            elif place == "i":
                given.append(self.elements.value(argument, self.elements.place(argument, own.lanes)))
            else:
                given.append(self.elements.value(argument, place))
        return EXPRESSIONS[own.op].format(*given)

    def _guards(self, n: int, value: str, indent: str) -> str:
        text = f"{indent}ok &= {value} > 0.0;\n" if n in self.positive else ""
        return text + (f"{indent}ok &= {value} - {value} == 0.0;\n" if n in self.finite else "")

    def _array_guards(self, n: int, own: Operation) -> str:
        if own.op == "input" or n not in self.positive | self.finite:
            return ""
        if own.size == 1:
            return self._guards(n, f"v{n}", "    ")
        body = self._guards(n, self.elements.value(n, "i"), " " * 8)
        return f"    for (i = 0; i < {own.size}; ++i) {{\n{body}    }}\n"

    def _input(self, n: int, own: Operation) -> str:
        return ""

    def _gather(self, n: int, own: Operation) -> str:
        assert own.indices is not None
        row = own.indices.reshape(-1)
        if own.size == 1:
            return self._define(n, self.elements.value(own.arguments[0], str(int(row[0]))))
        single = self.forms.operations[own.arguments[0]].size == 1
        value = self.elements.value(own.arguments[0], "0" if single else f"{self.tables.name(row)}[i]")
        return f"    for (i = 0; i < {own.size}; ++i) w[{self.offsets[n]} + i] = {value};\n"

    def _concatenate(self, n: int, own: Operation) -> str:
        text, begin = "", self.offsets[n]
        for argument in own.arguments:
            size = self.forms.operations[argument].size if isinstance(argument, int) else argument.size
            one = f"w[{begin}] = {self.elements.value(argument, '0')};"
            many = f"for (i = 0; i < {size}; ++i) w[{begin} + i] = {self.elements.value(argument, 'i')};"
            text, begin = text + f"    {one if size == 1 else many}\n", begin + size
        return text

    def _reduction(self, n: int, own: Operation) -> str:
        count = self.forms.operations[own.arguments[0]].lanes[-1]
        start, rule = REDUCTIONS[own.op]
        value = self.elements.value(own.arguments[0], "j" if own.size == 1 else f"i * {count} + j")
        return self._rows(n, own.size, count, start, rule.format("{0}", value))

    _sum = _product = _largest = _reduction

    def _matmul(self, n: int, own: Operation) -> str:
        """The matrix is stored by its columns, which are read one after the other."""
        left, matrix = own.arguments
        terms, width = matrix.shape[-2:]
        columns = self.tables.name(np.swapaxes(matrix, -1, -2))
        source = self.elements.value(
            left, "j" if own.size == width and matrix.ndim == 2 else f"i / {width} * {terms} + j"
        )
        which = "i" if own.size == width else f"i % {width}"
        if matrix.ndim == 3:
            which = f"(i / {math.prod(own.lanes[1:])} * {width} + i % {width})"
        place = "j" if own.size == 1 else f"{which} * {terms} + j"
        return self._rows(n, own.size, terms, "0.0", f"{{0}} + {source} * {columns}[{place}]")

    def _rows(self, n: int, size: int, count: int, start: str, rule: str) -> str:
        """A loop inside a loop, or a loop for a single number."""
        total = f"v{n}"
        inner = f"for (j = 0; j < {count}; ++j) {total} = {rule.format(total)};\n"
        if size == 1:
            return f"    double {total} = {start};\n    {inner}"
        stored = f"w[{self.offsets[n]} + i] = {total};\n"
        return (
            f"    for (i = 0; i < {size}; ++i) {{\n        double {total} = {start};\n"
            f"        {inner}        {stored}    }}\n"
        )
