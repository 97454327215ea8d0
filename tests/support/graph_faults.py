"""Faults of the formulas of proofs of graphs: the text of a module, what it becomes, and the case that notices it."""

from __future__ import annotations

PRODUCT = "np.where(moderate, rounding, plain) + np.abs(a) * b_off + np.abs(b) * a_off + a_off * b_off"
MOVED = "_times(size[left], by_right) + _times(size[right], by_left) + _times(by_left, by_right)"
SHARE = "2.0 * np.sqrt(square / base) + (square + own) / base"
SKEW = "c.off + (rows.h * s.off).sum(1) + skew, u.off + rows.h * (s.off + c.off[:, None]) + eta"
TOGETHER = "self._rest[s] + scale * self._rest[x] + wrong"
FAULTS: dict[str, tuple[str, str, str, str]] = {
    **{
        f"a product without {term}": ("polynomials", PRODUCT, PRODUCT.replace(term, "0.0"), "products")
        for term in ("np.where(moderate, rounding, plain)", "np.abs(a) * b_off", "np.abs(b) * a_off", "a_off * b_off")
    },
    "a small product without rounding": ("polynomials", "U * np.abs(value) + LOST", "0.0", "products"),
    "a multiple without its off": (
        "polynomials",
        "product(p.weight, p.off, by, lost)",
        "product(p.weight, p.off, by, 0.0 * lost)",
        "multiples",
    ),
    "equal terms without rounding": (
        "polynomials",
        "np.add.reduceat(q.off, first) + rounding",
        "np.add.reduceat(q.off, first)",
        "rows",
    ),
    "equal terms without offs": ("polynomials", "np.add.reduceat(q.off, first) + rounding", "rounding", "rows"),
    "a long sum without rounding": ("polynomials", "sum_margin(length) * length * U * size", "0.0", "sums"),
    "a short sum without rounding": (
        "polynomials",
        "rounding[some] += np.abs(sum_error(before, more, total[some]))",
        "pass",
        "sums",
    ),
    "a sum that is taken for exact": ("polynomials", "<= least + 53", "<= least + 60", "sums"),
    "constants without offs": (
        "atoms",
        "product(weight[here], off[here], number, np.zeros(len(here)))",
        "product(weight[here], 0.0 * off[here], number, np.zeros(len(here)))",
        "names",
    ),
    "a bound without offs": ("atoms", "np.abs(p.weight) + p.off", "np.abs(p.weight)", "bounds"),
    "a size of one sign": ("atoms", "np.maximum(np.abs(self.low), np.abs(self.high))", "np.abs(self.high)", "bounds"),
    "a range without offs": (
        "atoms",
        "Interval(p.weight - p.off, p.weight + p.off)",
        "Interval(p.weight, p.weight)",
        "bounds",
    ),
    "a range without rounding": (
        "atoms",
        "intervals.interval(low - lost, high + lost)",
        "intervals.interval(low, high)",
        "ranges",
    ),
    "cubes taken for squares": ("atoms", "(p.atoms[:, 0] != ONE) & (place == 1)", "(p.atoms[:, 0] != ONE)", "bounds"),
    "an atom that is near": (
        "atoms",
        "UP * head.off[plain] * self.size()[head.atoms[plain, 0]]",
        "0.0 * head.off[plain]",
        "names",
    ),
    "a number that is near": (
        "atoms",
        "self.numbers(head.weight[fixed]), head.off[fixed]",
        "self.numbers(head.weight[fixed]), 0.0",
        "names",
    ),
    "names without offs": ("atoms", "terms.weight[inside], terms.off[inside])", "terms.weight[inside], 0.0)", "names"),
    "a match without a distance": ("atoms", "guess[alike], distance[alike]", "guess[alike], 0.0", "names"),
    "a rectifier of a known sign": (
        "functions",
        "np.where(atoms.low[flat] >= 0, flat, atoms.zero)\n    either = (atoms.low[flat] < 0)",
        "np.where(atoms.high[flat] >= 0, flat, atoms.zero)\n    either = (atoms.low[flat] < -9)",
        "another function",
    ),
    "a constant without its ulp": ("source", "np.spacing(np.abs(flat))", "0.0", "coefficients"),
    "a base that is 0": ("source", "if not least > low:", "if not least >= low:", "zero"),
    "names that are only near": (
        "source",
        "near = np.flatnonzero(off > 0)",
        "near = np.flatnonzero(off > np.inf)",
        "near",
    ),
    "a divisor without rounding": ("node_rules", "U * np.abs(inverse)", "0.0", "coefficients"),
    "a logarithm without rounding": ("node_rules", "1.0 / base, 4 * U / base", "1.0 / base, 0.0", "coefficients"),
    "a slope without rounding": (
        "node_rules",
        "(rest.weight[0], rest.off[0])",
        "(rest.weight[0], 0.0)",
        "coefficients",
    ),
    "a root of 2/π without rounding": ("node_rules", "root, 4 * U * root", "root, 0.0", "coefficients"),
    "a start at no distance": ("roles", "return distance", "return 0.0 * distance", "sigmoid"),
    "a wrong start that is forgotten": (
        "activation_rules",
        "UP * (off[role] + _wrong_start(",
        "UP * (off[role] + 0.0 * _wrong_start(",
        "sigmoid",
    ),
    "a start without its own error": (
        "activation_rules",
        "UP * (off[role] + _wrong_start(",
        "UP * (_wrong_start(",
        "a residue of tanh",
    ),
    "an end at no distance": (
        "activation_rules",
        "reshape(-1) + distance)\n        else",
        "reshape(-1))\n        else",
        "sinh",
    ),
    "an end without errors": (
        "activation_rules",
        "np.broadcast_to(missed, x.atom.shape).reshape(-1) + distance",
        "distance",
        "tanh",
    ),
    "a rectifier that is exact": ("activation_rules", "UP * RELU / k", "0.0", "a kink"),
    "half a rectifier": ("activation_rules", "UP * RELU / k", "0.5 * RELU / k", "a kink"),
    "own starts that are exact": (
        "activation_rules",
        "UP * (away + lost * (state.atoms.size()[x.atom] + x.off))",
        "0.0 * away",
        "gelu",
    ),
    "own starts without rounding": (
        "activation_rules",
        "UP * (away + lost * (state.atoms.size()[x.atom] + x.off))",
        "away",
        "gelu of x",
    ),
    "a scale of gelu without rounding": (
        "activation_rules",
        '"gelu": {"w": ZERO, "h": (ROOT[0], 0.0, 4 * U * ROOT[0])',
        '"gelu": {"w": ZERO, "h": (ROOT[0], 0.0, 0.0)',
        "gelu of x",
    ),
    "a scale of erf without rounding": (
        "activation_rules",
        "(ROOT[1], 0.0, 4 * U * ROOT[1])",
        "(ROOT[1], 0.0, 0.0)",
        "erf of x",
    ),
    "an argument without errors": (
        "activation_rules",
        "np.abs(a) * x.off.reshape(-1) + distance",
        "distance",
        "argument",
    ),
    "an argument at no distance": (
        "activation_rules",
        "np.abs(a) * x.off.reshape(-1) + distance",
        "np.abs(a) * x.off.reshape(-1)",
        "argument",
    ),
    "ln 2 without rounding": (
        "activation_rules",
        "np.full(x.size, -LN2), U)",
        "np.full(x.size, -LN2), 0.0)",
        "softplus",
    ),
    "half a residue": ("activation_rules", "UP * np.exp(", "0.5 * np.exp(", "residues"),
    "a residue without errors": (
        "activation_rules",
        "atoms.size()[z.atom].reshape(-1) + z.off.reshape(-1)",
        "atoms.size()[z.atom].reshape(-1)",
        "residues",
    ),
    "a logarithm of a base at no distance": (
        "growth_rules",
        '"p": UP * (p.off + distance.reshape(p.off.shape)), "z"',
        '"p": p.off, "z"',
        "ln",
    ),
    "steps of ln 2 without rounding": ("growth_rules", "2 * U * np.abs(shift)", "0.0 * shift", "ln"),
    "a logarithm without errors": ("growth_rules", 'np.ravel(wrong["z"].off) + lost', "lost", "ln"),
    "a logarithm at no distance": (
        "growth_rules",
        'np.ravel(wrong["z"].off) + lost',
        'np.ravel(wrong["z"].off)',
        "nearly another logarithm",
    ),
    "a power of a base at no distance": (
        "growth_rules",
        "wide[..., k] = UP * (part.off + distance.reshape(part.off.shape))",
        "wide[..., k] = part.off",
        "root",
    ),
    "a power of a base without errors": (
        "growth_rules",
        "wide[..., k] = UP * (part.off + distance.reshape(part.off.shape))",
        "wide[..., k] = distance.reshape(part.off.shape)",
        "root",
    ),
    "a product of powers without errors": ("growth_rules", "UP * (missed + distance)", "distance", "layer norm"),
    "a product of powers at no distance": ("growth_rules", "UP * (missed + distance)", "missed", "exp"),
    "a multiple of an atom that is near": (
        "growth_rules",
        "distance + (np.abs(weight) + lost) * away",
        "distance",
        "root",
    ),
    "a multiple at no distance": (
        "growth_rules",
        "distance + (np.abs(weight) + lost) * away",
        "(np.abs(weight) + lost) * away",
        "multiples of atoms",
    ),
    "a share at no distance": ("growth_rules", "share * (1.0 + UP * away / low) + away / low", "share", "layer norm"),
    "a share of more than its base": (
        "growth_rules",
        "UP * p.share * np.sqrt(own / low)",
        "p.share * own / low",
        "shares",
    ),
    "roots of two without rounding": (
        "growth_rules",
        "else U if x.denominator == 2 else",
        "else 0.0 if x.denominator == 2 else",
        "coefficients",
    ),
    "an exponent at no distance": (
        "growth_rules",
        "return span, wide(off, distance)",
        "return span, wide(off, 0.0 * distance)",
        "exp",
    ),
    "a logarithm of a number without rounding": (
        "row_rules",
        "lost = 4 * U * np.log(entries)",
        "lost = 0.0 * np.log(entries)",
        "log softmax",
    ),
    "weights that start anywhere": ("row_rules", 'UP * (off["a"] + apart(', 'UP * (off["a"] + 0.0 * apart(', "softmax"),
    "weights that start without errors": (
        "row_rules",
        'UP * (off["a"] + apart(',
        "UP * (apart(",
        "a residue of softmax",
    ),
    "a softmax without errors": ("row_rules", "UP * (np.ravel(wrong[first].off) + distance)", "distance", "attention"),
    "a softmax at no distance": (
        "row_rules",
        "UP * (np.ravel(wrong[first].off) + distance)",
        "np.ravel(wrong[first].off)",
        "log softmax",
    ),
    "1/n without rounding": ("row_rules", "np.where(np.frexp(h)[0] == 0.5, 0.0, U * h)", "0.0 * h", "rows of three"),
    **{
        f"scores without {term}": ("row_rules", SKEW, SKEW.replace(term, more), "starts of rows")
        for term, more in (
            ("c.off + (rows", "0.0 + (rows"),
            ("(rows.h * s.off).sum(1)", "0.0"),
            ("+ skew", ""),
            ("u.off", "0.0"),
            ("rows.h * (s.off + c.off[:, None])", "0.0"),
            ("+ eta", ""),
        )
    },
    "scores of which the mean is exact": ("row_rules", '{"skew": UP * skew', '{"skew": 0.0 * skew', "starts of rows"),
    "scores that start as they should": ("row_rules", '"eta": UP * eta', '"eta": 0.0 * eta', "starts of rows"),
    "a mean that starts as it should": ("row_rules", '"m": UP * (m.off + zero)', '"m": 0.0 * m.off', "starts of rows"),
    "sums at no distance": ("flow", "UP * (self.off[registers] + distance)", "self.off[registers]", "tanh"),
    "sums that forget": ("flow", "UP * (self.off[registers] + distance)", "distance", "a residue of softplus"),
    "sums of exact terms": ("flow", "UP * (own + moved)", "own", "gelu_tanh"),
    **{
        f"products without {term}": ("flow", MOVED, MOVED.replace(term, "0.0"), "errors of products")
        for term in ("_times(size[left], by_right)", "_times(size[right], by_left)", "_times(by_left, by_right)")
    },
    "a share without its root": ("flow", SHARE, "(square + own) / base", "shares of sums"),
    "a share without its distance": ("flow", SHARE, "2.0 * np.sqrt(square / base)", "shares of sums"),
    "a share with half of its root": ("flow", SHARE, SHARE.replace("2.0", "1.0"), "shares of sums"),
    "a copy that is exact": (
        "flow",
        "(self._rest[s] + _times(UP * away + U * scale * (away > 0), size))[alone]",
        "self._rest[s][alone]",
        "gelu of x",
    ),
    "a copy onto nothing": ("flow", "(self._rest[s] + _times(", "(_times(", "a residue of gelu"),
    "a combination that is exact": ("flow", "UP * (self._rest[s] + wrong))", "self._rest[s])", "softmax"),
    "a combination onto nothing": ("flow", "UP * (self._rest[s] + wrong))", "wrong)", "a residue of softmax"),
    "terms loaded together that are exact": ("flow", TOGETHER, "self._rest[s] + scale * self._rest[x]", "gelu"),
    "terms loaded together onto nothing": ("flow", TOGETHER, "wrong", "a residue of sums"),
    "outputs at no distance": ("difference", "UP * (distance + moved)", "moved", "tanh"),
    "outputs without errors": ("difference", "UP * (distance + moved)", "distance", "tanh"),
}
