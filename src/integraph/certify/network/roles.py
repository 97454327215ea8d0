"""The activation of a layer as it is stored: which registers have which role, and with which parameters it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from integraph.certify.problem import Unprovable
from integraph.constructions.recipes import RECIPES, Recipe
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Ref
from integraph.targets import Layer

RECTIFIERS = ("relu", "leaky_relu")


@dataclass(frozen=True, slots=True, eq=False)
class ActivationStep:
    """An activation of `units` units of layer `number` (from 0): the registers of each role, and its parameters."""

    number: int
    name: str
    recipe: Recipe
    units: Indices
    roles: Mapping[str, Indices]
    out: Indices  # of all units of the layer
    slopes: Floats  # below 0, of a rectifier
    parameters: Mapping[str, Floats]

    @property
    def still(self) -> list[int]:
        """Units that do not run."""
        return sorted(set(range(len(self.out))) - set(self.units.tolist()))


Read = tuple[dict[str, Indices], dict[str, Floats], Indices, Recipe]


def activation(number: int, layer: Layer, blocks: list[Block], out: Indices) -> ActivationStep:
    """What the blocks of a layer's stages do, if it is the layer's activation."""
    name = "tanh" if layer.activation == "sigmoid" else layer.activation
    if name == "identity":
        if blocks:
            raise _other_network("an affine layer", blocks)
        read: Read = {"x": out}, {}, np.arange(len(out)), RECIPES["identity"]
    elif name in RECTIFIERS:
        read = _rectifier(blocks, out, layer)
    elif name == "gelu_tanh":
        read = _gelu_tanh(blocks, out)
    else:
        read = _plain(blocks, name, RECIPES[layer.activation], out)
    roles, parameters, units, recipe = read
    return ActivationStep(number, name, recipe, units, roles, out, slopes(layer), parameters)


def slopes(layer: Layer) -> Floats:
    """Below 0, of each unit of a rectifier."""
    leak = layer.slope if layer.activation == "leaky_relu" else 0.0
    return np.broadcast_to(leak, (len(layer.A),)).astype(np.float64)


def lanes(block: Block, name: str) -> Floats:
    """A tensor, one number a lane."""
    return np.broadcast_to(block.tensors[name], block.targets[0].shape).reshape(-1)


def _plain(blocks: list[Block], name: str, recipe: Recipe, out: Indices) -> Read:
    gadget = {"sin": "sin_cos"}.get(name, name)
    if len(blocks) != 1 or blocks[0].op.name != gadget or blocks[0].tensors:
        raise _other_network(f"a layer of {name}", blocks)
    roles = _roles(blocks[0])
    if not np.array_equal(roles[recipe.out], out):
        raise Unprovable(f"the result of {name} is not where the program shows it")
    return roles, {}, np.arange(len(out)), recipe


def _rectifier(blocks: list[Block], out: Indices, layer: Layer) -> Read:
    """Units that switch run s' = p x s − k s² − l x²; the others have no block, and keep what was loaded."""
    slope = slopes(layer)
    recipe = Recipe({"x": (1.0, 0.0), "s": (0.5 * (1.0 + slope), 0.0)}, (), "s")
    if not blocks:
        return {"s": out[:0], "x": out[:0]}, {}, np.arange(0), recipe
    block = blocks[0]
    if len(blocks) != 1 or block.op.name not in RECTIFIERS or {"a", "b"} & set(block.tensors):
        raise _other_network("a layer of rectifiers", blocks)
    roles = _roles(block)
    places = {int(register): unit for unit, register in enumerate(out)}
    if not all(int(register) in places for register in roles["s"]):
        raise Unprovable("the result of a rectifier is not where the program shows it")
    k = lanes(block, "k")
    c = lanes(block, "c") if "c" in block.tensors else np.zeros_like(k)
    l = k * c  # as lowering rounds them: the two terms in x s are added up
    units = np.array([places[int(r)] for r in roles["s"]])
    return roles, {"k": k, "p": k + l, "l": l, "c": slope[units]}, units, recipe


def _gelu_tanh(blocks: list[Block], out: Indices) -> Read:
    """q = x², u = c₁x + c₃xq, tanh, z = c₅x + c₆xα, with one weight each."""
    if [block.op.name for block in blocks] != ["product", "affine", "product", "tanh", "affine", "product"]:
        raise _other_network("a layer of GELU's tanh form", blocks)
    square, linear, cubic, tanh, half, last = blocks
    roles = {**{f: r for f, r in _roles(tanh).items() if f != "x"}, "u": _roles(tanh)["x"]}
    roles["q"], roles["x"], roles["z"] = (_flat(r) for r in (square.targets[0], square.operands[0], last.targets[0]))
    wiring: dict[str, tuple[Block, tuple[str, ...]]] = {
        "square": (square, ("q", "x", "x")),
        "linear": (linear, ("u", "x")),
        "cubic": (cubic, ("u", "x", "q")),
        "half": (half, ("z", "x")),
        "last": (last, ("z", "x", "alpha")),
    }
    for block, names in wiring.values():
        refs = [_flat(ref) for ref in block.refs()]
        same = len(refs) == len(names) and all(map(np.array_equal, refs, (roles[name] for name in names)))
        if not same or block.tensors["w"].size != 1 or "b" in block.tensors:
            raise Unprovable("GELU's tanh form is not wired as its recipe")
    if not np.array_equal(roles["z"], out):
        raise Unprovable("the result of GELU's tanh form is not where the program shows it")
    weights = {name: block.tensors["w"].reshape(1) for name, (block, _) in wiring.items()}
    return roles, weights, np.arange(len(out)), RECIPES["gelu_tanh"]


def _other_network(layer: str, blocks: list[Block]) -> Unprovable:
    runs = ", ".join(block.op.name for block in blocks) or "no activation"
    return Unprovable(f"the network has {layer} where the program runs {runs}: it was not compiled from this network")


def _roles(block: Block) -> dict[str, Indices]:
    return dict(zip(block.op.targets + block.op.operands, map(_flat, block.refs()), strict=True))


def _flat(ref: Ref) -> Indices:
    return ref.indices().reshape(-1)
