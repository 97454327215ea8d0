"""Terms of eq. (1) by plain loops, lane after lane: the obvious oracle of lowering."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import mpmath
import numpy as np

from integraph import Program
from integraph.program import ONE, Block
from lemma4 import slow_partition
from random_programs import ELEMENTWISE

Slow = Iterator[tuple[int, int, int, float]]


def slow_sums(block: Block) -> Slow:
    """affine, product and monomial, lane after lane, term after term."""
    z, reads = block.targets[0].indices(), [ref.indices() for ref in block.operands]
    w = np.broadcast_to(block.tensors["w"], reads[0].shape)
    for lane in np.ndindex(z.shape):
        for r in range(reads[0].shape[-1]):
            registers = [int(x[(*lane, r)]) for x in reads]
            other = {"affine": ONE, "monomial": int(z[lane])}.get(block.op.name, registers[-1])
            yield int(z[lane]), registers[0], other, float(w[(*lane, r)])
        if "b" in block.tensors:
            other = ONE if block.op.name == "affine" else int(z[lane])
            yield int(z[lane]), ONE, other, float(np.broadcast_to(block.tensors["b"], z.shape)[lane])


def slow_drain(block: Block) -> Slow:
    z, x = (ref.indices() for ref in block.targets)
    r = float(block.tensors["r"])
    with mpmath.workdps(40):
        factor = float(mpmath.mpf(r) / -mpmath.expm1(-mpmath.mpf(r))) if r else 1.0
    bias = np.broadcast_to(block.tensors.get("b", 0.0), z.shape)
    for lane in np.ndindex(z.shape):
        for b, w in zip(x, block.tensors["w"][lane], strict=True):
            yield int(z[lane]), ONE, int(b), factor * w
        yield int(z[lane]), ONE, ONE, float(bias[lane])
    for b in x:
        yield int(b), ONE, int(b), -r


def slow_softmax(block: Block) -> Slow:
    a, u, m = (ref.indices() for ref in block.targets)
    s = block.operands[0].indices()
    c = np.broadcast_to(block.tensors.get("c", 0.0), m.shape)
    for lane in np.ndindex(a.shape):
        top, shift = int(m[lane[:-1]]), float(c[lane[:-1]])
        for y in (int(a[lane]), int(u[lane])):
            yield from ((y, int(s[lane]), y, 1.0), (y, ONE, y, shift), (y, y, top, -1.0))
        yield from ((top, int(s[lane]), int(u[lane]), 1.0), (top, ONE, int(u[lane]), shift))
    for top in m.ravel():
        yield int(top), int(top), int(top), -1.0


def slow_raw(block: Block) -> Slow:
    y, x = block.targets[0].indices(), block.operands[0].indices()
    z = [*y.tolist(), *x.tolist(), ONE]
    for (row, j, k), value in zip(block.tensors["index"], block.tensors["value"], strict=True):
        yield z[row], z[j], z[k], float(value)


def slow_low_rank(block: Block) -> Slow:
    """Every U_is · V1_sj · V2_sk by itself."""
    m, z = block.targets[0].size, [int(n) for ref in block.refs() for n in ref.indices()]
    U, V1, V2 = (block.tensors[name] for name in ("U", "V1", "V2"))
    for i in range(m):
        yield z[i], ONE, ONE, float(block.tensors.get("b", np.zeros(m))[i])
        for j, weight in enumerate(block.tensors.get("A", np.zeros((m, len(z))))[i]):
            yield z[i], ONE, z[j], float(weight)
        for s, j, k in np.ndindex(U.shape[1], len(z), len(z)):
            yield z[i], z[j], z[k], float(U[i, s] * V1[s, j] * V2[s, k])


def slow_elementwise(block: Block) -> Slow:
    """Multiplies out number · Π factors, each a sum of (coefficient, register)."""
    op, shape = block.op, block.targets[0].shape
    registers = dict(zip(op.targets + op.operands, (ref.indices() for ref in block.refs()), strict=True))
    tensors = {name: np.broadcast_to(array, shape) for name, array in block.tensors.items()}
    for lane in np.ndindex(shape):
        for target, number, *factors in op.equations:
            polynomial: list[tuple[float, list[int]]] = [(float(number), [])]
            for factor in factors:
                if factor in tensors and factor not in registers:
                    form = [(float(tensors[factor][lane]), [])]
                else:
                    form = [(1.0, [int(registers[factor][lane])])]
                    if factor in op.operands[:1] and "a" in tensors:
                        form = [(float(tensors["a"][lane]), form[0][1])]
                    if factor in op.operands[:1] and "b" in tensors:
                        form.append((float(tensors["b"][lane]), []))
                polynomial = [(p * q, a + b) for p, a in polynomial for q, b in form]
            for value, read in polynomial:
                j, k = ([ONE, ONE] + read)[-2:]
                yield int(registers[target][lane]), j, k, value


SLOW = {"affine": slow_sums, "product": slow_sums, "monomial": slow_sums, "drain": slow_drain}
SLOW |= {"raw": slow_raw, "low_rank": slow_low_rank, "softmax": slow_softmax, "partition": slow_partition}
SLOW |= {op.name: slow_elementwise for op in ELEMENTWISE}


def slow(program: Program) -> dict[tuple[int, int, int, int], list[float]]:
    """All contributions to each control."""
    found: dict[tuple[int, int, int, int], list[float]] = defaultdict(list)
    scales = [*(np.ones(program.width) if program.scales is None else program.scales), 1.0]
    for number, part in enumerate(program.segments):
        for block in part.blocks:
            for i, j, k, value in SLOW[block.op.name](block):
                unit = part.rate * scales[j] * scales[k] / scales[i]
                found[number, i, min(j, k), max(j, k)].append(value * unit)
    return found
