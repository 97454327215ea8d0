"""Gradients of the flow of raw controls: Taylor steps of jax beside diffrax and torchdiffeq, in one process.

Runs in a Python that has jax, diffrax and torchdiffeq: benchmarks/gradients.py calls it. All see the same factorised
field, a batch at once, in float64 on one thread. The error is that of y(T), as a maximum over the batch, from Taylor
steps four times shorter. Prints JSON: rows of problem, rival, setting, error and the best processor time.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import torch
import torchdiffeq

W, R, B = 16, 16, 64
PROBLEMS = {"mild": 0.5, "harder": 1.2}  # sizes of A and Q
ACCURACY = 1e-11
TURNS = 12


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("taylor", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    taylor = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(taylor)
    rows = []
    for problem, size in PROBLEMS.items():
        controls, y = problem_of(taylor, size)
        truth = np.asarray(taylor.flow(controls, y, order=20, steps=64)[0])
        found = [ours(taylor, order, controls, y, truth) for order in (12, 14, 16)]
        found += [dopri8(controls, y, truth), by_torch(controls, y, truth)]
        best = {name: np.inf for name, *_ in found}
        for _ in range(TURNS):
            for name, _, _, run in found:
                begun = time.process_time()
                run()
                best[name] = min(best[name], time.process_time() - begun)
        rows += [(problem, name, setting, error, best[name]) for name, setting, error, _ in found]
    print(json.dumps(rows))


def problem_of(taylor, size):
    """A lossless Q and a dense A, so that the flow exists for all times."""
    random = np.random.default_rng(0)
    v, p, q = (random.normal(size=(1, R // 2, W)) / W**0.5 for _ in range(3))
    A, b = size * random.normal(size=(1, W, W)) / W**0.5, 0.3 * random.normal(size=(1, W))
    U = 2 * size * np.concatenate([p, -q], 1).swapaxes(1, 2)
    V1, V2 = np.concatenate([v, v], 1), np.concatenate([q, p], 1)
    return taylor.Controls(*map(jnp.array, (b, A, U, V1, V2))), jnp.array(random.normal(size=(B, W)))


def ours(taylor, order, controls, y, truth):
    """The fewest steps that are accurate."""
    for steps in range(1, 200):
        error = np.abs(np.asarray(taylor.flow(controls, y, order=order, steps=steps)[0]) - truth).max()
        if error <= ACCURACY:
            break
    gradient = jax.jit(
        jax.grad(lambda c, y: jnp.sum(taylor.flow(c, y, order=order, steps=steps)[0] ** 2), argnums=(0, 1))
    )
    return f"Taylor, order {order}", f"{steps} steps", error, lambda: jax.block_until_ready(gradient(controls, y))


def dopri8(controls, y, truth):
    """The largest tolerance that is accurate."""

    def field(t, y, c):
        return c.b[0] + y @ c.A[0].T + ((y @ c.V1[0].T) * (y @ c.V2[0].T)) @ c.U[0].T

    def end(c, y, tolerance):
        solved = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri8(), 0.0, 1.0, None, y, c, max_steps=4096,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            adjoint=diffrax.RecursiveCheckpointAdjoint(),
        )  # fmt: skip
        return solved.ys[0], solved.stats["num_steps"]

    run = jax.jit(end)
    for digits in np.arange(8, 15, 0.25):
        state, steps = run(controls, y, 10.0**-digits)
        error = np.abs(np.asarray(state) - truth).max()
        if error <= ACCURACY:
            break
    gradient = jax.jit(jax.grad(lambda c, y: jnp.sum(end(c, y, 10.0**-digits)[0] ** 2), argnums=(0, 1)))
    said = f"tolerance 1e-{digits:g}, {int(steps)} steps"
    return "diffrax, Dopri8", said, error, lambda: jax.block_until_ready(gradient(controls, y))


def by_torch(controls, y, truth):
    """dopri8 of torchdiffeq at the accuracy it reaches, with gradients through its steps."""
    b, A, U, V1, V2 = (torch.tensor(np.asarray(one)[0], requires_grad=True) for one in controls)
    start = torch.tensor(np.asarray(y), requires_grad=True)

    def field(t, y):
        return b + y @ A.T + ((y @ V1.T) * (y @ V2.T)) @ U.T

    def end(tolerance):
        return torchdiffeq.odeint(
            field, start, torch.tensor([0.0, 1.0], dtype=torch.float64), rtol=tolerance, atol=tolerance, method="dopri8"
        )[-1]

    for digits in (8, 9, 10, 11, 12, 13):
        error = np.abs(end(10.0**-digits).detach().numpy() - truth).max()
        if error <= ACCURACY:
            break

    def run():
        (end(10.0**-digits) ** 2).sum().backward()

    return "torchdiffeq, dopri8", f"tolerance 1e-{digits:g}", error, run


if __name__ == "__main__":
    main()
