"""Named formulas that compile exactly, and once more by hand in mpmath: no parser of ours has a part in the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from integraph.numbers.arrays import Floats

DIGITS = 50

acos, acosh, asin, asinh, atan, atanh = mp.acos, mp.acosh, mp.asin, mp.asinh, mp.atan, mp.atanh
cos, cosh, erf, exp, expm1, ln, log1p = mp.cos, mp.cosh, mp.erf, mp.exp, mp.expm1, mp.log, mp.log1p
sin, sinh, sqrt, tan, tanh, cbrt, log10 = mp.sin, mp.sinh, mp.sqrt, mp.tan, mp.tanh, mp.cbrt, mp.log10
q = mpf  # of a text: a decimal as it is written


@dataclass(frozen=True)
class Formula:
    """`truth` takes one number for each side of `box`; `domain` says what has a sign on the box."""

    name: str
    text: str
    box: tuple[tuple[float, float], ...]
    truth: Callable[..., mpf]
    domain: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """In the order of `box`, as `parse` wants to be told."""
        code = self.truth.__code__
        return code.co_varnames[: code.co_argcount]

    def points(self, count: int = 50, seed: int = 7) -> Floats:
        """Random ones of the box, and all of its corners."""
        low, high = np.array(self.box).T
        corners = np.array(np.meshgrid(*self.box)).reshape(len(low), -1).T
        inside = np.random.default_rng(seed).uniform(low, high, (count, len(low)))
        return np.concatenate([inside, corners])


def reference(name: str, x: Floats) -> np.ndarray[Any, Any]:
    """(B, d) → (B, 1), an array of mpf with DIGITS digits."""
    with mp.workdps(DIGITS):
        found = [FORMULAS[name].truth(*map(mpf, row)) for row in x.tolist()]
    return np.array(found, object).reshape(len(x), 1)


def error(name: str, x: Floats, found: Floats) -> float:
    """The largest error of (B, 1) values, relative to the largest value; NaN if one is not a number."""
    wanted = reference(name, x)
    with mp.workdps(DIGITS):
        errors = [float(abs(mpf(value) - true)) for value, true in zip(found.ravel(), wanted.ravel(), strict=True)]
        return float(np.max(errors) / float(max(map(abs, wanted.ravel()))))


def _normal(x: mpf) -> mpf:
    return (1 + erf(x / sqrt(2))) / 2


def _call(S: mpf, T: mpf, σ: mpf) -> mpf:
    """The price of a call at 100, with 5 % of interest."""
    d = (ln(S / 100) + (q("0.05") + σ**2 / 2) * T) / (σ * sqrt(T))
    return S * _normal(d) - 100 * exp(-q("0.05") * T) * _normal(d - σ * sqrt(T))


def _goldstein_price(x: mpf, y: mpf) -> mpf:
    a = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    return a * (30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2))


def _franke(x: mpf, y: mpf) -> mpf:
    a = q("0.75") * exp(-((9 * x - 2) ** 2 + (9 * y - 2) ** 2) / 4)
    b = q("0.75") * exp(-((9 * x + 1) ** 2) / 49 - (9 * y + 1) / 10)
    c = q("0.5") * exp(-((9 * x - 7) ** 2 + (9 * y - 3) ** 2) / 4)
    return a + b + c - q("0.2") * exp(-((9 * x - 4) ** 2) - (9 * y - 7) ** 2)


def _peaks(x: mpf, y: mpf) -> mpf:
    a = 3 * (1 - x) ** 2 * exp(-(x**2) - (y + 1) ** 2)
    return a - 10 * (x / 5 - x**3 - y**5) * exp(-(x**2) - y**2) - exp(-((x + 1) ** 2) - y**2) / 3


def _ackley(x: mpf, y: mpf) -> mpf:
    waves = cos(2 * mp.pi * x) + cos(2 * mp.pi * y)
    return -20 * exp(-sqrt((x**2 + y**2) / 2) / 5) - exp(waves / 2) + 20 + mp.e


UNIT, I1, I2, I3, I5 = (0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0), (-3.0, 3.0), (-5.0, 5.0)

_ALL = (
    Formula("sine, decay and a quotient", "sin(3*x)*exp(-y)/(1+x*y)", (UNIT, UNIT),
            lambda x, y: sin(3 * x) * exp(-y) / (1 + x * y), "1 + x y > 0"),
    # Genz
    Formula("oscillatory 2", "cos(2*pi*0.3 + 5*x + 4*y)", (UNIT,) * 2,
            lambda x, y: cos(3 * mp.pi / 5 + 5 * x + 4 * y)),
    Formula("oscillatory 3", "cos(2*pi*0.3 + 5*x + 4*y + 3*z)", (UNIT,) * 3,
            lambda x, y, z: cos(3 * mp.pi / 5 + 5 * x + 4 * y + 3 * z)),
    Formula("product peak 2", "1/((0.04 + (x - 0.3)^2)*(0.04 + (y - 0.6)^2))", (UNIT,) * 2,
            lambda x, y: 1 / ((q("0.04") + (x - q("0.3")) ** 2) * (q("0.04") + (y - q("0.6")) ** 2))),
    Formula("product peak 3", "1/((0.04 + (x - 0.3)^2)*(0.04 + (y - 0.6)^2)*(0.04 + (z - 0.5)^2))", (UNIT,) * 3,
            lambda x, y, z: 1 / ((q("0.04") + (x - q("0.3")) ** 2) * (q("0.04") + (y - q("0.6")) ** 2)
                                 * (q("0.04") + (z - q("0.5")) ** 2))),
    Formula("corner peak 2", "(1 + 3*x + 4*y)^-3", (UNIT,) * 2, lambda x, y: (1 + 3 * x + 4 * y) ** -3),
    Formula("corner peak 3", "(1 + 3*x + 4*y + 2*z)^(-4)", (UNIT,) * 3,
            lambda x, y, z: (1 + 3 * x + 4 * y + 2 * z) ** -4),
    Formula("Gaussian peak 2", "exp(-(5^2*(x - 0.3)^2 + 4^2*(y - 0.6)^2))", (UNIT,) * 2,
            lambda x, y: exp(-25 * (x - q("0.3")) ** 2 - 16 * (y - q("0.6")) ** 2)),
    Formula("Gaussian peak 3", "exp(-(5^2*(x - 0.3)^2 + 4^2*(y - 0.6)^2 + 3^2*(z - 0.5)^2))", (UNIT,) * 3,
            lambda x, y, z: exp(-25 * (x - q("0.3")) ** 2 - 16 * (y - q("0.6")) ** 2 - 9 * (z - q("0.5")) ** 2)),
    # of interpolation and optimisation
    Formula("Franke", "0.75*exp(-((9*x-2)^2 + (9*y-2)^2)/4) + 0.75*exp(-(9*x+1)^2/49 - (9*y+1)/10) "
            "+ 0.5*exp(-((9*x-7)^2 + (9*y-3)^2)/4) - 0.2*exp(-(9*x-4)^2 - (9*y-7)^2)", (UNIT,) * 2, _franke),
    Formula("peaks", "3*(1-x)^2*exp(-x^2 - (y+1)^2) - 10*(x/5 - x^3 - y^5)*exp(-x^2-y^2) - 1/3*exp(-(x+1)^2 - y^2)",
            (I3, I3), _peaks),
    Formula("Branin", "(y - 5.1/(4*pi^2)*x^2 + 5/pi*x - 6)^2 + 10*(1 - 1/(8*pi))*cos(x) + 10", ((-5, 10), (0, 15)),
            lambda x, y: (y - q("5.1") * x**2 / (4 * mp.pi**2) + 5 * x / mp.pi - 6) ** 2
            + 10 * (1 - 1 / (8 * mp.pi)) * cos(x) + 10),
    Formula("Rosenbrock", "(1-x)^2 + 100*(y-x^2)^2", (I2, I2), lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2),
    Formula("Ackley", "-20*exp(-0.2*sqrt(0.5*(x^2+y^2))) - exp(0.5*(cos(2*pi*x) + cos(2*pi*y))) + 20 + e",
            ((0.5, 4), (-4, 4)), _ackley, "x² + y² > 0"),
    Formula("Himmelblau", "(x^2+y-11)^2 + (x+y^2-7)^2", (I5, I5),
            lambda x, y: (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2),
    Formula("Matyas", "0.26*(x^2+y^2) - 0.48*x*y", ((-10, 10),) * 2,
            lambda x, y: q("0.26") * (x**2 + y**2) - q("0.48") * x * y),
    Formula("Easom", "-cos(x)*cos(y)*exp(-(x-pi)^2 - (y-pi)^2)", ((0, 6), (0, 6)),
            lambda x, y: -cos(x) * cos(y) * exp(-((x - mp.pi) ** 2) - (y - mp.pi) ** 2)),
    Formula("Rastrigin", "20 + x^2 - 10*cos(2*pi*x) + y^2 - 10*cos(2*pi*y)", ((-5.12, 5.12),) * 2,
            lambda x, y: 20 + x**2 - 10 * cos(2 * mp.pi * x) + y**2 - 10 * cos(2 * mp.pi * y)),
    Formula("Goldstein–Price", "(1 + (x+y+1)^2*(19 - 14*x + 3*x^2 - 14*y + 6*x*y + 3*y^2))"
            "*(30 + (2*x-3*y)^2*(18 - 32*x + 12*x^2 + 48*y - 36*x*y + 27*y^2))", (I2, I2), _goldstein_price),
    Formula("Styblinski–Tang", "(x^4 - 16*x^2 + 5*x + y^4 - 16*y^2 + 5*y)/2", (I5, I5),
            lambda x, y: (x**4 - 16 * x**2 + 5 * x + y**4 - 16 * y**2 + 5 * y) / 2),
    Formula("Beale", "(1.5 - x + x*y)^2 + (2.25 - x + x*y^2)^2 + (2.625 - x + x*y^3)^2", ((-4.5, 4.5),) * 2,
            lambda x, y: (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2),
    Formula("six-hump camel", "(4 - 2.1*x^2 + x^4/3)*x^2 + x*y + (4*y^2 - 4)*y^2", (I3, I2),
            lambda x, y: (4 - q("2.1") * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2),
    Formula("McCormick", "sin(x+y) + (x-y)^2 - 1.5*x + 2.5*y + 1", ((-1.5, 4), (-3, 4)),
            lambda x, y: sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1),
    Formula("drop wave", "-(1 + cos(12*sqrt(x^2+y^2)))/(0.5*(x^2+y^2) + 2)", ((0.5, 4), (-4, 4)),
            lambda x, y: -(1 + cos(12 * sqrt(x**2 + y**2))) / ((x**2 + y**2) / 2 + 2), "x² + y² > 0"),
    Formula("Schaffer 2", "0.5 + (sin(x^2-y^2)^2 - 0.5)/(1 + 0.001*(x^2+y^2))^2", (I5, I5),
            lambda x, y: 0.5 + (sin(x**2 - y**2) ** 2 - 0.5) / (1 + (x**2 + y**2) / 1000) ** 2),
    Formula("Ishigami", "sin(x) + 7*sin(y)^2 + 0.1*z^4*sin(x)", (I3, I3, I3),
            lambda x, y, z: sin(x) + 7 * sin(y) ** 2 + z**4 * sin(x) / 10),
    Formula("Runge", "1/(1 + 25*x^2)", (I1,), lambda x: 1 / (1 + 25 * x**2)),
    # of physics
    Formula("Planck", "x^3/(exp(x) - 1)", ((0.25, 12),), lambda x: x**3 / expm1(x), "eˣ − 1 > 0"),
    Formula("Planck by temperature", "ν^3/(exp(ν/T) - 1)", ((0.2, 5), (0.5, 3)), lambda ν, T: ν**3 / expm1(ν / T),
            "T > 0 and e^(ν/T) − 1 > 0"),
    Formula("Planck by wavelength", "1/(λ^5*expm1(1/(λ*T)))", ((0.1, 2), (0.5, 3)),
            lambda λ, T: 1 / (λ**5 * expm1(1 / (λ * T))), "λ T > 0"),
    Formula("Breit–Wigner", "1/((E^2 - 91.1876^2)^2 + (91.1876*2.4952)^2)", ((80, 100),),
            lambda E: 1 / ((E**2 - q("91.1876") ** 2) ** 2 + (q("91.1876") * q("2.4952")) ** 2)),
    Formula("Morse", "4.75*(1 - exp(-1.9*(r - 0.74)))^2", ((0.4, 4),),
            lambda r: q("4.75") * (1 - exp(-q("1.9") * (r - q("0.74")))) ** 2),
    Formula("Lennard-Jones", "4*((1/r)^12 - (1/r)^6)", ((0.9, 3),), lambda r: 4 * (r**-12 - r**-6), "r > 0"),
    Formula("Yukawa", "exp(-r/2)/r", ((0.1, 6),), lambda r: exp(-r / 2) / r, "r > 0"),
    Formula("Coulomb", "1/sqrt(x^2 + y^2 + z^2)", ((0.2, 2), I2, I2), lambda x, y, z: 1 / sqrt(x**2 + y**2 + z**2),
            "x² + y² + z² > 0"),
    Formula("van der Waals", "8*T/(3*V - 1) - 3/V^2", ((0.8, 1.5), (0.6, 5)),
            lambda T, V: 8 * T / (3 * V - 1) - 3 / V**2, "3V − 1 > 0"),
    Formula("Fermi–Dirac", "1/(exp((E - 1)/T) + 1)", ((0, 2), (0.05, 1)), lambda E, T: 1 / (exp((E - 1) / T) + 1),
            "T > 0"),
    Formula("Bose–Einstein", "1/(exp(E/T) - 1)", ((0.1, 5), (0.2, 2)), lambda E, T: 1 / expm1(E / T),
            "T > 0 and e^(E/T) − 1 > 0"),
    Formula("Maxwell–Boltzmann", "sqrt(2/pi)*v^2*exp(-v^2/(2*a^2))/a^3", ((0, 5), (0.5, 2)),
            lambda v, a: sqrt(2 / mp.pi) * v**2 * exp(-(v**2) / (2 * a**2)) / a**3, "a > 0"),
    Formula("Lorentzian", "γ/(pi*((x - 0.5)^2 + γ^2))", (I2, (0.05, 1)),
            lambda x, γ: γ / (mp.pi * ((x - 0.5) ** 2 + γ**2)), "(x − ½)² + γ² > 0"),
    Formula("orbit", "a*(1 - ε^2)/(1 + ε*cos(θ))", ((0.5, 2), (0, 0.9), (-3.2, 3.2)),
            lambda a, ε, θ: a * (1 - ε**2) / (1 + ε * cos(θ)), "1 + ε cos θ > 0"),
    Formula("true anomaly", "2*atan(sqrt((1+ε)/(1-ε))*tan(E/2))", ((0, 0.8), (-2.5, 2.5)),
            lambda ε, E: 2 * atan(sqrt((1 + ε) / (1 - ε)) * tan(E / 2)), "cos(E/2) > 0 and 1 − ε > 0"),
    Formula("damped oscillator", "exp(-γ*t)*cos(sqrt(9 - γ^2)*t)", ((0, 2), (0, 5)),
            lambda γ, t: exp(-γ * t) * cos(sqrt(9 - γ**2) * t), "9 − γ² > 0"),
    Formula("Lorentz factor", "1/sqrt(1 - v^2)", ((-0.99, 0.99),), lambda v: 1 / sqrt(1 - v**2), "1 − v² > 0"),
    Formula("Doppler", "f*sqrt((1 + β)/(1 - β))", ((1, 3), (-0.9, 0.9)),
            lambda f, β: f * sqrt((1 + β) / (1 - β)), "1 ± β > 0"),
    Formula("rapidity", "atanh(v)", ((-0.99, 0.99),), lambda v: atanh(v), "1 ± v > 0"),
    Formula("Schwarzschild potential", "(1 - 2/r)*(1 + L^2/r^2)", ((2.5, 20), (2, 5)),
            lambda r, L: (1 - 2 / r) * (1 + L**2 / r**2), "r > 0"),
    Formula("Langevin", "cosh(x)/sinh(x) - 1/x", ((0.5, 6),), lambda x: mp.coth(x) - 1 / x, "sinh x > 0"),
    Formula("Langevin, negative", "1/tanh(x) - 1/x", ((-6, -0.5),), lambda x: mp.coth(x) - 1 / x, "tanh x < 0"),
    Formula("Snell", "asin(sin(θ)/n)", ((-1.5, 1.5), (1.2, 2)), lambda θ, n: asin(sin(θ) / n), "|sin θ| < n"),
    Formula("catenary", "a*cosh(x/a) - a", (I2, (0.5, 2)), lambda x, a: a * cosh(x / a) - a, "a > 0"),
    Formula("arc of a parabola", "(x*sqrt(1 + 4*x^2) + asinh(2*x)/2)/2", (I2,),
            lambda x: (x * sqrt(1 + 4 * x**2) + asinh(2 * x) / 2) / 2),
    Formula("sinc, negative", "sin(x)/x", ((-10, -0.5),), lambda x: sin(x) / x, "x < 0"),
    Formula("haversine", "2*asin(sqrt(sin((b - a)/2)^2 + cos(a)*cos(b)*sin(l/2)^2))", ((-1, 0), (0.2, 1), (-1.5, 1.5)),
            lambda a, b, l: 2 * asin(sqrt(sin((b - a) / 2) ** 2 + cos(a) * cos(b) * sin(l / 2) ** 2)),
            "0 < hav < 1"),
    # of chemistry and biology
    Formula("logistic growth", "10/(1 + 9*exp(-r*t))", ((0.1, 2), (0, 10)), lambda r, t: 10 / (1 + 9 * exp(-r * t))),
    Formula("Gompertz", "exp(-3*exp(-c*t))", ((0.1, 2), (0, 10)), lambda c, t: exp(-3 * exp(-c * t))),
    Formula("Michaelis–Menten", "V*S/(K + S)", ((0.5, 2), (0, 5), (0.1, 1)), lambda V, S, K: V * S / (K + S),
            "K + S > 0"),
    Formula("Hill", "x^2.5/(1 + x^2.5)", ((0.05, 5),), lambda x: x ** q("2.5") / (1 + x ** q("2.5")), "x > 0"),
    Formula("Hill, any exponent", "x^n/(0.5^n + x^n)", ((0.05, 5), (1, 4)),
            lambda x, n: x**n / (q("0.5") ** n + x**n), "x > 0"),
    Formula("Arrhenius", "1e13*exp(-E/(0.008314*T))", ((50, 100), (300, 1000)),
            lambda E, T: 10**13 * exp(-E / (q("0.008314") * T)), "T > 0"),
    Formula("Nernst", "8.314*T/96485*ln(o/i)", ((273, 320), (1, 150), (1, 150)),
            lambda T, o, i: q("8.314") * T / 96485 * ln(o / i), "o/i > 0"),
    Formula("Antoine", "10^(8.07131 - 1730.63/(233.426 + T))", ((1, 99),),
            lambda T: mpf(10) ** (q("8.07131") - q("1730.63") / (q("233.426") + T)), "233 + T > 0"),
    Formula("acid", "-log10((sqrt(k^2 + 4*k*c) - k)/2)", ((0.001, 0.1), (0.01, 1)),
            lambda k, c: -log10((sqrt(k**2 + 4 * k * c) - k) / 2), "√(k² + 4kc) > k"),
    # of geometry, statistics, money and networks
    Formula("law of cosines", "acos((a^2 + b^2 - c^2)/(2*a*b))", ((1, 1.5), (1, 1.5), (0.6, 1.2)),
            lambda a, b, c: acos((a**2 + b**2 - c**2) / (2 * a * b)), "|a − b| < c < a + b"),
    Formula("channel", "B*log2(1 + s/B)", ((0.5, 4), (0, 20)), lambda B, s: B * ln(1 + s / B) / ln(2), "1 + s/B > 0"),
    Formula("normal density", "exp(-((x - m)/s)^2/2)/(s*sqrt(2*pi))", (I3, I1, (0.5, 2)),
            lambda x, m, s: exp(-(((x - m) / s) ** 2) / 2) / (s * sqrt(2 * mp.pi)), "s > 0"),
    Formula("Weibull", "k*x^(k-1)*exp(-x^k)", ((0.05, 3), (0.8, 4)), lambda x, k: k * x ** (k - 1) * exp(-(x**k)),
            "x > 0"),
    Formula("entropy", "-p*ln(p) - (1-p)*ln(1-p)", ((0.01, 0.99),), lambda p: -p * ln(p) - (1 - p) * ln(1 - p),
            "p > 0 and 1 − p > 0"),
    Formula("Black–Scholes", "S*(1 + erf((ln(S/100) + (0.05 + σ^2/2)*T)/(σ*sqrt(T))/sqrt(2)))/2 - 100*exp(-0.05*T)"
            "*(1 + erf(((ln(S/100) + (0.05 + σ^2/2)*T)/(σ*sqrt(T)) - σ*sqrt(T))/sqrt(2)))/2",
            ((80, 120), (0.25, 2), (0.1, 0.5)), _call, "S > 0, T > 0 and σ > 0"),
    Formula("interest", "expm1(t*log1p(r))", ((0, 10), (-0.01, 0.1)), lambda t, r: expm1(t * log1p(r)), "1 + r > 0"),
    Formula("logit", "ln(p/(1-p))", ((0.01, 0.99),), lambda p: ln(p / (1 - p)), "p > 0 and 1 − p > 0"),
    Formula("softplus", "softplus(x)", ((-20, 20),), lambda x: log1p(exp(x))),
    Formula("softplus, written out", "ln(1 + exp(x))", ((-20, 20),), lambda x: log1p(exp(x)), "1 + eˣ > 0"),
    Formula("GELU", "0.5*x*(1 + erf(x/sqrt(2)))", ((-6, 6),), lambda x: x * _normal(x)),
    Formula("SiLU", "x*sigmoid(x)", ((-20, 20),), lambda x: x / (1 + exp(-x))),
    Formula("swish", "x/(1 + exp(-1.5*x))", ((-20, 20),), lambda x: x / (1 + exp(-1.5 * x)), "1 + e^(−1.5x) > 0"),
    Formula("hyperbola", "acosh(1 + x^2/2)", ((0.1, 4),), lambda x: acosh(1 + x**2 / 2), "x² > 0"),
    Formula("root of a shifted cube", "cbrt(2 + tanh(x))*sinh(x)", (I2,), lambda x: cbrt(2 + tanh(x)) * sinh(x),
            "2 + tanh x > 0"),
)  # fmt: skip
FORMULAS = {formula.name: formula for formula in _ALL}
LIMITS = {  # of the compiled program: width, depth
    "sine, decay and a quotient": (5, 2),
    "Franke": (10, 2),
    "product peak 3": (7, 2),
    "Planck": (5, 4),
}
