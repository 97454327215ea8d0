"""Fine-tuning of compiled nets beside training of the net itself: errors on test rows, and processor time.

A 2-16-16-1 net learns sin(3x)·cos(2y) on [−1, 1]²; then 4/10 of x·y is added to the target, and each program learns
from 1000 rows. Time is that of all compiling by XLA too, but for the net itself, which is compiled before.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import integraph
from integraph import Network
from integraph.learn import fine_tune
from measure import show

ROWS, STEPS, FIRST, RATE, EPS = 1000, 300, 3000, 0.01, 1e-3
ACTIVATIONS = {"tanh": jnp.tanh, "gelu": lambda z: jax.nn.gelu(z, approximate=False)}
COLUMNS = ("activation", "model", "RMSE before", "after", "s", "proved: program − net ≤")
Weights = list[tuple[Any, Any]]


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    X, test = np.random.default_rng(0).uniform(-1, 1, (2, ROWS, 2))
    rows: list[tuple[object, ...]] = []
    for name in ACTIVATIONS:
        random = np.random.default_rng(1)
        drawn = [(random.normal(size=(n, m)) / m**0.5, np.zeros(n)) for m, n in ((2, 16), (16, 16), (16, 1))]
        first, _ = trained(name, drawn, X, learned(X), FIRST)
        before = rms(net(name, first)(test), target(test))
        again, seconds = trained(name, first, X, target(X), STEPS)
        rows.append((name, "the net itself", before, rms(net(name, again)(test), target(test)), f"{seconds:.2g}", ""))
        for method in ("wide", "narrow"):
            program = integraph.compile(net(name, first), EPS, method=method, box=(-1, 1))
            for untied in (False, True):
                source = None if untied else net(name, first)
                begun = time.process_time()
                result = fine_tune(
                    program, X, target(X), source, steps=STEPS, learning_rate=RATE, untied=untied, progress=False
                )
                seconds, proof = time.process_time() - begun, ""
                if result.network is not None:
                    certificate = integraph.certify(result.program, result.network, box=(-1, 1), progress=False)
                    proof = f"{certificate.upper:.1e}" if certificate.status == "proved" else certificate.status
                after = rms(result.program(test), target(test))
                rows.append((name, method + ", untied" * untied, before, after, f"{seconds:.2g}", proof))
    show("fine-tuning", COLUMNS, [(a, m, f"{b:.1e}", f"{c:.2e}", *more) for a, m, b, c, *more in rows])


def learned(x: np.ndarray) -> np.ndarray:
    return np.sin(3 * x[:, :1]) * np.cos(2 * x[:, 1:])


def target(x: np.ndarray) -> np.ndarray:
    return learned(x) + 0.4 * x[:, :1] * x[:, 1:]


def rms(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))


def net(name: str, weights: Weights) -> Network:
    hidden = [(np.asarray(A), np.asarray(b), name) for A, b in weights[:-1]]
    return integraph.network([*hidden, tuple(map(np.asarray, weights[-1]))])


def trained(name: str, weights: Weights, X: np.ndarray, y: np.ndarray, steps: int) -> tuple[Weights, float]:
    """Adam on all rows, and its processor time."""
    activation, optimiser = ACTIVATIONS[name], optax.adam(RATE)

    @jax.jit
    def step(weights: Weights, state: Any) -> tuple[Weights, Any]:
        def loss(weights: Weights) -> Any:
            z = X
            for A, b in weights[:-1]:
                z = activation(z @ A.T + b)
            return jnp.mean((z @ weights[-1][0].T + weights[-1][1] - y) ** 2)

        moved, state = optimiser.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, moved), state

    weights = jax.tree.map(jnp.asarray, weights)
    state = optimiser.init(weights)
    step(weights, state)  # compiles
    begun = time.process_time()
    for _ in range(steps):
        weights, state = step(weights, state)
    jax.block_until_ready(weights)
    return weights, time.process_time() - begun


if __name__ == "__main__":
    main()
