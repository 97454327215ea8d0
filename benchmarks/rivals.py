"""Other people's integrators on the same net of three segments a layer; each returns outputs for a batch of inputs.

Every rival restarts at every control switch and gets the segment's equations in the form it likes best: what is frozen
is a parameter, not a state. Compilation is not counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tanh_net import RATE, Layer

Floats = NDArray[np.float64]
Solver = Callable[[Floats], Floats]

GAIN = -RATE / np.expm1(-RATE)  # makes the drain exact


def heyoka_tanh(width: int, tol: float, lanes: int) -> object:
    """Lemma 1 for `width` neurons in batch mode; x is a parameter."""
    import heyoka as hy

    alpha, lam = ([hy.expression(f"{name}{i}") for i in range(width)] for name in ("alpha", "lam"))
    x = [hy.par[i] for i in range(width)]
    first = [(a, u - a * l) for a, l, u in zip(alpha, lam, x, strict=True)]
    system = first + [(l, u * u - l * l) for l, u in zip(lam, x, strict=True)]
    state, parameters = np.zeros((2 * width, lanes)), np.zeros((width, lanes))
    return hy.taylor_adaptive_batch(system, state, pars=parameters, tol=tol, compact_mode=True)


def advance_heyoka(solver: object, state: Floats, pars: Floats | None) -> Floats:
    """Time 1 from `state`."""
    solver.set_time(0.0)
    solver.state[:] = state
    if pars is not None:
        solver.pars[:] = pars
    solver.propagate_until(np.ones(state.shape[1]))
    return solver.state.copy()


def heyoka_solver(layers: list[Layer], readout: Floats, tol: float, lanes: int = 8) -> Solver:
    """heyoka in batch mode: one compiled system for each kind of segment, weights as parameters."""
    import heyoka as hy

    def integrator(system: list[tuple[object, object]], pars: int) -> object:
        state, parameters = np.zeros((len(system), lanes)), np.zeros((pars, lanes))
        return hy.taylor_adaptive_batch(system, state, pars=parameters, tol=tol, compact_mode=True)

    def drain(n: int, m: int) -> object:
        x = [hy.expression(f"x{j}") for j in range(n)]
        mu = [hy.expression(f"mu{i}") for i in range(m)]
        gains = [hy.sum([hy.par[i * n + j] * x[j] for j in range(n)] + [hy.par[m * n + i]]) for i in range(m)]
        return integrator([(v, -RATE * v) for v in x] + list(zip(mu, gains, strict=True)), m * n + m)

    def decay(m: int) -> object:
        return integrator([(v, -RATE * v) for v in (hy.expression(f"v{i}") for i in range(m))], 0)

    shapes = [A.shape for A, _ in layers]
    drains = {shape: drain(shape[1], shape[0]) for shape in set(shapes)}
    width = shapes[0][0]
    tanhs, decays = heyoka_tanh(width, tol, lanes), decay(2 * width)

    def solve(x: Floats) -> Floats:
        outputs = np.empty((len(x), len(readout)))
        for first in range(0, len(x), lanes):
            alpha, lam, mu = np.zeros((width, lanes)), np.zeros((width, lanes)), np.zeros((width, lanes))
            batch = x[first : first + lanes]
            source = np.zeros((x.shape[1], lanes))
            source[:, : len(batch)] = batch.T
            for A, b in layers:
                n = len(source)
                weights = np.concatenate([GAIN * A.ravel(), b])[:, None]
                end = advance_heyoka(
                    drains[A.shape], np.concatenate([source, mu]), np.broadcast_to(weights, (len(weights), lanes))
                )
                alpha[:n], mu = end[:n], end[n:]
                end = advance_heyoka(tanhs, np.concatenate([alpha, lam]), mu)
                alpha, lam = end[:width], end[width:]
                end = advance_heyoka(decays, np.concatenate([lam, mu]), None)
                lam, mu, source = end[:width], end[width:], alpha
            outputs[first : first + lanes] = (readout @ alpha).T[: len(batch)]
        return outputs

    return solve


def dop853_solver(layers: list[Layer], readout: Floats, tol: float) -> Solver:
    """scipy's DOP853, one input at a time, only the states that move."""
    from scipy.integrate import solve_ivp

    def advance(field: Callable[[float, Floats], Floats], y: Floats) -> Floats:
        return solve_ivp(field, (0.0, 1.0), y, method="DOP853", rtol=tol, atol=tol * 1e-3).y[:, -1]

    def one(x: Floats) -> Floats:
        width = len(layers[0][1])
        alpha, lam, mu, source = np.zeros(width), np.zeros(width), np.zeros(width), x
        for A, b in layers:
            n = len(source)
            end = advance(
                lambda t, y, A=A, b=b, n=n: np.concatenate([-RATE * y[:n], GAIN * (A @ y[:n]) + b]),
                np.append(source, mu),
            )
            alpha[:n], mu = end[:n], end[n:]
            end = advance(lambda t, y, mu=mu: _riccati(y, mu, np), np.append(alpha, lam))
            alpha, lam = end[:width], end[width:]
            end = advance(lambda t, y: -RATE * y, np.append(lam, mu))
            lam, mu, source = end[:width], end[width:], alpha
        return readout @ alpha

    return lambda x: np.stack([one(point) for point in x])


