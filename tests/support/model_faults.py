"""Faults of the formulas of models: the text of a module, what it becomes, and operations that are wrong then."""

from __future__ import annotations

PRODUCT = "r = tails.reshape(shape) + at * eb + a0 * b.r + bt * ea + b0 * a.r + ea * eb"
APPLIED = "r = tails.reshape(shape) + off + moved + (turn + 4 * U * np.abs(slope)) * errors + np.abs(slope) * x.r"
SHORT, LONG = ("exp", "sin", "x^3", "tanh"), ("tanh", "sin", "atan")
TAIL = "tail += other[i] * own[j]"
FAULTS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {  # module, text, faulty text, operations that notice it
    "a sum without its rounding": ("models", "a.r + b.r + lost, intervals", "a.r + b.r, intervals", ("add",)),
    "a sum without a radius": ("models", "a.r + b.r + lost, intervals", "a.r + lost, intervals", ("add",)),
    "a product without its tail": ("models", PRODUCT, PRODUCT.replace("tails.reshape(shape)", "0.0"), ("multiply",)),
    "half a tail": ("kernels", "tail += left[i] * right[j]", "tail += 0.5 * left[i] * right[j]", ("multiply",)),
    "a tail without its lowest degree": (
        "kernels",
        "for j in range(k + 1 - i, k + 1):\n                tail += left",
        "for j in range(k + 2 - i, k + 1):\n                tail += left",
        ("multiply",),
    ),
    **{
        f"a product without {term}": ("models", PRODUCT, PRODUCT.replace(f" + {term}", ""), ("multiply",))
        for term in ("at * eb", "a0 * b.r", "bt * ea", "b0 * a.r", "ea * eb")
    },
    **{
        f"a product with half of {term}": ("models", PRODUCT, PRODUCT.replace(term, f"0.5 * {term}"), ("multiply",))
        for term in ("at * eb", "a0 * b.r", "bt * ea", "b0 * a.r", "ea * eb")
    },
    "a product without rounding": (
        "models",
        "r += gamma * ((a0 + at + ea) * (b0 + bt + eb)) + TINY",
        "pass",
        ("multiply",),
    ),
    "a multiple without rounding": (
        "models",
        "lost = 4 * U * (size * (row_norms(self.p) + row_norms(self.g)) + np.abs(shift)) + TINY",
        "lost = 0.0",
        ("scale",),
    ),
    "a multiple without a radius": ("models", "size * self.r + lost, known", "lost, known", ("scale",)),
    "a map without rounding": (
        "models",
        "r = rest + gamma * (size + np.abs(b)[:, None]) + TINY",
        "r = rest",
        ("affine",),
    ),
    "a map without radii": (
        "models",
        "r = rest + gamma * (size + np.abs(b)[:, None]) + TINY",
        "r = gamma * (size + np.abs(b)[:, None])",
        ("affine",),
    ),
    "a map without the errors of its weights": (
        "models",
        "r += (off.A @ sizes + off.b[:, None]) * up",
        "pass",
        ("inexact affine",),
    ),
    "a map with the errors of its matrix alone": (
        "models",
        "r += (off.A @ sizes + off.b[:, None]) * up",
        "r += off.A @ sizes",
        ("inexact affine",),
    ),
    "an interval of a map that is half": ("models", "reach = spread * UP +", "reach = 0.5 * spread +", ("affine",)),
    "an interval of a map without the errors of its weights": (
        "models",
        "reach += (off.A @ (np.abs(middle) + radius) + off.b[:, None]) * up",
        "pass",
        ("inexact affine",),
    ),
    "symbols that lose half": (
        "models",
        "g[own, :, np.arange(len(own))] = self.r[own]",
        "g[own, :, np.arange(len(own))] = 0.5 * self.r[own]",
        ("with symbols",),
    ),
    "symbols that a fold forgets": ("models", "r = (rows.r + row_norms(gone) * UP) * UP", "r = rows.r", ("fold",)),
    "symbols that a fold halves": (
        "models",
        "r = (rows.r + row_norms(gone) * UP) * UP",
        "r = rows.r + 0.5 * row_norms(gone)",
        ("fold",),
    ),
    "symbols of another row": (
        "models",
        "g[..., np.searchsorted(names, rows.names)] = rows.g",
        "g[..., : len(rows.names)] = rows.g",
        ("join",),
    ),
    "an interval that is cut": (
        "models",
        "off = np.maximum(known.high - middle, middle - known.low) * UP + TINY",
        "off = 0.5 * (known.high - known.low)",
        ("interval",),
    ),
    "a range without errors": (
        "models",
        "own = intervals.interval(span.low - errors - TINY, span.high + errors + TINY)",
        "own = span",
        ("add",),
    ),
    "errors without symbols": (
        "models",
        "return (row_norms(self.g) + self.r) * UP",
        "return self.r * UP",
        ("multiply", "exp"),
    ),
    "errors without radii": (
        "models",
        "return (row_norms(self.g) + self.r) * UP",
        "return row_norms(self.g) * UP",
        ("multiply",),
    ),
    "a cell whose radius is rounded down": (
        "models",
        "radius = np.maximum(add_up(high, -middle), add_up(middle, -low))",
        "radius = 0.5 * high - 0.5 * low",
        ("cells",),
    ),
    "a span without rounding": (
        "kernels",
        "low[row], high[row] = bottom - lost, top + lost",
        "low[row], high[row] = bottom, top",
        ("span",),
    ),
    "a span without b": ("kernels", "least, most = b - a, b + a", "least, most = -a, a", ("span",)),
    "a span without a": ("kernels", "least, most = b - a, b + a", "least, most = b, b", ("span",)),
    "a span without its vertex": ("kernels", "if a < 2.0 * abs(b):", "if a < 0.0:", ("span",)),
    "a vertex that underflows": (
        "kernels",
        "vertex = -a * (a / (4.0 * b))",
        "vertex = -a * a / (4.0 * b)",
        ("small span",),
    ),
    "odd monomials taken for even ones": (
        "monomials",
        "kinds = (exponents % 2 != 0).any(1)",
        "kinds = (exponents % 2 != 0).all(1)",
        ("span",),
    ),
    "even monomials without a sign": ("kernels", "bottom += min(p[row, m], 0.0)", "bottom += 0.0", ("span",)),
    "parts without errors": (
        "polynomial_ranges",
        "off = x.errors + 2 * x.space.gamma * row_norms(x.p) + TINY",
        "off = 0.0",
        ("ranges",),
    ),
    "a part that is left out": (
        "polynomial_ranges",
        "high.reshape(shape).max(-1) + off",
        "high.reshape(shape)[..., 0] + off",
        ("ranges",),
    ),
    "a composition without its tail": ("kernels", TAIL, "tail += 0.0", SHORT),
    "a composition with half a tail": ("kernels", TAIL, "tail += 0.5 * other[i] * own[j]", ("x^2", "x^3")),
    "a composition without rounding": (
        "kernels",
        "tail += gamma * (other.sum() * norm + abs(q[row, s]))",
        "tail += 0.0",
        ("composition",),
    ),
    **{
        f"a function without {term}": ("functions", APPLIED, APPLIED.replace(f" + {term}", "", 1), SHORT)
        for term in ("off", "np.abs(slope) * x.r", "(turn + 4 * U * np.abs(slope)) * errors")
    },
    "a function without its tail": ("functions", APPLIED, APPLIED.replace("tails.reshape(shape)", "0.0"), SHORT),
    "a function with half of |s|·r": (
        "functions",
        APPLIED,
        APPLIED.replace("+ np.abs(slope)", "+ 0.5 * np.abs(slope)", 1),
        ("exp",),
    ),
    "half of the variation of a slope": (
        "functions",
        "(0.5 * slopes[1] - 0.5 * slopes[0]) * UP",
        "(0.25 * slopes[1] - 0.25 * slopes[0])",
        ("x^2", "exp"),
    ),
    "an interpolant with half its error": (
        "functions",
        "off = rest / (math.factorial(k + 1) * 2.0**k)",
        "off = 0.5 * rest / (math.factorial(k + 1) * 2.0**k)",
        ("x^2", "x^3", "exp"),
    ),
    "an interpolant whose error underflows": (
        "functions",
        "rest = rest * rho  # ρ^(k+1) alone may underflow",
        "rest = rest * rho * (rho**2 > 0)",
        ("sqrt", "x^1.5"),
    ),
    "an interpolant without the errors of its values": (
        "functions",
        "lost = (TRUST + (k + 30) * U) * (np.abs(values) @ sizes) + reading * sizes.sum()",
        "lost = 0.0",
        ("exp", "sin", "x^3"),
    ),
    "a sampled error without its middle": (
        "functions",
        "q[:, 0] += np.where(better",
        "q[:, 0] += np.where(~better & better",
        LONG,
    ),
    "a sampled error without what is between": (
        "functions",
        "between = bent * (0.5 / SAMPLES**2)",
        "between = 0.0 * bent * (0.5 / SAMPLES**2)",
        ("few samples",),
    ),
    "half of a sampled error": (
        "functions",
        "sampled = (0.5 * most - 0.5 * least) * UP",
        "sampled = 0.5 * (0.5 * most - 0.5 * least)",
        LONG,
    ),
    "a function outside of its domain": (
        "functions",
        "np.where(inside, r, np.inf), interval_of",
        "r, interval_of",
        ("ln",),
    ),
    "a chord that misses nothing": (
        "functions",
        "off = np.where(crossing, (0.5 * most - 0.5 * least) * UP + 16 * U * sizes, 0.0)",
        "off = 16 * U * sizes",
        ("kink",),
    ),
    "a chord that misses half": (
        "functions",
        "off = np.where(crossing, (0.5 * most - 0.5 * least) * UP",
        "off = np.where(crossing, (0.25 * most - 0.25 * least) * UP",
        ("kink",),
    ),
    "a chord that is not moved": (
        "functions",
        "shift = np.where(crossing, 0.5 * least + 0.5 * most, 0.0)",
        "shift = np.zeros_like(low)",
        ("kink",),
    ),
    "a kink whose range is that of its ends": (
        "functions",
        "np.where(crossing, choose(end, 0.0), end)",
        "end",
        ("kink",),
    ),
    "derivatives without turning points": (
        "smooth_functions",
        "if self.turns:",
        "if False:",
        ("tanh", "sigmoid", "gelu", "atan"),
    ),
    "waves without peaks": (
        "elementary_functions",
        "inside = holds(low, high, 2 * math.pi, turn)",
        "inside = low > high",
        ("sin", "cos"),
    ),
    "cosh without its least value": (
        "elementary_functions",
        "np.where((low <= 0) & (high >= 0), 1.0, least) if kind.even else least",
        "least",
        ("cosh", "sinh"),
    ),
    "powers without 0": (
        "elementary_functions",
        "np.where((low < 0) & (high > 0), 0.0, ends[0])[None]",
        "ends[:1]",
        ("x^2", "x^4"),
    ),
    "a tangent without its pole": ("elementary_functions", "& ~holds(low, high, math.pi, 0.5)", "", ("tan",)),
    "a tangent whose slope is not 1 at 0": (
        "elementary_functions",
        "least = np.where(zero, np.minimum(least, coefficients[0]), least)",
        "pass",
        ("tan",),
    ),
    "matrices without their tail": ("products", "r += norms[0][i] @ norms[1][j]", "pass", ("matrices",)),
    "matrices with half a tail": (
        "products",
        "r += norms[0][i] @ norms[1][j]",
        "r += 0.5 * norms[0][i] @ norms[1][j]",
        ("matrices",),
    ),
    **{
        f"matrices without {term}": ("products", f"{term}", "0.0 * ea @ eb", ("matrices",))
        for term in ("norms[0][0] @ rb", "ra @ norms[1][0]", "above[0] @ eb", "ea @ above[1]")
    },
    "matrices without products of errors": ("products", "r = ea @ eb + ", "r = ", ("matrices",)),
    "matrices without rounding": ("products", "(r + gamma * (sizes[0] @ sizes[1])) * UP", "r", ("matrices",)),
    "a softmax of sums that are not shifted": (
        "row_functions",
        ", -top[self.group])",
        ", 0.5 * -top[self.group])",
        ("logsumexp",),
    ),
    "a logarithm of sums without means": (
        "row_functions",
        "return sums if means is None else sums + means",
        "return sums",
        ("logsumexp",),
    ),
    "a mask that is forgotten": ("row_functions", "True if mask is None else mask", "True", ("softmax", "logsumexp")),
}
