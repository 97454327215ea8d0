"""`QuadraticODE`: y' = b + A y + U((V₁y) ∘ (V₂y)) on each of D segments, y(0) = (x, 0, …), output C y(D), as an equinox
module.

Kinds of controls:

* `free`: A, U, V₁ and V₂ are parameters themselves. Solutions may blow up.
* `lossless`: Q(y, y) = Σ (v·y)(p (q·y) − q (p·y)), so that y·Q(y, y) = 0: |y| grows at most as the linear part lets it,
  and no solution blows up.
* `damped`: the same Q, and A = S − Sᵀ − L Lᵀ, so that |y|' ≤ |b|.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from integraph.errors import UsageError
from integraph.flow.jax.batch import batch_of
from integraph.flow.jax.taylor import Controls, flow, solution, times
from integraph.learn.taylor_steps import enough
from integraph.program import Program

Array = Any
KINDS = ("lossless", "free", "damped")
ORDER, STEPS = 8, 1  # of the Taylor steps of a segment, where nothing else is asked for
SMALL = 0.1  # size of A and Q at the start, relative to one that matters: the flow is nearly the identity
OFFSET = 0.3  # size of b, which fills the hidden registers


class QuadraticODE(eqx.Module):  # type: ignore[misc]
    """A trainable program. Calling it takes equal Taylor steps, which is quick and differentiable; `solution` is the
    true flow. Parameters are jax arrays, float64 where jax has been told to use it.

    `width` registers hold the inputs first, `depth` segments follow each other, and `rank` counts products: r of them
    for kind `free`, and as many triples v, p, q otherwise. `order` and `steps` are those of the Taylor steps of a
    segment, where a call does not say otherwise; `seed` draws the controls.
    """

    b: Array
    linear: tuple[Array, ...]  # A, or S and L
    quadratic: tuple[Array, ...]  # U, V₁, V₂, or v, p, q
    C: Array
    inputs: int = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    order: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int,
        depth: int,
        rank: int,
        *,
        kind: str = "lossless",
        order: int = ORDER,
        steps: int = STEPS,
        seed: int = 0,
    ) -> None:
        """Random controls."""
        whole("inputs", inputs)
        if not isinstance(width, int | np.integer) or isinstance(width, bool) or width < inputs:
            raise UsageError(
                f"the registers hold the {inputs} inputs: needs an integer ≥ {inputs}", argument="width", value=width
            )
        for name, value in {"outputs": outputs, "depth": depth, "rank": rank}.items():
            whole(name, value)
        whole("seed", seed, 0)
        if kind not in KINDS:
            raise UsageError(f"a kind is one of {', '.join(KINDS)}", argument="kind", value=kind)
        random = np.random.default_rng(seed)

        def normal(*shape: int, size: float) -> Array:
            return jnp.asarray(size * random.standard_normal((depth, *shape)))

        flat = width**-0.5
        square, rows = (width, width), (rank, width)
        self.b = normal(width, size=OFFSET)
        self.linear = tuple(normal(*square, size=SMALL * flat) for _ in range(2 if kind == "damped" else 1))
        small = (width, rank) if kind == "free" else rows  # U or v, by which Q is small
        self.quadratic = normal(*small, size=SMALL * flat), normal(*rows, size=flat), normal(*rows, size=flat)
        self.C = jnp.asarray(random.standard_normal((outputs, width)) * flat)
        self.inputs, self.kind = int(inputs), kind
        self.order, self.steps = whole("order", order), whole("steps", steps)

    @property
    def outputs(self) -> int:
        return int(self.C.shape[0])

    @property
    def width(self) -> int:
        return int(self.C.shape[1])

    @property
    def depth(self) -> int:
        return len(self.b)

    @property
    def rank(self) -> int:
        return int(self.quadratic[1].shape[1])

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(leaf.size for leaf in jax.tree.leaves(self))

    def controls(self) -> Controls:
        """b, A, U, V₁, V₂ of all segments."""
        if self.kind == "free":
            return Controls(self.b, self.linear[0], *self.quadratic)
        v, p, q = self.quadratic
        U = jnp.swapaxes(jnp.concatenate([p, -q], 1), 1, 2)
        return Controls(self.b, self._matrix(), U, jnp.concatenate([v, v], 1), jnp.concatenate([q, p], 1))

    def _matrix(self) -> Array:
        if self.kind != "damped":
            return self.linear[0]
        S, L = self.linear
        return S - jnp.swapaxes(S, 1, 2) - times(L, jnp.swapaxes(L, 1, 2))

    def start(self, x: Array) -> Array:
        """y(0) = (x, 0, …) for rows x (B, d), or for one (d,)."""
        return jnp.pad(batch_of(x, self.inputs, "the model"), ((0, 0), (0, self.width - self.inputs)))

    def read_out(self, end: Array) -> Array:
        """C y for states at the end (B, W)."""
        return times(end, jnp.transpose(self.C))

    def __call__(self, x: Array, *, order: int | None = None, steps: int | None = None) -> Array:
        """Outputs (B, outputs) for x (B, d), (outputs,) for (d,), by `steps` Taylor steps a segment."""
        order = self.order if order is None else whole("order", order)
        steps = self.steps if steps is None else whole("steps", steps)
        outputs = self.read_out(flow(self.controls(), self.start(x), order=order, steps=steps)[0])
        return outputs[0] if jnp.ndim(x) == 1 else outputs

    def solution(self, x: Array, *, tolerance: float = 1e-13) -> Array:
        """The same by the true flow, with a local error of `tolerance`; NaN where a row blows up. It can be
        differentiated, too, which takes longer: every row chooses its own steps."""
        outputs = self.read_out(solution(self.controls(), self.start(x), tolerance=tolerance))
        return outputs[0] if jnp.ndim(x) == 1 else outputs

    def program(self) -> Program:
        """The model as a Program: saved, bounded, exported like any other."""
        from integraph.learn.learned_program import program

        return program(self)

    @classmethod
    def from_program(cls, given: Program) -> QuadraticODE:
        """A model of kind `free` with the controls of a program, to be trained further. Its order and steps are
        measured: they are as many as bring Taylor steps to the true flow in the box of the program."""
        from integraph.learn.learned_program import controls

        segments, C = controls(given)
        order, steps = enough(segments, given)
        b, A, *factors = map(jnp.asarray, segments)
        return cls._of(b, (A,), tuple(factors), jnp.asarray(C), given.inputs, "free", order, steps)

    def with_inputs(self, inputs: int) -> QuadraticODE:
        """The same controls, with another number of registers that the input fills."""
        return self._of(self.b, self.linear, self.quadratic, self.C, inputs, self.kind, self.order, self.steps)

    @classmethod
    def _of(cls, *values: Any) -> QuadraticODE:
        model: QuadraticODE = object.__new__(cls)
        for field, value in zip(dataclasses.fields(cls), values, strict=True):
            object.__setattr__(model, field.name, value)
        return model


def whole(name: str, value: Any, least: int = 1) -> int:
    """An argument that is an integer, at least so large."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise UsageError(f"needs an integer ≥ {least}", argument=name, value=value)
    return int(value)
