"""Functions that no lift has, because they have a kink, a jump, a memory or chance, and smooth ones in their place."""

from __future__ import annotations

from integraph.frontends.formula.vocabulary import SPECIAL, SPECIAL_NAMES

DELAY = "an ODE has no delays: write the present value, or a chain of states that follow it, as y' = k*(x - y)"
CHANCE = "an ODE has no random input: make it a name of inputs=, which is held, or a formula of t"
KINK, JUMP = "a lift needs smooth functions, and this has a kink", "a lift needs smooth functions, and this jumps"
SMOOTH = {  # with a large k
    **dict.fromkeys(("abs", "fabs"), f"{KINK}: write sqrt(x^2 + 1e-6)"),
    "max": f"{KINK}: write v + softplus(k*(u - v))/k for max(u, v), with a large k",
    "min": f"{KINK}: write u - softplus(k*(u - v))/k for min(u, v), with a large k",
    **dict.fromkeys(("relu", "ramp"), f"{KINK}: write softplus(k*x)/k with a large k"),
    **dict.fromkeys(("sign", "sgn", "signum"), f"{JUMP}: write tanh(k*x) with a large k"),
    **dict.fromkeys(("heaviside", "step", "unitstep"), f"{JUMP}: write sigmoid(k*x) with a large k"),
    **dict.fromkeys(
        ("floor", "ceil", "ceiling", "round", "trunc", "int"), f"{JUMP}: write a sum of steps sigmoid(k*(x - n))"
    ),
    **dict.fromkeys(
        ("mod", "fmod", "frac", "remainder"), f"{JUMP}: write a smooth function of period p, as sin(2*pi*x/p)"
    ),
    **dict.fromkeys(("if", "piecewise", "where"), f"{JUMP}: write v + (u - v)*sigmoid(-k*g) for u where g < 0, else v"),
    **dict.fromkeys(("delay", "lag"), DELAY),
    **dict.fromkeys(
        SPECIAL_NAMES, f"{SPECIAL}: make it a state if it has an equation, as Lambert's w' = x'*w/(x*(1 + w))"
    ),
    **dict.fromkeys(("integral", "integrate"), "an integral over time is a state: I' = what is integrated"),
    **dict.fromkeys(("random", "rand", "randn", "noise", "uniform", "normal", "gauss"), CHANCE),
}
ALLOWED = ("abs", "max", "min", "if")  # of parameters: what they are made of decides


def advice(name: str) -> str:
    """Why a lift has no such function, and what to write; empty if nothing is known of it."""
    return SMOOTH.get(name.lower(), "")
