"""A jaxpr, equation by equation. What depends on no input jax computes itself; functions that are called are opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax import loops
from integraph.frontends.jax.primitives import REFUSED, RULES
from integraph.frontends.jax.values import Known, PrimitiveCall, Value
from integraph.targets.graph_builder import Builder

CALLS = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "remat",
    "remat2",
    "checkpoint",
    "custom_jvp_call",
    "custom_vjp_call",
)
LOOPS = ("scan", "while")
BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")  # where a call keeps what it calls
OTHERS = "compose it of + - * / ** @, of sums, of elementary functions and of jax.nn"
SHOWN = 200  # characters of what jax says


class JaxprTraversal:
    def __init__(self, build: Builder) -> None:
        self.build = build
        self.largest: dict[Any, int] = {}

    def run(
        self, jaxpr: Any, constants: Sequence[Any], args: Sequence[Value], wanted: Sequence[bool], line: str = ""
    ) -> list[Any]:
        """The outputs, None for some that are not wanted; `line` is where it was called."""
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, map(_array, constants), strict=True))
        known.update(zip(jaxpr.invars, args, strict=True))

        def value(atom: Any) -> Any:
            return np.asarray(atom.val) if hasattr(atom, "val") else known.get(atom)

        for equation, used in _needed(jaxpr, wanted):
            own = [value(atom) for atom in equation.invars]
            known.update(zip(equation.outvars, self._step(equation, own, used, line), strict=True))
        return [value(atom) for atom in jaxpr.outvars]

    def _step(self, equation: Any, args: list[Any], used: list[bool], line: str) -> list[Any]:
        name, params, line = equation.primitive.name, equation.params, _line(equation) or line
        where = name + line
        if name in CALLS:
            return self._call(next(params[key] for key in BODIES if key in params), args, used, line)
        if name == "cond" and isinstance(args[0], np.ndarray):
            return self._call(params["branches"][int(args[0])], args[1:], used, line)

        def compute(*arrays: Known) -> list[Known]:
            try:
                result = equation.primitive.bind(*arrays, **params)
                return [np.asarray(one) for one in (result if equation.primitive.multiple_results else [result])]
            except Exception as reason:  # of whatever kind jax raises
                raise SourceError(
                    f"{where}: jax cannot compute it beforehand: {said(reason)}. Compute it outside of the "
                    "function, which may use the numbers"
                ) from None

        if all(isinstance(arg, np.ndarray) for arg in args):
            return compute(*args)
        at = PrimitiveCall(self.build, name, params, where, compute, self.largest)
        if name in LOOPS:

            def call(body: Any, own: list[Any], wanted: list[bool]) -> list[Any]:
                return self._call(body, own, wanted, line)

            return loops.scan(at, args, used, call) if name == "scan" else loops.repeat(at, args, call)
        if name not in RULES:
            raise SourceError(f"{where} does not compile: {REFUSED.get(name, OTHERS)}")
        result = RULES[name](at, *args)
        return result if isinstance(result, list) else [result]

    def _call(self, body: Any, args: list[Any], used: list[bool], line: str) -> list[Any]:
        return self.run(getattr(body, "jaxpr", body), getattr(body, "consts", ()), args, used, line)


def _array(constant: Any) -> np.ndarray[Any, Any]:
    """A constant of a jaxpr; some, such as keys of jax.random, are no numbers."""
    try:
        return np.asarray(constant)
    except TypeError as reason:
        raise SourceError(
            f"a constant of the function is no array of numbers: {said(reason)}. Draw random numbers outside of it"
        ) from None


def said(reason: Exception) -> str:
    """The first line of what jax says, without folders."""
    lines = str(reason).strip().splitlines() or [""]
    return re.sub(r"\S*[/\\](?=\S+\.py)", "", lines[0])[:SHOWN].rstrip(".")


def _needed(jaxpr: Any, wanted: Sequence[bool]) -> list[tuple[Any, list[bool]]]:
    """The equations that the outputs need, and which of their results."""
    live = {atom for atom, want in zip(jaxpr.outvars, wanted, strict=True) if want and not hasattr(atom, "val")}
    needed = []
    for equation in reversed(jaxpr.eqns):
        used = [variable in live for variable in equation.outvars]
        if any(used):
            needed.append((equation, used))
            live.update(atom for atom in equation.invars if not hasattr(atom, "val"))
    return needed[::-1]


def _line(equation: Any) -> str:
    """The user's line that an equation came from, if jax tells."""
    try:
        from jax._src.source_info_util import summarize

        match = re.search(r"([^/\\\s:]+):(\d+)", summarize(equation.source_info))
    except (ImportError, AttributeError, TypeError):
        return ""
    return f" ({match[1]}:{match[2]})" if match else ""
