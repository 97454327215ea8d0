"""The programs that every export is tried on, each with inputs, and what a file of equations must say.

A formula, a narrow tanh net, a Theorem 1 program with large controls, a wide GELU net: the last two have the widest
range of numbers and the most terms.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

import integraph
from hostile_names import ALL
from integraph import Layer, Network, Program, Registers, build, segment
from integraph.gadgets import affine, product, raw

HOSTILE_COMMENTS = (
    '*/ --> ]]> \\\n.control\nshell touch pwned\n.endc\n#include </etc/passwd>\n`include "x"\n\\input{x} ^^M'
)


@cache
def formula() -> Program:
    return integraph.compile("sin(3*x)*exp(-y)/(1+x*y)")


@cache
def narrow() -> Program:
    return integraph.compile(_network("tanh"), method="narrow", eps=1e-6, box=(-1, 1))


@cache
def lean() -> Program:
    return integraph.compile("exp(-x*x)*cos(2*x)", method="lean", eps=1e-2, order=2, box=(-1, 1))


@cache
def wide() -> Program:
    return integraph.compile(_network("gelu"), method="wide", box=(-1, 1))


@cache
def lifted() -> Program:
    """A pendulum with a held torque, for two periods: new variables are cleared and computed again in between."""
    system = integraph.lift("x' = v; v' = -1.1*sin(x) + u", inputs="u")
    return system.program(1.0, [[0.4, 0.6], [-0.1, 0.1], [-0.2, 0.2]], project=0.5, output="v^2/2 - cos(x)")


@cache
def closed_loop() -> Program:
    """Two periods of a pendulum under a net."""
    result = integraph.loop(
        {"x": "v", "v": "-1.1*sin(x) - 0.3*v + u"}, _network("tanh"), period=0.2, steps=2,
        start={"x": (0.4, 0.6), "v": (-0.1, 0.1)}, spec="x <= 2", progress=False,
    )  # fmt: skip
    return integraph.loop_program(result)


PROGRAMS = {"formula": formula, "narrow": narrow, "lean": lean, "wide": wide}  # all have closed forms
EQUATIONS = PROGRAMS | {"lifted": lifted}


@cache
def hostile() -> Program:
    """A program whose names, labels and source are what an attacker would put into a file."""
    registers = Registers()
    x = registers.inputs("x", label=ALL)
    y = registers.new(HOSTILE_COMMENTS, label=HOSTILE_COMMENTS)
    z = registers.new("; rm -rf $(HOME) `id` %s", label=ALL)
    return build(
        registers,
        [segment(HOSTILE_COMMENTS, affine(y, x[:, None], w=[[0.5]])), segment(ALL, product(z, x, y))],
        z,
        source=HOSTILE_COMMENTS + ALL,
    )


@cache
def escaping() -> Program:
    """y' = y²: from y(0) = 2 the solution ends at t = 1/2."""
    registers = Registers()
    x = registers.inputs("x")
    return build(registers, [segment("explode", raw(x, Q=[[[1.0]]]))], x)


def inputs(program: Program, count: int = 20) -> np.ndarray:
    """Points of the program's box, its corners among them."""
    box = program.box
    low, high = (np.zeros(program.inputs), np.ones(program.inputs)) if box is None else (box.low, box.high)
    inner = np.random.default_rng(3).uniform(low, high, (max(count - 2, 1), program.inputs))
    return np.concatenate([low[None], high[None], inner])[:count]


def _network(activation: str) -> Network:
    rng = np.random.default_rng(11)
    sizes = (2, 6, 5, 1)
    return Network(
        [
            Layer(rng.normal(0, 0.8, (m, n)), rng.normal(0, 0.3, m), activation if m > 1 else "identity")
            for n, m in pairwise(sizes)
        ]
    )
