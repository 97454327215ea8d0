"""Programs against what they were compiled from: formulas and nets in numpy, jax and onnxruntime, one thread.

Times are processor times. jax and onnxruntime take part where they are installed. Formulas are those of
tests/support/exact_formulas.py, evaluated by numpy as they are written; a power in them is numpy's, which is slow for
some exponents.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special
from threadpoolctl import threadpool_limits

import integraph
from integraph import Network
from measure import CONSOLE, race, show, verdict
from random_nets import net

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from exact_formulas import FORMULAS, Formula

CPU = time.process_time
COUNT = 100_000
CALLS = 70  # of so many inputs, after which the shortest tape has been compiled; jax compiles at its first call
NETS = ((2, 16, 16, 1), (4, 32, 32, 2), (8, 64, 64, 64, 1))
ACTIVATIONS = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu", "gelu": ""}  # onnxruntime has no GELU in float64
LEAN = (("sin(3*x)*exp(-x)/(1+x*x)", 1, 1e-6), ("sin(3*x)*exp(-y)/(1+x*y)", 2, 1e-3))
MANY, ONE, SINGLE = 3.0, 1.5, 5.0  # against numpy; µs
RIVAL = 1.2  # against onnxruntime
NAMES = ("sin", "cos", "tan", "exp", "expm1", "log1p", "log2", "log10", "sqrt", "sinh", "cosh", "tanh", "cbrt", "ln",
         "asin", "acos", "atan", "asinh", "acosh", "atanh", "pi", "e")  # fmt: skip
SAME = {"ln": "log", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
        "atanh": "arctanh"}  # fmt: skip


def evaluator(text: str, variables: tuple[str, ...], library: Any, others: dict[str, Any]) -> Callable[[Any], Any]:
    """A formula of ours in the functions of numpy or jax.numpy."""
    names = {name: getattr(library, SAME.get(name, name)) for name in NAMES}
    names |= others | {"softplus": lambda x: library.logaddexp(0.0, x)}
    code = compile(text.replace("^", "**"), "formula", "eval")
    return lambda x: eval(code, names, {name: x[:, n] for n, name in enumerate(variables)})


def in_numpy(text: str, variables: tuple[str, ...]) -> Callable[[Any], Any]:
    return evaluator(text, variables, np, {"erf": special.erf, "sigmoid": special.expit})


def in_jax(text: str, variables: tuple[str, ...]) -> Callable[[Any], Any]:
    """Compiled, and waited for."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    others = {"erf": jax.scipy.special.erf, "sigmoid": jax.nn.sigmoid}
    function = jax.jit(evaluator(text, variables, importlib.import_module("jax.numpy"), others))
    return lambda x: function(x).block_until_ready()