def _riccati(y: object, mu: object, lib: object) -> object:
    """Lemma 1 for states (α, λ) along the last axis."""
    width = mu.shape[-1]
    alpha, lam = y[..., :width], y[..., width:]
    parts = [mu - alpha * lam, mu * mu - lam * lam]
    return lib.cat(parts, -1) if hasattr(lib, "cat") else lib.concatenate(parts, -1)


def torchdiffeq_solver(layers: list[Layer], readout: Floats, tol: float) -> Solver:
    """torchdiffeq's dopri8, the batch as one system."""
    import torch
    from torchdiffeq import odeint

    torch.set_num_threads(1)  # torch comes too late for the limit that the others run under

    tensors = [(torch.from_numpy(A), torch.from_numpy(b)) for A, b in layers]
    span = torch.tensor([0.0, 1.0], dtype=torch.float64)

    def advance(field: Callable[[object, object], object], y: object) -> object:
        return odeint(field, y, span, method="dopri8", rtol=tol, atol=tol * 1e-3)[-1]

    def solve(x: Floats) -> Floats:
        width = len(layers[0][1])
        source = torch.from_numpy(np.ascontiguousarray(x))
        alpha, lam, mu = (torch.zeros(len(x), width, dtype=torch.float64) for _ in range(3))
        with torch.no_grad():
            for A, b in tensors:
                n = source.shape[1]
                field = lambda t, y, A=A, b=b, n=n: torch.cat([-RATE * y[:, :n], GAIN * (y[:, :n] @ A.T) + b], 1)  # noqa: E731
                end = advance(field, torch.cat([source, mu], 1))
                alpha, mu = torch.cat([end[:, :n], alpha[:, n:]], 1), end[:, n:]
                end = advance(lambda t, y, mu=mu: _riccati(y, mu, torch), torch.cat([alpha, lam], 1))
                alpha, lam = end[:, :width], end[:, width:]
                end = advance(lambda t, y: -RATE * y, torch.cat([lam, mu], 1))
                lam, mu, source = end[:, :width], end[:, width:], alpha
        return alpha.numpy() @ readout.T

    return solve


def diffrax_solver(layers: list[Layer], readout: Floats, tol: float) -> Solver:
    """diffrax's Dopri8, jitted and vmapped over the inputs."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def advance(field: Callable[[object, object, object], object], y: object, args: object) -> object:
        controller = diffrax.PIDController(rtol=tol, atol=tol * 1e-3)
        term = diffrax.ODETerm(field)
        found = diffrax.diffeqsolve(
            term, diffrax.Dopri8(), 0.0, 1.0, None, y, args, stepsize_controller=controller, max_steps=100_000
        )
        return found.ys[-1]

    def one(x: object) -> object:
        width = len(layers[0][1])
        alpha, lam, mu, source = jnp.zeros(width), jnp.zeros(width), jnp.zeros(width), x
        for A, b in layers:
            n = A.shape[1]
            field = lambda t, y, a, A=A, b=b, n=n: jnp.concatenate([-RATE * y[:n], GAIN * (A @ y[:n]) + b])  # noqa: E731
            end = advance(field, jnp.concatenate([source, mu]), None)
            alpha, mu = jnp.concatenate([end[:n], alpha[n:]]), end[n:]
            end = advance(lambda t, y, mu: _riccati(y, mu, jnp), jnp.concatenate([alpha, lam]), mu)
            alpha, lam = end[:width], end[width:]
            end = advance(lambda t, y, a: -RATE * y, jnp.concatenate([lam, mu]), None)
            lam, mu, source = end[:width], end[width:], alpha
        return readout @ alpha

    batched = jax.jit(jax.vmap(one))
    return lambda x: np.asarray(batched(x))


RIVALS: dict[str, tuple[str, Callable[[list[Layer], Floats, float], Solver], int]] = {
    "heyoka, batch of 8": ("heyoka", heyoka_solver, 64),  # module, solver, inputs to time
    "scipy DOP853": ("scipy", dop853_solver, 4),
    "diffrax Dopri8": ("diffrax", diffrax_solver, 64),
    "torchdiffeq dopri8": ("torchdiffeq", torchdiffeq_solver, 64),
}
