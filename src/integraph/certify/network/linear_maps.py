"""The affine maps of a program of Theorem 2 in balls, as they should be and as they are stored.

A layer takes A(gain·z + offset) + b of the registers z before it; sigmoid, which runs as tanh, half of that. The
argument of a unit is loaded into a register of its own. A unit of a rectifier that does not run has none: what is
loaded is κ times the argument, and κ is whichever of 1, c and (1 + c)/2 the stored weights are next to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from integraph.certify.network import rectifiers
from integraph.certify.network.activation_rules import RULES, ActivationRule, gelu_tanh
from integraph.certify.network.form import LoadStep, NetworkForm, Time
from integraph.certify.network.roles import RECTIFIERS, ActivationStep, slopes
from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.constructions.recipes import RECIPES
from integraph.numbers.arb.conversion import ZERO, Balls, column, matrix
from integraph.numbers.arb.matrices import scaled_rows, spectral_norm
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Program
from integraph.targets import Layer, Network


@dataclass(frozen=True, slots=True, eq=False)
class StoredMap:
    """A role that starts at scale times the argument: W_role − scale·W (None where that is 0), and the same of b."""

    registers: Indices
    arguments: Indices
    scales: Balls
    lost: arb_mat | None
    shift: Balls


@dataclass(frozen=True, slots=True, eq=False)
class LayerMaps:
    """A z + b is what should be computed, W z + … what is."""

    A: arb_mat
    b: arb_mat
    W: arb_mat
    lost: arb_mat  # W − κA
    shift: arb_mat  # stored b − κb
    rows: Balls  # euclidean norms of the rows of W
    norm: arb  # at least the largest singular value of W
    kappa: Balls
    fall: arb  # what is left of the source
    registers: Indices  # of the arguments
    others: dict[str, StoredMap]  # of the roles besides that are loaded
    spare: tuple[list[int], arb_mat, Balls] | None  # registers that are loaded too, and what they gain
    rules: list[ActivationRule]  # of the units that run
    joint: ActivationRule  # of all of them together


def prepare(program: Program, form: NetworkForm, network: Network) -> tuple[LayerMaps, ...]:
    """Of all layers, then of the read-out."""
    return tuple(_maps(program, form, network))


def _maps(program: Program, form: NetworkForm, network: Network) -> Iterator[LayerMaps]:
    gain, offset = arb(1), ZERO
    loads = [step for step in form.steps if isinstance(step, LoadStep)]
    runs = [step for step in form.steps if isinstance(step, ActivationStep)]
    for layer, load, run in zip(form.hidden, loads, runs, strict=True):
        A, b = _folded(layer, gain, offset)
        if layer.activation == "sigmoid":
            A, b = A / 2, b / 2
        yield _load(layer, load, run, A, b)
        gain, offset = _out(layer)
    last = network.layers[-1] if len(form.hidden) < len(network.layers) else None
    if last is None:
        n = network.outputs
        A, b = matrix(np.eye(n)) * gain, column([offset] * n)
    else:
        A, b = _folded(last, gain, offset)
    held = program.readout[:, runs[-1].out if runs else np.arange(program.inputs)].toarray()
    W = matrix(held)
    yield _linear(A, b, W, W - A, -b, held, [], arb(1), np.arange(0), {}, None, [], RULES["identity"])


def elapsed(time: Time) -> arb:
    return arb(time[0]) * arb(time[1])


def _out(layer: Layer) -> tuple[arb, arb]:
    """f = gain·register + offset."""
    if layer.activation == "sigmoid":
        return arb(0.5), arb(0.5)
    return arb(1), arb.const_log2() if layer.activation == "softplus" else ZERO


def _folded(layer: Layer, gain: arb, offset: arb) -> tuple[arb_mat, arb_mat]:
    A, b = matrix(layer.A), column([arb(v) for v in layer.b.tolist()])
    return A * gain, A * column([offset] * A.ncols()) + b


def _load(layer: Layer, load: LoadStep, run: ActivationStep, A: arb_mat, b: arb_mat) -> LayerMaps:
    row = {register: n for n, register in enumerate(load.registers.tolist())}
    argument, still = run.out.copy(), np.ones(len(run.out), np.bool_)
    still[run.units] = False
    argument[run.units] = run.roles[run.recipe.argument]
    if not all(register in row for register in argument.tolist()):
        raise Unprovable(f"the argument of layer {run.number + 1} is not loaded")
    rows = np.array([row[register] for register in argument.tolist()])
    tau, r = elapsed(load.time), arb(load.r)
    reach = tau if load.r == 0 else -(-r * tau).expm1() / r
    w, shift = load.w[rows], column([arb(v) * tau for v in load.b[rows].tolist()])
    W = matrix(w) * reach
    kappa = [arb(1)] * len(rows)
    for unit in np.flatnonzero(still).tolist():
        check_deadline()
        kappa[unit] = arb(_nearest(slopes(layer)[unit], _row(W, unit), _row(A, unit)))
    lost, short = W - A, shift - b
    if still.any():
        lost, short = W - scaled_rows(kappa, A), shift - scaled_rows(kappa, b)
    others = {}
    for role, registers in run.roles.items():
        scale, _ = run.recipe.starts[role]
        if role == run.recipe.argument or not (np.ndim(scale) or scale):
            continue
        if not all(register in row for register in registers.tolist()):
            raise Unprovable(f"role {role} of layer {run.number + 1} is not loaded")
        places = np.array([row[register] for register in registers.tolist()], np.int64)
        others[role] = _other(
            load, registers, argument[run.units], places, rows[run.units], _scales(run, role), reach, tau
        )
    known = {*argument.tolist(), *(r for other in others.values() for r in other.registers.tolist())}
    rest = [n for register, n in row.items() if register not in known]
    spare = None
    if rest:
        gained = [arb(v) * tau for v in load.b[rest].tolist()]
        spare = load.registers[rest].tolist(), matrix(load.w[rest]) * reach, gained
    fall = (-r * tau).exp()
    return _linear(A, b, W, lost, short, w, kappa, fall, argument, others, spare, *_rules(run))


def _linear(
    A: arb_mat, b: arb_mat, W: arb_mat, lost: arb_mat, shift: arb_mat, near: Floats, kappa: Balls, fall: arb,
    registers: Indices, others: dict[str, StoredMap], spare: tuple[list[int], arb_mat, Balls] | None,
    rules: list[ActivationRule], joint: ActivationRule,
) -> LayerMaps:  # fmt: skip
    columns, entries, rows = W.ncols(), W.entries(), []
    for n in range(0, len(entries), columns):
        check_deadline()
        rows.append(sum((entry * entry for entry in entries[n : n + columns]), ZERO).sqrt().upper())
    return LayerMaps(
        A, b, W, lost, shift, rows, spectral_norm(W, near), kappa, fall, registers, others, spare, rules, joint
    )


def _other(
    load: LoadStep,
    registers: Indices,
    arguments: Indices,
    places: Indices,
    rows: Indices,
    scales: Balls,
    reach: arb,
    tau: arb,
) -> StoredMap:
    """How far what a role gains is from scale times what the argument gains."""
    mine, theirs = load.w[places], load.w[rows]
    b = [
        (arb(x) - scale * arb(y)) * tau
        for x, y, scale in zip(load.b[places].tolist(), load.b[rows].tolist(), scales, strict=True)
    ]
    flat: Balls = []
    for left, right, scale in zip(mine.tolist(), theirs.tolist(), scales, strict=True):
        check_deadline()
        flat += [arb(x) - scale * arb(y) for x, y in zip(left, right, strict=True)]
    lost = None if all(entry == 0 for entry in flat) else arb_mat(len(mine), mine.shape[1], flat) * reach
    return StoredMap(registers, arguments, scales, lost, b)


def _scales(run: ActivationStep, role: str) -> Balls:
    """scale of the start scale·x + shift, as an exact number rather than the float of the recipe."""
    if run.name == "erf":
        return [2 / arb.const_sqrt_pi()] * len(run.units)
    if (run.name, role) == ("gelu", "h"):
        return [1 / (2 * arb.pi()).sqrt()] * len(run.units)
    if run.name in RECTIFIERS:
        return [(arb(1) + arb(c)) / 2 for c in run.slopes[run.units].tolist()]
    if RECIPES[run.name].starts[role] == (0.5, 0.0):
        return [arb(0.5)] * len(run.units)
    raise Unprovable(f"there is no rule for the start of {role} in {run.name}")


def _rules(run: ActivationStep) -> tuple[list[ActivationRule], ActivationRule]:
    if run.name in RECTIFIERS and len(run.units):
        return rectifiers.lanes({name: values.tolist() for name, values in run.parameters.items()})
    if run.name == "gelu_tanh":
        rule = gelu_tanh({name: arb(float(value[0])) for name, value in run.parameters.items()})
    elif run.name in RULES or not len(run.units):
        rule = RULES.get(run.name, RULES["identity"])
    else:
        raise Unprovable(f"there is no rule for {run.name}")
    return [rule] * len(run.units), rule


def _row(A: arb_mat, row: int) -> Floats:
    """Near the numbers of a row."""
    return np.array([float(A[row, column].mid()) for column in range(A.ncols())])


def _nearest(slope: float, w: Floats, a: Floats) -> float:
    """κ of a unit that keeps what was loaded."""
    candidates = [1.0, float(slope), 0.5 * (1.0 + float(slope))]
    return min(candidates, key=lambda kappa: float(np.abs(w - kappa * a).max()))
