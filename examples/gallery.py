"""Smooth functions on the unit cube, by dimension and name, as formulas: what Theorem 1 is tested and measured on.

The first six of each dimension are Genz's families, with peaks scaled to height 1. Two of them are not smooth: |x − u|
is rounded off, and the jump is a steep sigmoid. The others are Runge's and Franke's functions and what else is common.
"""

from __future__ import annotations

VARIABLES = {1: ("x",), 2: ("x", "y"), 3: ("x", "y", "z")}

FUNCTIONS: dict[int, dict[str, str]] = {
    1: {
        "oscillatory": "cos(0.6*pi + 9*x)",
        "product peak": "1/(1 + 25*(x - 0.4)^2)",
        "corner peak": "(1 + 5*x)^-2",
        "Gaussian": "exp(-25*(x - 0.6)^2)",
        "continuous, rounded": "exp(-4*sqrt((x - 0.5)^2 + 0.01))",
        "jump, sigmoid": "exp(x)*sigmoid(20*(0.6 - x))",
        "Runge": "1/(1 + 25*(2*x - 1)^2)",
        "ridge": "tanh(6*x - 2.5)",
        "oscillation": "sin(4*pi*x)",
        "chirp": "sin(3*x + 8*x^2)",
        "bumps": "0.7*exp(-40*(x - 0.3)^2) + 0.4*exp(-90*(x - 0.75)^2)",
        "rational": "(1 + x - 3*x^2)/(1.5 + x + x^2)",
        "logarithm": "ln(0.2 + x)",
        "root": "sqrt(0.1 + x)",
        "damped wave": "exp(-2*x)*cos(12*x)",
    },
    2: {
        "oscillatory": "cos(0.6*pi + 4*x + 5*y)",
        "product peak": "1/((1 + 16*(x - 0.4)^2)*(1 + 9*(y - 0.6)^2))",
        "corner peak": "(1 + 2*x + 3*y)^-3",
        "Gaussian": "exp(-16*(x - 0.6)^2 - 9*(y - 0.4)^2)",
        "continuous, rounded": "exp(-2*sqrt((x - 0.5)^2 + 0.04) - 2*sqrt((y - 0.4)^2 + 0.04))",
        "jump, sigmoid": "exp(x + y)*sigmoid(10*(0.6 - x))*sigmoid(10*(0.7 - y))",
        "Runge": "1/(1 + 25*((2*x - 1)^2 + (2*y - 1)^2))",
        "Franke": (
            "0.75*exp(-((9*x - 2)^2 + (9*y - 2)^2)/4) + 0.75*exp(-(9*x + 1)^2/49 - (9*y + 1)/10)"
            " + 0.5*exp(-((9*x - 7)^2 + (9*y - 3)^2)/4) - 0.2*exp(-(9*x - 4)^2 - (9*y - 7)^2)"
        ),
        "ridge": "tanh(3*x + 2*y - 2.5)",
        "oscillation": "sin(2*pi*x)*cos(pi*y)",
        "bump": "exp(-20*((x - 0.5)^2 + (y - 0.5)^2))",
        "rational": "(1 + x - 2*y)/(1 + x^2 + y^2)",
        "logarithm": "ln(0.5 + x + y^2)",
        "saddle": "(1.25 + cos(5.4*y))/(6 + 6*(3*x - 1)^2)",
        "waves": "sin(4*x)*exp(-y) + cos(3*x*y)",
    },
    3: {
        "oscillatory": "cos(0.6*pi + 2*x + 3*y + 2.5*z)",
        "product peak": "1/((1 + 9*(x - 0.4)^2)*(1 + 4*(y - 0.6)^2)*(1 + 4*(z - 0.5)^2))",
        "corner peak": "(1 + x + 1.5*y + 2*z)^-4",
        "Gaussian": "exp(-9*(x - 0.6)^2 - 4*(y - 0.4)^2 - 4*(z - 0.5)^2)",
        "continuous, rounded": "exp(-sqrt((x - 0.5)^2 + 0.09) - sqrt((y - 0.4)^2 + 0.09) - sqrt((z - 0.6)^2 + 0.09))",
        "jump, sigmoid": "exp(x + y + z - 1)*sigmoid(6*(0.6 - x))*sigmoid(6*(0.7 - y))",
        "Runge": "1/(1 + 4*((2*x - 1)^2 + (2*y - 1)^2 + (2*z - 1)^2))",
        "ridge": "tanh(2*x + 1.5*y + z - 2)",
        "oscillation": "sin(2*pi*x)*cos(pi*y)*cos(2*z)",
        "bump": "exp(-8*((x - 0.5)^2 + (y - 0.5)^2 + (z - 0.5)^2))",
        "rational": "(1 + x - 2*y)/(1 + x^2 + y^2 + z^2)",
        "logarithm": "ln(1 + x + y^2 + z/2)",
        "waves": "sin(2*x + y)*exp(-z) + cos(2*x*z)",
    },
}