def in_onnxruntime(network: Network, activation: str) -> Callable[[Any], Any]:
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime import InferenceSession, SessionOptions

    nodes, weights, last = [], [], "x"
    for n, layer in enumerate(network.layers):
        weights += [numpy_helper.from_array(np.array(a), f"{name}{n}") for name, a in (("A", layer.A), ("b", layer.b))]
        nodes.append(helper.make_node("Gemm", [last, f"A{n}", f"b{n}"], [f"z{n}"], transB=1))
        last = f"z{n}"
        if n < len(network.layers) - 1:
            nodes.append(helper.make_node(activation, [last], [f"y{n}"]))
            last = f"y{n}"
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, None]) for name in ("x", last)]
    model = helper.make_model(
        helper.make_graph(nodes, "net", ends[:1], ends[1:], weights),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def formula(formula: Formula) -> tuple[object, ...]:
    """Name, W, D, times for many inputs and for one."""
    program = integraph.compile(formula.text, box=list(formula.box), variables=formula.variables)
    low, high = np.array(formula.box, float).T
    x = np.random.default_rng(0).uniform(low, high, (COUNT, len(low)))
    rivals = {"numpy": in_numpy(formula.text, formula.variables)}
    if find_spec("jax"):
        rivals["jax"] = in_jax(formula.text, formula.variables)
    for _ in range(CALLS):
        program(x)
    many = race({name: lambda f=f: f(x) for name, f in rivals.items()} | {"exact": lambda: program(x)}, 0.6, timer=CPU)
    one = {"numpy": lambda: rivals["numpy"](x[:1]), "exact": lambda: program(x[0])}
    single = race({name: lambda f=f: [f() for _ in range(20)] for name, f in one.items()}, 0.05, timer=CPU)
    ratio = many["exact"] / many["numpy"]
    jax = f"{many['exact'] / many['jax']:.2f}" if "jax" in many else "–"
    per = [f"{1e9 * many[name] / COUNT:.3g}" for name in ("numpy", "exact")]
    each = [f"{1e6 * single[name] / 20:.1f}" for name in ("numpy", "exact")]
    return formula.name, program.width, program.depth, *per, f"{ratio:.2f}", verdict(ratio, MANY), jax, *each


def theorem1() -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for text, d, eps in LEAN:
        program = integraph.compile(text, eps, box=[(0, 1)] * d, method="lean")
        plain, x = in_numpy(text, ("x", "y")[:d]), np.random.default_rng(0).uniform(size=(COUNT, d))
        best = race({"numpy": lambda f=plain, x=x: f(x), "exact": lambda p=program, x=x: p(x)}, 2.0, timer=CPU)
        ratio = best["exact"] / best["numpy"]
        per = [f"{1e9 * best[name] / COUNT:.3g}" for name in ("numpy", "exact")]
        rows.append((text, f"{eps:g}", program.width, program.depth, *per, f"{ratio:.2f}", verdict(ratio, MANY)))
    return rows


def network(sizes: tuple[int, ...], activation: str) -> list[tuple[object, ...]]:
    """A row for many inputs, and one for one."""
    source, rows = net(sizes, None, activation), []
    program = integraph.compile(source, 1e-6, method="wide")
    rivals: dict[str, Callable[[Any], Any]] = {"numpy": source, "exact": program}
    if find_spec("onnxruntime") and ACTIVATIONS[activation]:
        rivals["onnxruntime"] = in_onnxruntime(source, ACTIVATIONS[activation])
    for count, calls in ((COUNT, 1), (1, 20)):
        x = np.random.default_rng(0).uniform(size=(count, sizes[0]))
        best = race(
            {name: lambda f=f, x=x, n=calls: [f(x) for _ in range(n)] for name, f in rivals.items()}, 2.0, timer=CPU
        )
        ratio, rival = best["exact"] / best["numpy"], best["exact"] / best.get("onnxruntime", np.nan)
        met = verdict(ratio, ONE) if count == 1 else "" if np.isnan(rival) else verdict(rival, RIVAL)
        per = [f"{1e6 * best[name] / count / calls:.3g}" if name in best else "–" for name in
               ("numpy", "onnxruntime", "exact")]  # fmt: skip
        name = "-".join(map(str, sizes))
        rows.append((name, activation, count, *per, f"{ratio:.2f}", "–" if np.isnan(rival) else f"{rival:.2f}", met))
    return rows


def main() -> None:
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    with threadpool_limits(1), np.errstate(all="ignore"):
        nets = [row for sizes in NETS for activation in ACTIVATIONS for row in network(sizes, activation)]
        heads = (
            "net",
            "activation",
            "B",
            "numpy µs",
            "onnxruntime µs",
            "exact µs",
            "/ numpy",
            "/ onnxruntime",
            "target",
        )
        show("compiled nets (wide), float64", heads, nets, "target: of numpy for one input, of onnxruntime for many")
        heads = ("function", "ε", "W", "D", "numpy ns", "exact ns", "/ numpy", "target")
        show(f"Theorem 1, lean, against its function in numpy, B = {COUNT}", heads, theorem1())
        rows = [formula(one) for one in FORMULAS.values()]
        heads = ("formula", "W", "D", "numpy ns", "exact ns", "/ numpy", "target", "/ jax", "one: numpy µs", "exact µs")
        show(f"formulas, B = {COUNT} and one input", heads, rows)
        ratios, single = (np.array([float(str(row[n])) for row in rows]) for n in (5, 9))
        CONSOLE.print(
            f"of numpy's time: median {np.median(ratios):.2f}, largest {ratios.max():.2f}, {(ratios > MANY).sum()} of "
            f"{len(ratios)} above {MANY:g}; one input: median {np.median(single):.1f} µs, {(single > SINGLE).sum()} "
            f"above {SINGLE:g} µs"
        )


if __name__ == "__main__":
    main()
