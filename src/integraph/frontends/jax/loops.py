"""Loops whose number of steps is known beforehand, unrolled: `lax.scan`, `lax.map`, `lax.fori_loop`, `lax.while_loop`.

A loop with a condition is followed step by step, as long as its condition depends on no input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax.values import PrimitiveCall, Value

STEPS = 10_000
Body = Callable[..., list[Any]]  # of a closed jaxpr, its arguments and which results are wanted


def scan(at: PrimitiveCall, args: list[Any], used: list[bool], call: Body) -> list[Any]:
    """Outputs are what is carried at the end, then the outputs of all steps, stacked."""
    p = at.params
    fixed, carried, body, length = p["num_consts"], p["num_carry"], p["jaxpr"], p["length"]
    if length > STEPS:
        raise SourceError(f"{at.where} has {length} steps, at most {STEPS} are unrolled: write it with fewer")
    constants, carry, rows = args[:fixed], args[fixed : fixed + carried], args[fixed + carried :]
    wanted = [True] * carried + used[carried:]
    outputs: list[list[Any]] = [[] for _ in used[carried:]]
    for k in range(length - 1, -1, -1) if p["reverse"] else range(length):
        result = call(body, [*constants, *carry, *(_entry(at, row, k) for row in rows)], wanted)
        carry = result[:carried]
        for stack, one in zip(outputs, result[carried:], strict=True):
            stack.append(one)
    kinds = [variable.aval for variable in body.jaxpr.outvars[carried:]]
    order = -1 if p["reverse"] else 1
    stacks = [
        _stacked(at, stack[::order], kind.shape) if want else None
        for stack, kind, want in zip(outputs, kinds, used[carried:], strict=True)
    ]
    return [*carry, *stacks]


def repeat(at: PrimitiveCall, args: list[Any], call: Body) -> list[Any]:
    """`while`: its condition is computed before every step."""
    p = at.params
    asks, does = p["cond_nconsts"], p["body_nconsts"]
    of_condition, of_body, carry = args[:asks], args[asks : asks + does], args[asks + does :]
    for _ in range(STEPS):
        (goes_on,) = call(p["cond_jaxpr"], [*of_condition, *carry], [True])
        if not isinstance(goes_on, np.ndarray):
            raise SourceError(
                f"{at.where}: how often the loop runs depends on the inputs, and no flow jumps; use a fixed number of "
                "steps, as in jax.lax.fori_loop(0, 10, …)"
            )
        if not goes_on:
            return carry
        carry = call(p["body_jaxpr"], [*of_body, *carry], [True] * len(carry))
    raise SourceError(f"{at.where} has more than {STEPS} steps, which are not unrolled: write it with fewer")


def _entry(at: PrimitiveCall, row: Value, k: int) -> Value:
    """row[k]."""
    if isinstance(row, np.ndarray):
        return np.asarray(row[k])
    number = at.node(row)
    shape = at.shape(number)
    one = at.apply("slice", number, data=((k, 1, 1), *((0, 1, n) for n in shape[1:])))
    return at.reshape(one, shape[1:])


def _stacked(at: PrimitiveCall, parts: list[Value], shape: tuple[int, ...]) -> Value:
    known = [part for part in parts if isinstance(part, np.ndarray)]
    if len(known) == len(parts):
        return np.stack(known) if known else np.zeros((0, *shape))
    rows = [at.reshape(at.node(part), (1, *shape)) for part in parts]
    return at.apply("concat", *rows, data=(0,)) if len(rows) > 1 else rows[0]
