"""Dynamical systems that are lifted in tests and benchmarks: equations, a start, a time, and new variables at most."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """`new` is the number of new variables that a lift may take at most; `start` has states, then inputs."""

    equations: str
    new: int
    start: tuple[float, ...]
    time: float = 10.0
    inputs: tuple[str, ...] = ()
    stiff: bool = False


def circular(n: int) -> Model:
    """x' = y^n, y' = x^n."""
    return Model(f"x' = y^{n}; y' = x^{n}", {3: 3, 4: 4, 5: 4, 6: 5, 7: 5, 8: 6}[n], (0.3, 0.4), 1.0)


def hill(k: int) -> Model:
    """The Hill system of order k, with time as a state."""
    side = f"{k}*i^2*s^{k - 1}"
    return Model(f"h' = {side}; i' = -{side}; s' = 1", {10: 4, 15: 5, 20: 6}[k], (0.0, 1.0, 0.1), 0.5)


def hard(n: int) -> Model:
    return Model(f"a' = c^{n} + a^2*b^2*c^3; b' = a^2; c' = b^2", {3: 9, 4: 10, 5: 10}[n], (0.3, 0.2, 0.4), 1.0)


def monom(n: int) -> Model:
    """Conjectured to be hard: squares in a cycle, and the square of the product of all."""
    product = "*".join(f"x{i}^2" for i in range(n))
    text = "; ".join(f"x{i}' = x{(i + 1) % n}^2 + {product}" for i in range(n))
    return Model(text, {2: 3, 3: 10}[n], (0.2,) * n, 1.0)


def cubic_cycle(n: int) -> Model:
    text = "; ".join(f"x{i}' = x{(i + 1) % n}^3" for i in range(n))
    return Model(text, 2 * n, tuple(0.1 * (i + 1) for i in range(n)), 1.0)


def cubic_bicycle(n: int) -> Model:
    text = "; ".join(f"x{i}' = x{(i + 1) % n}^3 + x{(i - 1) % n}^3" for i in range(n))
    return Model(text, 2 * n, tuple(0.1 * (i + 1) for i in range(n)), 0.5)


POLYNOMIAL = {
    **{f"circular {n}": circular(n) for n in range(3, 9)},
    **{f"hill {k}": hill(k) for k in (10, 15, 20)},
    **{f"hard {n}": hard(n) for n in (3, 4, 5)},
    **{f"monom {n}": monom(n) for n in (2, 3)},
    **{f"cubic cycle {n}": cubic_cycle(n) for n in (5, 6, 7)},
    **{f"cubic bicycle {n}": cubic_bicycle(n) for n in (5, 6, 7)},
}
HODGKIN_HUXLEY = """am = 0.1*(V + 40)/(1 - exp(-(V + 40)/10)); bm = 4*exp(-(V + 65)/18)
ah = 0.07*exp(-(V + 65)/20); bh = 1/(1 + exp(-(V + 35)/10))
an = 0.01*(V + 55)/(1 - exp(-(V + 55)/10)); bn = 0.125*exp(-(V + 65)/80)
V' = 10 - 120*m^3*h*(V - 50) - 36*n^4*(V + 77) - 0.3*(V + 54.387)
m' = am*(1 - m) - bm*m
h' = ah*(1 - h) - bh*h
n' = an*(1 - n) - bn*n"""


def cooled_reactor(coolant: int, start: tuple[float, float], time: float) -> Model:
    """An exothermic reaction in a stirred tank, in kelvin: exp(-8750/T) is 1e-11, and its factor 1e11."""
    rate = "7.2e10*exp(-8750/T)*C"
    text = f"C' = 1 - C - {rate}; T' = (350 - T) + 209.2*{rate} + 2.092*({coolant} - T)"
    return Model(text, 5, start, time)


