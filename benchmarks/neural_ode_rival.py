"""A neural ODE with an MLP field, by diffrax, on rows of a file, for benchmarks/learning.py.

State: the inputs and six registers that start at 0; field 8-24-24-8 with tanh; a linear read-out of y(1). Trained like
the quadratic ODE: Adam, 4000 steps of 128 rows, clipped gradients, cosine decay from 0.01; Tsit5
with four equal steps, checkpointed; judged by Dopri8 at 1e-6, in float32. Prints parameters, predictions, seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTH, HIDDEN, STEPS, BATCH, RATE = 8, 24, 4000, 128, 1e-2


def main() -> None:
    data = np.load(sys.argv[1])
    seed = int(data["seed"])
    field_key, out_key = jax.random.split(jax.random.PRNGKey(seed))
    field = eqx.nn.MLP(WIDTH, WIDTH, HIDDEN, 2, activation=jnp.tanh, key=field_key)
    readout = eqx.nn.Linear(WIDTH, 1, key=out_key)
    params, static = eqx.partition((field, readout), eqx.is_inexact_array)

    def outputs(params, x, solver, controller, dt0):
        field, readout = eqx.combine(params, static)
        start = jnp.pad(x, ((0, 0), (0, WIDTH - x.shape[1])))
        term = diffrax.ODETerm(lambda t, y, args: jax.vmap(field)(y))
        end = diffrax.diffeqsolve(term, solver, 0.0, 1.0, dt0, start, stepsize_controller=controller).ys[0]
        return jax.vmap(readout)(end)[:, 0]

    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(RATE, STEPS)))

    @jax.jit
    def step(params, state, x, y):
        def loss(params):
            return jnp.mean((outputs(params, x, diffrax.Tsit5(), diffrax.ConstantStepSize(), 0.25) - y) ** 2)

        change, state = optimiser.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, change), state

    X, y = data["X"].astype(np.float32), data["y"].astype(np.float32)
    random, state = np.random.default_rng(seed), optimiser.init(params)
    step(params, state, X[:BATCH], y[:BATCH])  # compiles
    begun, order = time.process_time(), np.zeros(0, int)
    for _ in range(STEPS):
        if len(order) < BATCH:
            order = random.permutation(len(X))
        params, state = step(params, state, X[order[:BATCH]], y[order[:BATCH]])
        order = order[BATCH:]
    jax.block_until_ready(params)
    seconds = time.process_time() - begun
    judge = diffrax.PIDController(rtol=1e-6, atol=1e-6)
    values = outputs(params, data["test"].astype(np.float32), diffrax.Dopri8(), judge, None)
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    print(json.dumps([size, np.asarray(values, np.float64).tolist(), seconds]))


if __name__ == "__main__":
    main()
