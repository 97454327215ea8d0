"""Semi-discretised equations as formulas, and the same right-hand sides in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Right = Callable[[float, np.ndarray], np.ndarray]


def burgers(n: int, viscosity: float = 0.01) -> tuple[dict[str, str], Right, np.ndarray]:
    """u = 0 at both ends."""
    h = 1 / (n + 1)
    d, c = viscosity / h**2, 1 / (4 * h)
    names = ["0", *(f"u{i}" for i in range(n)), "0"]
    formulas = {
        u: f"{d!r}*({left} - 2*{u} + {right}) - {c!r}*({right}^2 - {left}^2)"
        for left, u, right in zip(names, names[1:], names[2:], strict=False)
    }

    def right_side(t: float, u: np.ndarray) -> np.ndarray:
        p = np.concatenate([[0.0], u, [0.0]])
        return d * (p[:-2] - 2 * u + p[2:]) - c * (p[2:] ** 2 - p[:-2] ** 2)

    return formulas, right_side, np.sin(np.pi * np.arange(1, n + 1) * h)


def allen_cahn(n: int, diffusion: float = 1e-4) -> tuple[dict[str, str], Right, np.ndarray]:
    d = diffusion * n**2
    formulas = {
        f"u{i}": f"{d!r}*(u{(i - 1) % n} - 2*u{i} + u{(i + 1) % n}) + u{i} - u{i}^3"
        for i in range(n)
    }  # fmt: skip
    start = 0.5 + 0.3 * np.sin(2 * np.pi * np.arange(n) / n)
    return formulas, lambda t, u: d * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) + u - u**3, start


def brusselator(n: int, diffusion: float = 1e-5) -> tuple[dict[str, str], Right, np.ndarray]:
    """n states: n/2 cells of u and v."""
    m = n // 2
    d = diffusion * m**2
    formulas = {}
    for i in range(m):
        j, k = (i - 1) % m, (i + 1) % m
        formulas[f"u{i}"] = f"1 + u{i}^2*v{i} - 4*u{i} + {d!r}*(u{j} - 2*u{i} + u{k})"
        formulas[f"v{i}"] = f"3*u{i} - u{i}^2*v{i} + {d!r}*(v{j} - 2*v{i} + v{k})"

    def right_side(t: float, y: np.ndarray) -> np.ndarray:
        u, v = y.reshape(m, 2).T
        fluxes = [d * (np.roll(w, 1) - 2 * w + np.roll(w, -1)) for w in (u, v)]
        return np.stack([1 + u * u * v - 4 * u + fluxes[0], 3 * u - u * u * v + fluxes[1]], 1).ravel()

    angle = 2 * np.pi * np.arange(m) / m
    return formulas, right_side, np.stack([1 + 0.3 * np.sin(angle), 3 + 0.1 * np.cos(angle)], 1).ravel()


def fitzhugh_nagumo(n: int, diffusion: float = 1e-4) -> tuple[dict[str, str], Right, np.ndarray]:
    m = n // 2
    d = diffusion * m**2
    formulas = {}
    for i in range(m):
        j, k = (i - 1) % m, (i + 1) % m
        formulas[f"v{i}"] = f"v{i} - v{i}^3/3 - r{i} + 0.5 + {d!r}*(v{j} - 2*v{i} + v{k})"
        formulas[f"r{i}"] = f"0.08*(v{i} + 0.7 - 0.8*r{i})"

    def right_side(t: float, y: np.ndarray) -> np.ndarray:
        v, r = y.reshape(m, 2).T
        flux = d * (np.roll(v, 1) - 2 * v + np.roll(v, -1))
        return np.stack([v - v**3 / 3 - r + 0.5 + flux, 0.08 * (v + 0.7 - 0.8 * r)], 1).ravel()

    angle = 2 * np.pi * np.arange(m) / m
    return formulas, right_side, np.stack([np.sin(angle), 0.1 * np.cos(angle)], 1).ravel()


GRIDS = {  # name → the equations, and new variables for each state
    "Burgers": (burgers, 0.0),
    "Allen–Cahn": (allen_cahn, 1.0),
    "Brusselator": (brusselator, 1.0),
    "FitzHugh–Nagumo": (fitzhugh_nagumo, 0.5),
}
