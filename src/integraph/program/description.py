"""What a program does: a legend of its registers, then each segment in equations and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from integraph.program.lowering import count_segment
from integraph.program.registers import Group
from integraph.program.summary import input_names
from integraph.program.terms import ONE, concatenate
from integraph.program.wording import renamed, right_side

if TYPE_CHECKING:
    from integraph.program.block import Block
    from integraph.program.program import Program

SPELLED = 24  # terms of a segment whose equations are written out register by register
COLUMN = 40  # characters of the names in a legend, at most, before what they mean


@dataclass(frozen=True)
class SegmentDescription:
    """`equations` are those of eq. (1) with the names of registers, or, of a segment with many terms, those of its
    blocks; `sentences` say what each block computes."""

    title: str
    equations: list[str]
    sentences: list[str]

    def lines(self) -> list[str]:
        return [self.title, *(f"    {line}" for line in self.equations + self.sentences)]


def describe(program: Program) -> str:
    parts = [legend_lines(program)]
    parts += [described(program, number).lines() for number in range(program.depth)]
    return "\n".join(line for part in [*parts, outputs(program)] for line in part)


def described(program: Program, number: int, spelled: int = SPELLED) -> SegmentDescription:
    """A segment, written out if it has at most `spelled` terms."""
    s = program.segments[number]
    pace = "" if s.rate == 1 else f", right-hand sides × {s.rate:g}"
    names = [_names(program, block) for block in s.blocks]
    pairs = list(zip(s.blocks, names, strict=True))
    return SegmentDescription(
        f"segment {number}: {s.label} (duration {s.duration:g}{pace})",
        equations(program, number, spelled) or _sums(pairs),
        list(dict.fromkeys(renamed(block.op.words(block), roles) for block, roles in pairs)),
    )


def _sums(pairs: Iterable[tuple[Block, dict[str, str]]]) -> list[str]:
    """The derivatives of whole groups, what several blocks add to one of them in one line."""
    sums: dict[str, str] = {}
    for block, roles in pairs:
        for role, text in block.op.derivatives(block):
            target, right = roles[role], renamed(text, roles)
            before = sums.get(target, "")
            sign = "" if not before else " − " if right.startswith("−") else " + "
            sums[target] = before + sign + (right.removeprefix("−") if before else right)
    return [f"{target}' = {right}" for target, right in sums.items()]


def _names(program: Program, block: Block) -> dict[str, str]:
    roles = zip(block.op.targets + block.op.operands, block.refs(), strict=True)
    return {role: program.registers.names(ref) for role, ref in roles if ref.size}


def equations(program: Program, number: int, spelled: int = SPELLED) -> list[str]:
    """Eq. (1) of a segment, register by register, if it has at most `spelled` terms."""
    if count_segment(program.segments[number], program) > spelled:
        return []
    names = program.registers.name
    terms = concatenate(list(program.segment_terms(number)))
    rows = [
        (names(i), value, *(names(factor) for factor in (j, k) if factor != ONE))
        for i, j, k, value in zip(
            terms.i.tolist(), terms.j.tolist(), terms.k.tolist(), terms.value.tolist(), strict=True
        )
    ]
    return [f"{name}' = {right_side(rows, name)}" for name in dict.fromkeys(row[0] for row in rows)]


def outputs(program: Program) -> list[str]:
    """What is read out in the end, if that has at most as many terms as are spelled."""
    matrix = program.readout.tocoo()
    if matrix.nnz > SPELLED or program.outputs > SPELLED:
        return []
    names = [f"output{number}" for number in range(1, program.outputs + 1)] if program.outputs > 1 else ["output"]
    rows = [
        (names[row], value, program.registers.name(column))
        for row, column, value in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    ]
    return [f"{name} = {right_side(rows, name)}" for name in names]


def legend(program: Program) -> list[tuple[str, str]]:
    """Names, and what they mean: inputs, registers with a label, and the letters of stored numbers."""
    groups = list(program.registers)
    inputs = [group for group in groups if group.view.offset < program.inputs]
    meanings: dict[str, list[Group]] = {}
    for group in groups:
        if group.label:
            meanings.setdefault(group.label, []).append(group)
    rows = [(_listed(inputs), f"inputs{_in_properties(program)}")] if inputs else []
    rows += [(_listed(those), label) for label, those in meanings.items()]
    tensors = {name for s in program.segments for block in s.blocks for name in block.tensors if len(name) <= 2}
    return rows + ([(", ".join(sorted(tensors)), "stored numbers, different in each block")] if tensors else [])


def _in_properties(program: Program) -> str:
    """What properties call inputs that have no names, where that is something else: they count from 0."""
    last = program.inputs - 1
    if input_names(program) or last < 1:
        return ""
    return f", in properties x0{', ' if last == 1 else ' … '}x{last}"


def _listed(groups: Iterable[Group]) -> str:
    return ", ".join(span(group) for group in groups)


def span(group: Group) -> str:
    """`p1`, `x1, x2` or `mu1 … mu7`."""
    names = [group.element(place) for place in {0, group.view.size - 1}]
    return (" … " if group.view.size > 2 else ", ").join(names)


def legend_lines(program: Program) -> list[str]:
    rows = legend(program)
    width = min(max((len(names) for names, _ in rows), default=0), COLUMN)
    return [f"{names:<{width}}  {meaning}" for names, meaning in rows] + [""] * bool(rows)
