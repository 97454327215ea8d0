"""Shared by gadgets of fused factors: lanes that grow at a rate g = Σ_k a_k p_k + Σ_r w_r x_r + b, while p_k' = −p_k².

∫p_k = ln(1 + t p_k), so in time t a lane is multiplied by Π (1 + t p_k)^{a_k} · e^{t(w·x + b)}: a product of powers and
an exponential in one run. A pair of lanes may turn meanwhile, at the rate θ = Σ_s c_s t_s + d: a sine or cosine too.
The lanes of a row share their p.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.contraction import distinct, nonzeros, spread
from integraph.gadgets.functions.namespace import Array, Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, fits
from integraph.numbers.arrays import Floats, Indices, Int32
from integraph.program import ONE, Block, Ref, Terms
from integraph.program.terms import empty, terms
from integraph.program.views import dense
from integraph.program.wording import each, times

WEIGHTS = {"a": "p", "w": "x", "c": "t"}  # the tensors that weigh registers, and which
RATE, ANGLE = ("a", "w", "b"), ("c", "d")
NOUNS = {"p": "power", "x": "exponent", "t": "angle"}


class Growth(Gadget):
    """p has the shape rows + (K,), the lanes rows + (n,), or any shape where there is no p. Operands have the shape of
    the lanes and one axis more, to which weights broadcast."""

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        """Operands broadcast to their shape; their last axis may be 0 long, and `powers` may leave out x. Weights w and
        c that are not given are 1."""
        if self.operands == ("x",) and len(refs) == len(self.targets):
            refs = (*refs, dense(0, (0,)))
        self.roles(refs)
        count = len(self.targets)
        lanes = refs[count - 1].shape
        reads = [spread(ref, (*lanes, *(ref.shape[-1:] or (1,)))) for ref in refs[count:]]
        for name in ("w", "c"):
            if WEIGHTS[name] in self.operands and reads[self.operands.index(WEIGHTS[name])].size:
                tensors[name] = 1.0 if tensors.get(name) is None else tensors[name]
        return super().__call__(*refs[:count], *reads, **tensors)

    def check(self, block: Block) -> None:
        lanes, views = block.targets[-1].shape, self._views(block)
        if "p" in views and (not lanes or views["p"].shape[:-1] != lanes[:-1] or not views["p"].shape):
            raise SpecError(
                f"{self.name}: p needs the shape rows + (K,) and {self.targets[-1]} rows + (n,), got "
                f"{views['p'].shape} and {lanes}"
            )
        if "u" in views and views["u"].shape != lanes:
            raise SpecError(f"{self.name}: u has shape {views['u'].shape}, v has {lanes}: they must agree")
        for role in self.operands:
            if views[role].shape[:-1] != lanes or len(views[role].shape) != len(lanes) + 1:
                got = views[role].shape
                raise SpecError(f"{self.name}: operand {role!r} has shape {got}, needs {lanes} + (terms,)")
        for name, tensor in block.tensors.items():
            fits(self.name, name, tensor.shape, self._shape(block, name))
        for name in self.tensors:
            if name in WEIGHTS and name not in block.tensors and views[WEIGHTS[name]].size:
                raise SpecError(
                    f"{self.name} needs the tensor {name!r}: give {name}=… as a number or an array that broadcasts to "
                    f"{self._shape(block, name)}"
                )

    def idle(self, block: Block) -> tuple[str, ...]:
        views = self._views(block)
        return tuple(name for name in block.tensors if name in WEIGHTS and not views[WEIGHTS[name]].size)

    def _views(self, block: Block) -> dict[str, Ref]:
        return dict(zip((*self.targets, *self.operands), block.refs(), strict=True))

    def _shape(self, block: Block, name: str) -> tuple[int, ...]:
        """What a tensor broadcasts to: the lanes, with an axis for what it weighs."""
        lanes = block.targets[-1].shape
        return (*lanes, *self._views(block)[WEIGHTS[name]].shape[-1:]) if name in WEIGHTS else lanes

    def values(self, block: Block, name: str, lanes: Indices) -> Floats:
        """A tensor at flat lane positions: (lanes, terms), one term for a tensor that weighs nothing."""
        shape, lead = self._shape(block, name), block.targets[-1].shape
        spread_out = np.broadcast_to(block.tensors[name], (1, *shape))
        return spread_out[np.unravel_index(lanes, (1, *lead))].reshape(len(lanes), -1)

    def reads(self, block: Block, name: str, lanes: Indices) -> Int32:
        """The registers that a tensor weighs, for each lane; ONE for those that weigh nothing."""
        if name not in WEIGHTS:
            return np.full((len(lanes), 1), ONE, np.int32)
        shape, ref = block.targets[-1].shape, self._views(block)[WEIGHTS[name]]
        if WEIGHTS[name] == "p":
            return ref.rows(lanes // shape[-1], len(shape) - 1)
        return ref.rows(lanes, len(shape))

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """p: −p²; z: g z; u: g u + θ v; v: g v − θ u."""
        name, i = self.targets[role], block.targets[role].at(lanes)[:, None]
        if name == "p":
            return terms(i, i, i, -1.0)
        factors = [(given, i, 1.0) for given in RATE]
        if name in ("u", "v"):
            other = block.targets[role + (1 if name == "u" else -1)].at(lanes)[:, None]
            factors += [(given, other, 1.0 if name == "u" else -1.0) for given in ANGLE]
        parts = [
            (self.reads(block, given, lanes), factor, sign * self.values(block, given, lanes))
            for given, factor, sign in factors
            if given in block.tensors
        ]
        if not parts:
            return empty()
        j = np.concatenate([reads for reads, _, _ in parts], 1)
        k = np.concatenate([np.broadcast_to(factor, reads.shape) for reads, factor, _ in parts], 1)
        return terms(i, j, k, np.concatenate([value for _, _, value in parts], 1))

    def per_lane(self, block: Block, role: int) -> int:
        if self.targets[role] == "p":
            return 1
        given = RATE if self.targets[role] == "z" else RATE + ANGLE
        views = self._views(block)
        return sum(views[WEIGHTS[n]].shape[-1] if n in WEIGHTS else 1 for n in given if n in block.tensors)

    def count(self, block: Block) -> int | None:
        if not all(ref.size == 0 or distinct(ref) for ref in block.operands):
            return None
        terms = sum(nonzeros(block, name, self._shape(block, name)) for name in block.tensors)
        pairs = len(self.targets) - ("p" in self.targets)
        return terms * pairs + (block.targets[0].size if "p" in self.targets else 0)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        reads = dict(zip(self.operands, operands, strict=True))
        exponent = t * _form(f, tensors, "w", reads["x"], "b")
        if "p" in self.targets:
            p, *lanes = start
            base = 1.0 + t * p
            ends, alive = [p / base], {"p": base}
            grown = [f.grow_powers(z, exponent, (t * p)[..., None, :, :], tensors["a"]) for z in lanes]
        else:
            ends, alive = [], {}
            grown = [f.grow(z, exponent) for z in start]
        if "t" in self.operands:
            (u, v), angle = grown, t * _form(f, tensors, "c", reads["t"], "d")
            sin, cos = f.sin(angle), f.cos(angle)
            grown = [u * cos + v * sin, v * cos - u * sin]
        return Closed((*ends, *grown), alive)

    def words(self, block: Block) -> str:
        reach = self._reach(block)
        counts = "".join(
            each(reach[role], noun, block.targets[-1].size) for role, noun in NOUNS.items() if reach.get(role)
        )
        head = f"{times(self.name, block.targets[-1].size)}{counts}: "
        exponent, angle = (self._sum(block, reach, names) for names in (RATE[1:], ANGLE))
        factor = f"·{'Π ' * (reach['p'] > 1)}(1 + p(0))^a" if "p" in reach else ""
        factor += f"·e^({exponent})" * (exponent != "0")
        if "t" not in reach:
            return f"{head}z(1) = z(0){factor}"
        return f"{head}(u, v)(1) = (u, v)(0){factor}, turned by θ = {angle}, which takes (0, 1) to (sin θ, cos θ)"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        reach = self._reach(block)
        rate, angle = (self._sum(block, reach, names) for names in (RATE, ANGLE))
        p = [("p", "−p²")] if "p" in reach else []
        if "t" not in reach:
            return [*p, ("z", f"({rate})·z")]
        return [*p, ("u", f"({rate})·u + ({angle})·v"), ("v", f"({rate})·v − ({angle})·u")]

    def _reach(self, block: Block) -> dict[str, int]:
        """How many powers, exponents and angles a register has."""
        return {role: ref.shape[-1] for role, ref in self._views(block).items() if role in WEIGHTS.values()}

    def _sum(self, block: Block, reach: dict[str, int], names: tuple[str, ...]) -> str:
        """`Σ a·p + w·x + b`, of the tensors that there are."""
        parts = []
        for name in names:
            role = WEIGHTS.get(name)
            if name in block.tensors and (role is None or reach[role]):
                parts.append(name if role is None else f"{'Σ ' * (reach[role] > 1)}{name}·{role}")
        return " + ".join(parts) or "0"


def _form(f: Functions, tensors: Tensors, weights: str, reads: Array, bias: str) -> Array:
    """Σ w x + b in every lane."""
    constant = tensors.get(bias, 0.0)
    return f.sum(tensors[weights] * reads, -2) + constant if weights in tensors else constant
