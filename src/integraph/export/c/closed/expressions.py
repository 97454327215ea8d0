"""How C writes an operation on numbers; and, of a reduction, its start and how it takes one number more."""

EXPRESSIONS = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}", "negate": "-{}",
    "abs": "fabs({})", "sqrt": "sqrt({})", "maximum": "fmax({}, {})", "minimum": "fmin({}, {})", "exp": "exp({})",
    "expm1": "expm1({})", "log": "log({})", "log1p": "log1p({})", "sin": "sin({})", "cos": "cos({})",
    "tanh": "tanh({})", "arcsinh": "asinh({})", "arctan2": "atan2({}, {})", "hypot": "hypot({}, {})",
    "power": "pow({}, {})", "erf": "erf({})", "less": "{} < {}", "equal": "{} == {}", "both": "{} && {}",
    "either": "{} || {}", "where": "{} ? {} : {}", "broadcast": "{}",
}  # fmt: skip
REDUCTIONS = {"sum": ("0.0", "{0} + {1}"), "product": ("1.0", "{0} * {1}"), "largest": ("-INFINITY", "fmax({0}, {1})")}
