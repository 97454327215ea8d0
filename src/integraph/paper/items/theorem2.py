"""Lemma 5, Theorem 2 and the remark after it: networks, their rates, and the activations as flows."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.api import compiler
from integraph.api.certificates import certify
from integraph.bounds.paper import lemma5, theorem2
from integraph.constructions.recipes import RECIPES
from integraph.numbers.arrays import Floats
from integraph.paper.digits import digits, largest_error
from integraph.paper.items.lemmas import ends, lemma_1
from integraph.paper.rows import Finding, item, shared, size
from integraph.program import Program, Registers, build, segment
from integraph.targets import Network, from_layers

EPS = 1e-6
K, DELTAS = 1.0, (1e-6, 1e-4, 1e-3)
CORNERS = np.array(np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])).reshape(3, -1).T  # of η/δ
SIZES = (3, 6, 6)  # inputs and layers of the example; its output is one number


@item(
    "Lemma 5, perturbed tanh",
    "Lemma 1 from $(ξ + η₁, η₂, η₃)$, $|ξ| ≤ K$, $|η_i| ≤ δ$ small: $y(1)$ is off by at most $((4K + 2) e^(4K + 2) "
    "δ)/(4K + 2 − 9(e^(4K + 2) − 1)δ)$",
    "lem:tanh_perturbation",
)
def lemma_5() -> Finding:
    m, program, xi = digits(), lemma_1(1.0, 0.0).program(), np.linspace(-K, K, 41)
    numbers: dict[str, float] = {}
    good, parts, identity = True, [], 0.0
    for delta in DELTAS:
        starts = np.repeat(np.stack([xi, 0 * xi, 0 * xi], 1), len(CORNERS), 0) + np.tile(delta * CORNERS, (len(xi), 1))
        states = ends(program, starts, "taylor")
        clean = np.repeat(xi, len(CORNERS))
        seen = float(np.abs(states - np.stack([clean, np.tanh(clean), clean * np.tanh(clean)], 1)).max())
        predicted = [value for start in starts.tolist() for value in reference_values(*map(m.mpf, start))]
        identity = max(identity, largest_error(states.ravel().tolist(), predicted))
        a = 4 * m.mpf(K) + 2
        printed = float(a * m.exp(a) * delta / (a - 9 * (m.exp(a) - 1) * delta))
        tight = lemma5.tight(K, delta)
        parts.append(
            f"$δ = {delta:g}$: difference found {size(seen)}, tight bound {size(tight)}, printed {size(printed)}"
        )
        numbers |= {f"seen {delta:g}": seen, f"tight {delta:g}": tight, f"printed {delta:g}": printed}
        good = good and seen <= tight <= printed and abs(lemma5.paper(K, delta) / printed - 1) <= 1e-12
    return Finding(
        f"$K = {K:g}$, {len(xi)}·{len(CORNERS)} starts for each $δ$, integrated. {'; '.join(parts)}. The identity "
        f"behind the tight bound, which no $K$ enters, holds up to {size(identity)}",
        good and identity <= 1e-13,
        {**numbers, "identity": identity},
    )


def reference_values(M: Any, eta2: Any, eta3: Any) -> tuple[Any, Any, Any]:
    """y(1) from (M, η₂, η₃), s = sech M: y₂ = tanh M + s(η₂ − η₃(1 − s)/M)/u, y₃ = M tanh M + s²η₃/u,
    u = 1 + η₃ tanh(M)/M."""
    m = digits()
    s, t = m.sech(M), m.tanh(M)
    by_M, share = ((1 - s) / M, t / M) if M else (m.mpf(0), m.mpf(1))
    u = 1 + eta3 * share
    return M, t + s * (eta2 - eta3 * by_M) / u, M * t + s**2 * eta3 / u


@shared
def net(weight: float = 1.0) -> Network:
    """Weights and biases of at most `weight`, tanh in every layer, no bias of the output: as in the theorem."""
    rng = np.random.default_rng(2)
    pairs = zip(SIZES[1:], SIZES[:-1], strict=True)
    layers: list[Any] = [
        (weight * rng.uniform(-1, 1, (m, n)), weight * rng.uniform(-1, 1, m), "tanh") for m, n in pairs
    ]
    return from_layers([*layers, (weight * rng.uniform(-1, 1, (1, SIZES[-1])), None)])


@item(
    "Theorem 2, feedforward nets",
    "a tanh net of width $W̃$ and depth $D̃$: $W = 3 max(W̃, d)$ states and $D = 3D̃$ segments of duration 1 give "
    "$sup|f − f̂| ≤ ε$; the rates $r₁$, $r₃$ come from $δ₀ ≤ (a₃^D̃ ε)/(a₁^D̃ ‖c‖₁ + a₂(a₁ + a₃)^D̃ ε)$",
    "thm:feedforward",
)
def theorem_2() -> Finding:
    network, width, depth = net(), max(SIZES), len(SIZES) - 1
    x = np.random.default_rng(5).uniform(size=(500, SIZES[0]))
    parts, good = [], True
    numbers: dict[str, float] = {}
    for bound in ("paper", "tight"):
        program = compiler.compile(network, EPS, bound=bound)
        proof = certify(program, network, EPS, workers=1, progress=False)
        off = float(np.abs(program(x) - network(x)).max())
        terms = float(np.abs(program(x[:20], "taylor") - network(x[:20])).max())
        parts.append(
            f"rates of the {'paper' if bound == 'paper' else 'tight bound'}: up to {program.rate:.4g}, largest "
            f"difference found {size(off)} with the rounding of float64, {size(terms)} by integration, "
            f"{proof.status} ≤ {size(proof.upper)}"
        )
        numbers |= {f"rate, {bound}": program.rate, f"seen, {bound}": off, f"proven, {bound}": proof.upper}
        numbers |= {f"W, {bound}": program.width, f"D, {bound}": program.depth}
        good = good and (program.width, program.depth) == (3 * width, 3 * depth) and proof.status == "proved"
        good = good and off <= proof.upper + 1e-14 and terms <= EPS and proof.upper <= EPS
    said, left = printed_rates(network, EPS)
    ours = theorem2.rates(largest(network), width, depth, 1.0, readout(network), EPS)
    off = max(largest_error([r.r1, r.r3], pair, 0.0) for r, pair in zip(ours, said, strict=True))
    return Finding(
        f"$W̃ = {width}$, $D̃ = {depth}$, $d = {SIZES[0]}$, $ε = {EPS:g}$: $W = {numbers['W, paper']}$, $D = "
        f"{numbers['D, paper']}$; "
        + "; ".join(parts)
        + f". The printed formulas give $r₁$, $r₃$ = {'; '.join(f'{float(a):.4g}, {float(b):.4g}' for a, b in said)}, "
        f"ours the same up to {size(off)}; they leave $δ_D̃‖c‖₁$ = {size(left)}",
        good and off <= 1e-12 and left <= EPS,
        {**numbers, "formulas": off, "left": left},
    )


def largest(network: Network) -> float:
    """M: a bound of every weight, and of every bias."""
    return float(max(max(np.abs(layer.A).max(), np.abs(layer.b).max()) for layer in network.layers[:-1]))


def readout(network: Network) -> float:
    """‖c‖₁."""
    return float(np.abs(network.layers[-1].A).sum())


def constants(M: float, width: int, depth: int, norm: float, eps: float) -> tuple[Any, Any, Any, Any, Any]:
    """K, a₁, a₂, a₃ and δ₀ of the proof, M at least 1."""
    m = digits()
    K = m.mpf(max(M, 1.0)) * (width + 1)
    a3 = 4 * K + 2
    a1, a2 = a3 * m.exp(a3) * K, 9 * (m.exp(a3) - 1) * K
    delta = a3**depth * m.mpf(eps) / (a1**depth * m.mpf(norm) + a2 * (a1 + a3) ** depth * m.mpf(eps))
    return K, a1, a2, a3, delta


def printed_rates(network: Network, eps: float) -> tuple[list[tuple[Any, Any]], float]:
    """r₁ and r₃ of each layer by the printed recursion, and δ_D̃‖c‖₁ at its end."""
    m, width, depth = digits(), max(SIZES), len(SIZES) - 1
    M = max(largest(network), 1.0)
    K, a1, a2, a3, delta = constants(M, width, depth, readout(network), eps)
    rate_list = []
    for _ in range(depth):
        after = a1 * delta / (a3 - a2 * delta)
        rate_list.append((-m.log((m.mpf(M) * width + 1) * delta / (1 + delta)), -m.log(after / (K + after))))
        delta = after
    return rate_list, float(delta * m.mpf(readout(network)))


@item("Remark in Theorem 2: W and D do not depend on ε and M", "$W$ and $D$ are independent of $ε$ and $M$")
def independent() -> Finding:
    sizes = {}
    for weight in (1.0, 4.0):
        for eps in (1e-2, 1e-6, 1e-10):
            program = compiler.compile(net(weight), eps)
            sizes[weight, eps] = (program.width, program.depth, program.rate)
    same = {(W, D) for W, D, _ in sizes.values()}
    parts = ", ".join(f"{rate:.3g}" for _, _, rate in sizes.values())
    return Finding(
        f"$M$ = 1 and 4, $ε$ = 1e-2, 1e-6, 1e-10: $(W, D)$ = {', '.join(map(str, sorted(same)))} in all {len(sizes)}; "
        f"only the rates differ: {parts}",
        same == {(3 * max(SIZES), 3 * (len(SIZES) - 1))},
        {f"rate, M = {M:g}, eps = {eps:g}": rate for (M, eps), (_, _, rate) in sizes.items()},
    )


def _truths() -> dict[str, Any]:
    """The activations in many digits."""
    m = digits()
    half = m.mpf(1) / 2
    return {
        "arctan": m.atan,
        "softplus": lambda x: m.log1p(m.exp(x)),
        "tanh": m.tanh,
        "sigmoid": lambda x: 1 / (1 + m.exp(-x)),
        "silu": lambda x: x / (1 + m.exp(-x)),
        "gelu": lambda x: x * half * m.erfc(-x / m.sqrt(2)),
        "erf": m.erf,
        "sin": m.sin,
        "exp": m.exp,
        "gaussian": lambda x: m.exp(-x * x),
    }


def activation(name: str, lanes: int) -> tuple[Program, Floats, Floats]:
    """The stages of a recipe as a program of all its registers, and start = scale·x + shift of each."""
    recipe = RECIPES[name]
    r = Registers()
    views = {role: r.inputs(role, lanes) for role in recipe.starts}
    stages = [segment(f"{name} {n}", *stage(views)) for n, stage in enumerate(recipe.stages)]
    scales, shifts = np.array([(float(scale), shift) for scale, shift in recipe.starts.values()]).T
    return build(r, stages, views[recipe.out]), scales, shifts


@item(
    "Remark after Theorem 2: arctan, ln(1 + eˣ) and other activations",
    "tanh, arctan, $ln(1 + e^x)$ and others are time-1 flows of quadratic ODEs (the paper does not give them)",
)
def activations() -> Finding:
    m, x = digits(), np.linspace(-6.0, 6.0, 49)
    errors: dict[str, float] = {}
    for name, truth in _truths().items():
        recipe, factor = RECIPES[name], 0.5 if name == "sigmoid" else 1.0  # its register holds x/2
        program, scales, shifts = activation(name, len(x))
        starts = (scales[:, None] * (factor * x) + shifts[:, None]).ravel()
        wanted = [truth(m.mpf(v)) for v in x.tolist()]
        for engine in ("exact", "taylor"):
            values = recipe.gain * program(starts, engine, rtol=1e-15) + recipe.offset
            errors[name] = max(errors.get(name, 0.0), largest_error(values.tolist(), wanted))
    parts = ", ".join(f"{name} {size(error)}" for name, error in errors.items())
    return Finding(
        f"{len(x)} points of $[−6, 6]$, largest error of the closed form and of integration of the terms: {parts}",
        max(errors.values()) <= 1e-12,
        dict(errors),
    )


ITEMS = (lemma_5, theorem_2, independent, activations)
