"""Random programs of every operation, over views and index arrays of every kind; used by several tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from integraph import Index, Program, Registers, Segment, View, build, gadgets, tensor
from integraph.errors import SpecError
from integraph.gadgets import Elementwise
from integraph.program import Block, Ref, operations

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, -1e-310, 1e-160, 1e60, -3e40])
ELEMENTWISE = sorted((op for op in operations() if isinstance(op, Elementwise)), key=lambda op: op.name)
OTHERS = ("affine", "product", "monomial", "drain", "softmax", "partition", "raw", "low_rank")


class Maker:
    """Draws the parts of a program from a seeded generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.registers = Registers()
        self.registers.inputs("x", 2, 3)
        self.pool: list[np.ndarray] = []  # tensors that blocks may share

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def shape(self, axes: int | None = None) -> tuple[int, ...]:
        axes = self.pick(0, 1, 1, 2, 3) if axes is None else axes
        return tuple(int(n) for n in self.rng.integers(1, 4, axes))

    def values(self, *shape: int) -> np.ndarray:
        """Special and ordinary numbers; sometimes an array that another block has too."""
        fitting = [t for t in self.pool if t.shape == shape]
        if fitting and self.rng.random() < 0.4:
            return self.pick(*fitting)
        special = SPECIAL[self.rng.integers(len(SPECIAL), size=shape)]
        made = tensor(np.where(self.rng.random(shape) < 0.3, special, self.rng.normal(size=shape)))
        self.pool.append(made)
        return made

    def small(self, shape: tuple[int, ...]) -> np.ndarray:
        """A tensor that broadcasts to `shape`."""
        cut = shape[self.rng.integers(len(shape) + 1) :]
        return self.values(*(1 if self.rng.random() < 0.3 else n for n in cut))

    def fresh(self, shape: tuple[int, ...]) -> Ref:
        """New registers as a slice, a transpose, a reversal or a list."""
        order = self.rng.permutation(len(shape))
        steps = [self.pick(1, 1, 2, -1) for _ in shape]
        room = [n * abs(step) for n, step in zip(shape, steps, strict=True)]
        name = f"r{self.registers.width}"
        group = self.registers.new(name, *(room[axis] for axis in order), *self.pick((), (2,)))
        view = group[..., self.rng.integers(2)] if len(group.shape) > max(len(shape), 1) else group
        if not shape:
            return view.reshape(view.size)[0] if view.shape else view
        view = view.transpose(*np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
        if self.rng.random() < 0.25:
            return Index(self.rng.permutation(view.indices().ravel()).reshape(shape))
        return view

    def old(self, width: int, shape: tuple[int, ...]) -> Ref:
        """Registers below `width`, in any order and with repetition."""
        if self.rng.random() < 0.3:
            return Index(self.rng.integers(0, width, shape))
        strides = tuple(int(s) for s in self.rng.integers(-2, 4, len(shape)))
        low, high = View(0, shape, strides).extent()
        if high - low >= width:
            strides, low, high = (0,) * len(shape), 0, 0
        return View(int(self.rng.integers(-low, width - high)), shape, strides)

    def block(self, width: int) -> Block:
        """Writes new registers, reads those below `width`."""
        name = self.pick(*OTHERS, "elementwise", "elementwise")
        if name == "elementwise":
            return self.elementwise(self.pick(*ELEMENTWISE), width, self.shape())
        return getattr(self, name)(width)

    def elementwise(self, op: Elementwise, width: int, shape: tuple[int, ...]) -> Block:
        factors = {factor for _, _, *factors in op.equations for factor in factors}
        tensors = {n: self.small(shape) for n in op.tensors if n in factors - {*op.operands} or self.rng.random() < 0.5}
        targets = [self.fresh(shape) for _ in op.targets]
        return op(*targets, *(self.old(width, shape) for _ in op.operands), **tensors)

    def sums(self, name: str, width: int, operands: int, bias: bool) -> Block:
        lanes, reads = self.shape(), int(self.rng.integers(0, 4))
        tensors = {"w": self.small((*lanes, reads))} | ({"b": self.small(lanes)} if bias else {})
        refs = [self.fresh(lanes), *(self.old(width, (*lanes, reads)) for _ in range(operands))]
        return Block(getattr(gadgets, name), (refs[0],), tuple(refs[1:]), tensors)

    def affine(self, width: int) -> Block:
        return self.sums("affine", width, 1, self.pick(True, False))

    def monomial(self, width: int) -> Block:
        return self.sums("monomial", width, 1, self.pick(True, False))

    def product(self, width: int) -> Block:
        return self.sums("product", width, 2, False)

    def drain(self, width: int) -> Block:
        z, x = self.shape(self.pick(0, 1, 1, 2, 3)), self.shape(1)
        bias = {"b": self.small(z)} if self.rng.random() < 0.5 else {}
        r = self.pick(0.0, 1.5, -40.0, 1e-18, 2000.0, 1e-9)
        return gadgets.drain(self.fresh(z), self.fresh(x), w=self.values(*z, *x), r=r, **bias)

    def softmax(self, width: int) -> Block:
        rows, n = self.shape(self.pick(0, 1, 2)), int(self.rng.integers(1, 4))
        shift = {"c": self.small(rows)} if self.rng.random() < 0.5 else {}
        lanes = (*rows, n)
        return gadgets.softmax(self.fresh(lanes), self.fresh(lanes), self.fresh(rows), self.old(width, lanes), **shift)

    def partition(self, width: int) -> Block:
        rows, n = self.shape(self.pick(0, 1, 2)), int(self.rng.integers(1, 4))
        form = {name: self.small((*rows, n)) for name in ("a", "b") if self.rng.random() < 0.5}
        return gadgets.partition(self.fresh((*rows, n + 1)), self.fresh((*rows, n)), self.old(width, rows), **form)

    def raw(self, width: int) -> Block:
        y, n = self.fresh(self.shape(1)), int(self.rng.integers(0, 4))
        count = int(self.rng.integers(0, 12))
        rows = np.sort(self.rng.integers(0, y.size, count))
        factors = self.rng.integers(-1, y.size + n, (count, 2))
        return gadgets.raw(y, self.old(width, (n,)), index=np.column_stack([rows, factors]), value=self.values(count))

    def low_rank(self, width: int) -> Block:
        """Numbers of ordinary size and zeros: a product of three others leaves float64."""
        y, n, r = self.fresh(self.shape(1)), int(self.rng.integers(0, 4)), int(self.rng.integers(0, 4))
        m, some = y.size, [name for name in ("A", "b") if self.rng.random() < 0.5]
        shapes = {"U": (m, r), "V1": (r, m + n), "V2": (r, m + n), "A": (m, m + n), "b": (m,)}
        tensors = {name: self.rng.normal(size=shapes[name]) for name in ("U", "V1", "V2", *some)}
        tensors = {name: np.where(self.rng.random(t.shape) < 0.3, 0.0, t) for name, t in tensors.items()}
        return gadgets.low_rank(y, self.old(width, (n,)), **tensors)

    def segment(self, label: str, duration: float) -> Segment:
        width = self.registers.width
        blocks = [self.block(width) for _ in range(self.rng.integers(1, 4))]
        for block in list(blocks):  # additive blocks may share targets
            if block.op.additive and self.rng.random() < 0.6:
                z = block.targets[0]
                part = z if isinstance(z, Index) or not z.shape or len(z) < 2 else z[1:]
                blocks.append(gadgets.affine(part, self.old(width, part.shape), w=self.small(part.shape)))
                blocks.append(gadgets.ramp(z, b=self.small(z.shape)))
        return Segment(label, tuple(blocks), duration)


def random_program(seed: int, labels: list[str], durations: list[float]) -> Program:
    make = Maker(seed)
    segments = [make.segment(label, duration) for label, duration in zip(labels, durations, strict=True)]
    written = [ref.indices().ravel() for s in segments for b in s.blocks for ref in b.targets]
    known = np.concatenate([np.arange(make.registers.inputs_count), *written])
    out = Index(make.rng.permutation(known)[: make.rng.integers(1, 5)])
    program = build(make.registers, segments, out, make.pick(None, make.rng.normal(size=(2, out.size))))
    if segments and make.rng.random() < 0.3 and math.isfinite(program.horizon):
        program = program.rescale_time(float(make.pick(1.0, 1e-3, 40.0)))
    if make.rng.random() < 0.3:
        program = program.rescale_states(np.exp(make.rng.normal(size=program.width)))
    return program.reverse() if make.rng.random() < 0.1 else program


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs whose controls are finite."""
    labels = draw(st.lists(st.text(max_size=8), max_size=3))
    durations = [draw(st.floats(min_value=5e-324, max_value=1e250) | st.just(1.0)) for _ in labels]
    try:
        program = random_program(draw(st.integers(0, 2**32 - 1)), labels, durations)
        program.controls()
    except SpecError as error:
        assume("finite" not in str(error))
        raise
    return program


class Moderate(Maker):
    """Numbers of ordinary size, and only operations with a closed form."""

    def values(self, *shape: int) -> np.ndarray:
        return tensor(0.5 * self.rng.normal(size=shape))

    def raw(self, width: int):
        return self.affine(width)

    def low_rank(self, width: int):
        return self.affine(width)


def moderate_program(seed: int) -> Program:
    make = Moderate(seed)
    segments = [make.segment(f"s{number}", float(make.rng.uniform(0.2, 1.5))) for number in range(3)]
    written = np.concatenate([ref.indices().ravel() for s in segments for b in s.blocks for ref in b.targets])
    program = build(make.registers, segments, Index(written))
    if make.rng.random() < 0.3:
        program = program.rescale_time(float(make.pick(1.0, 1e-3, 40.0)))
    if make.rng.random() < 0.3:
        program = program.rescale_states(np.exp(make.rng.normal(size=program.width)))
    return program
