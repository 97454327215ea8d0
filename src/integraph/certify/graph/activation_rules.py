"""Gadgets of functions of one number, and decay: from the start that a gadget documents, up to rounding, to the
function of its operand, and how far from it it ends (`bounds.perturbation`). From any other start nothing is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from integraph.bounds.perturbation.activation_errors import RELU
from integraph.bounds.perturbation.gadget_ends import perturbed_ends
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.functions import applied, opaque, rectified
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, scaled, times, total
from integraph.certify.graph.roles import Ends, Held, Roles, State, apart
from integraph.certify.problem import Unprovable
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.roundoff import UP, U
from integraph.program import Block

Start = tuple[float, float, float]  # scale, shift, and how far the scale may be off
LN2 = math.log(2.0)
ROOT = 1.0 / math.sqrt(2.0 * math.pi), 2.0 / math.sqrt(math.pi)
ARGUMENT, ZERO, HALF = (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0)
STARTS: dict[str, dict[str, Start]] = {  # of roles that may not start anywhere, as multiples of the argument
    "tanh": {"alpha": ZERO, "lam": ZERO},
    "sigmoid": {"s": HALF, "g": (0.0, 0.5, 0.0)},
    "silu": {"s": HALF},
    "relu": {"s": HALF},
    "softplus": {"s": HALF},
    "gelu": {"w": ZERO, "h": (ROOT[0], 0.0, 4 * U * ROOT[0]), "z": HALF},
    "erf": {"w": ZERO, "h": (ROOT[1], 0.0, 4 * U * ROOT[1])},
    "expm1": {"z": ZERO},
    "log_cosh": {"m": ZERO},
    "arctan": {"v": ARGUMENT, "w": ZERO},
    "asinh": {"v": ARGUMENT, "u": ARGUMENT, "w": ZERO},
    "sinh_cosh": {},
}
ARGUMENTS = {"arctan": "v", "asinh": "v"}  # where it is in a target


def activation(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    """A function of one number."""
    atoms = state.atoms
    name, argument = block.op.name, ARGUMENTS.get(block.op.name, "x")
    x = _argument(atoms, block, held[argument])
    held = {**held, argument: x}
    off = {role: h.off for role, h in held.items()}
    for role, start in STARTS[name].items():
        if role != argument:
            off[role] = UP * (off[role] + _wrong_start(atoms, held[role].atom, x.atom, start, role))
    starts = {role: h.range(atoms) for role, h in held.items()}
    tensors = {key: value for key, value in block.tensors.items() if key == "k"}
    right = _right(atoms, name, held, x.atom)
    ends: Ends = {}
    wrong = perturbed_ends(name, starts, off, tensors, own=_own(state, block, held, off))
    for role in block.op.targets:
        span, missed = wrong[role]
        if role in right:
            atom, distance = atoms.resolve(right[role])
            ends[role] = atom, UP * (np.broadcast_to(missed, x.atom.shape).reshape(-1) + distance)
        else:
            ends[role] = (
                opaque(atoms, f"{name} {role}", x.atom, span).reshape(-1),
                np.broadcast_to(missed, x.atom.shape).reshape(-1),
            )
    if name == "relu":
        if not (block.tensors["k"] > 0).all():
            raise Unprovable("the steepness k is not positive")
        k = np.broadcast_to(np.abs(block.tensors["k"]), x.atom.shape).reshape(-1)
        ends["s"] = ends["s"][0], UP * (ends["s"][1] + UP * RELU / k)
    return ends


def _own(state: State, block: Block, held: Roles, off: dict[str, Floats]) -> dict[str, Floats]:
    """How far starts are from what they should be for the actual argument, where they were computed from it."""
    if "x" not in block.op.operands or "a" in block.tensors or "b" in block.tensors:
        return {}
    x, own, follow = held["x"], {}, np.ones(held["x"].atom.shape, np.bool_)
    for role, (scale, _, lost) in STARTS[block.op.name].items():
        own[role] = off[role]
        if scale:
            away = state.follows(held[role].registers.reshape(-1), x.registers.reshape(-1), scale).reshape(x.off.shape)
            own[role] = UP * (away + lost * (state.atoms.size()[x.atom] + x.off))
            follow &= np.isfinite(own[role])
    own = {role: np.where(follow, away, off[role]) for role, away in own.items()}
    return {**own, "x": np.where(follow, 0.0, off["x"])}


def _argument(atoms: Atoms, block: Block, x: Held) -> Held:
    """a·x + b, if there are such tensors."""
    if "a" not in block.tensors and "b" not in block.tensors:
        return x
    shape = x.atom.shape
    a, b = (
        np.broadcast_to(block.tensors.get(key, np.array(plain)), shape).reshape(-1)
        for key, plain in (("a", 1.0), ("b", 0.0))
    )
    atom, distance = atoms.resolve(total(scaled(of_atoms(x.atom.reshape(-1)), a), constant(b)))
    return Held(
        atom.reshape(shape), UP * (np.abs(a) * x.off.reshape(-1) + distance).reshape(shape), x.share, x.registers
    )


def _wrong_start(atoms: Atoms, start: Indices, x: Indices, right: Start, role: str) -> Floats:
    scale, shift, off = right
    wanted = total(scaled(of_atoms(x.reshape(-1)), scale, off), constant(np.full(x.size, shift)))
    return apart(atoms, of_atoms(start.reshape(-1)), wanted, role).reshape(x.shape)


def _right(atoms: Atoms, name: str, held: Roles, x: Indices) -> dict[str, Polynomials]:
    """The right ends that are known functions."""
    flat = x.reshape(-1)

    def f(function: str) -> Polynomials:
        return of_atoms(applied(atoms, function, flat))

    def start(role: str) -> Polynomials:
        return of_atoms(held[role].atom.reshape(-1))

    square = times(of_atoms(flat), flat)
    if name == "tanh":
        return {"alpha": f("tanh"), "lam": times(f("tanh"), flat)}
    if name == "sigmoid":
        return {"g": f("sigmoid"), "s": f("silu")}
    if name in ("silu", "softplus"):
        ln2 = constant(np.full(x.size, -LN2), U)
        return {"s": f("silu")} | ({"y": total(start("y"), f("softplus"), ln2)} if name == "softplus" else {})
    if name == "relu":
        return {"s": of_atoms(rectified(atoms, flat))}
    if name == "gelu":
        return {"w": square, "z": f("gelu")}
    if name == "erf":
        return {"w": square, "y": total(start("y"), f("erf"))}
    if name == "expm1":
        return {"z": f("expm1")}
    if name == "log_cosh":
        return {"l": total(start("l"), f("log_cosh"))}
    if name == "arctan":
        return {"y": total(start("y"), f("atan"))}
    if name == "asinh":
        return {"y": total(start("y"), f("asinh"))}
    sinh, cosh = applied(atoms, "sinh", flat), applied(atoms, "cosh", flat)
    u, v = start("u"), start("v")
    return {"u": total(times(u, cosh), times(v, sinh)), "v": total(times(u, sinh), times(v, cosh))}


def decay(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    """What is left is no more than e^−r of what there was."""
    atoms = state.atoms
    z = held["z"]
    rate = np.broadcast_to(block.tensors["r"], z.atom.shape).reshape(-1) * float(tau)
    size = atoms.size()[z.atom].reshape(-1) + z.off.reshape(-1)
    left = np.where(
        size == 0, 0.0, UP * np.exp(-rate * (1.0 - 4 * U) if rate.min() >= 0 else -rate * (1.0 + 4 * U)) * size
    )
    return {"z": (np.full(z.atom.size, atoms.zero), left)}