COOLED_REACTORS = {"300 K": cooled_reactor(300, (0.5, 350.0), 5.0), "305 K": cooled_reactor(305, (0.9, 310.0), 10.0)}
CART_POLE = (
    "x' = v; v' = sin(q)*(w^2 + 9.8*cos(q))/(2 + sin(q)^2); "
    "q' = w; w' = (-w^2*cos(q)*sin(q) - 30*sin(q))/(2 + sin(q)^2)"
)
KEPLER_3 = "; ".join(
    ["x' = u", "y' = v", "z' = w", *(f"{a}' = -{b}/(x^2 + y^2 + z^2)^(3/2)" for a, b in zip("uvw", "xyz", strict=True))]
)
ELEMENTARY = {
    "pendulum": Model("x' = v; v' = -sin(x)", 2, (1.0, 0.0)),
    "Duffing": Model("x' = v; v' = x - x^3 - 0.3*v", 1, (1.0, 0.5)),
    "van der Pol": Model("x' = v; v' = (1 - x^2)*v - x", 1, (1.0, 0.0)),
    "FitzHugh–Nagumo": Model("v' = v - v^3/3 - w + 0.5; w' = 0.08*(v + 0.7 - 0.8*w)", 1, (0.0, 0.0), 40.0),
    "Selkov": Model("x' = -x + 0.1*y + x^2*y; y' = 0.5 - 0.1*y - x^2*y", 2, (0.5, 1.0)),
    "toggle": Model("x' = 4/(1 + y^3) - x; y' = 4/(1 + x^3) - y", 10, (1.0, 0.5)),
    "repressilator": Model("x' = 4/(1 + z^2) - x; y' = 4/(1 + x^2) - y; z' = 4/(1 + y^2) - z", 12, (1.0, 0.5, 0.2)),
    "repressilator 3": Model("x' = 4/(1 + z^3) - x; y' = 4/(1 + x^3) - y; z' = 4/(1 + y^3) - z", 12, (1.0, 0.5, 0.2)),
    "tanh pair": Model("x' = -x + tanh(y); y' = -y - tanh(x)", 5, (1.0, 0.5)),
    "Michaelis–Menten": Model("s' = -s/(0.5 + s); p' = s/(0.5 + s) - 2*p/(1 + p)", 5, (2.0, 0.5)),
    "Holling II": Model("x' = x*(1 - x/4) - x*y/(1 + x); y' = 0.5*x*y/(1 + x) - 0.3*y", 4, (1.0, 0.5)),
    "Hill-2": Model("x' = 2*y^2/(1 + y^2) - x; y' = x - y", 4, (1.0, 0.5)),
    "cart-pole": Model(CART_POLE, 6, (0.0, 0.0, 0.3, 0.0), 3.0),
    "(1 + x)^12": Model("x' = (1 + x)^12", 2, (-0.5,), 5.0),
    "Kepler 2-D": Model("x' = u; y' = v; u' = -x/(x^2 + y^2)^(3/2); v' = -y/(x^2 + y^2)^(3/2)", 3, (1, 0, 0, 1.1)),
    "Kepler 3-D": Model(KEPLER_3, 3, (1, 0, 0.1, 0, 1.1, 0.2)),
    "RNN-3": Model(
        "x' = -x + tanh(0.5*x + y - z); y' = -y + tanh(x - 0.3*y + 0.4*z); z' = -z + tanh(-x + 0.7*y + 0.2*z)",
        12,
        (0.5, -0.3, 0.2),
    ),
    "Torricelli": Model("h' = 1 - sqrt(h - k); k' = sqrt(h - k) - sqrt(k)", 6, (2.0, 1.0), 5.0),
    "exp(-1/T)": Model("T' = exp(-1/T)", 5, (1.0,)),
    "Arrhenius": Model("c' = 1 - c - 5*c*exp(-8/T); T' = 1 - T + 3*c*exp(-8/T)", 5, (0.5, 1.5)),
    "driven pendulum": Model("x'' = -sin(x) - 0.1*x' + u*cos(t)", 4, (0.5, 0.0, 0.0, 0.3), 5.0, ("u",)),
    "stiff relaxation": Model("x' = -200*(x - cos(t)^3)", 5, (1.5, 0.0), 1.0, stiff=True),
    "Robertson": Model(
        "x' = -0.04*x + 1e4*y*z; y' = 0.04*x - 1e4*y*z - 3e7*y^2; z' = 3e7*y^2", 0, (1.0, 0.0, 0.0), 0.3, stiff=True
    ),
    "logarithm": Model("x' = -x*ln(x) - atan(y)/8; y' = exp(-x) - y", 12, (0.5, 0.5), 1.0),
}
