"""Training and learned programs on an accelerator: the same as on a processor, and how long they take.

    PYTHONPATH=src python3 benchmarks/gpu_learning.py

needs jax, numpy and scipy; rows of estimators need equinox, optax and scikit-learn too, and the row of PyTorch needs
PyTorch. A row that fails says why, and the others go on. Times are those of the second call.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import integraph
from integraph.flow.jax.taylor import Controls, flow
from random_nets import net

WIDTH, RANK, DEPTH, ROWS, ORDER = 64, 64, 4, 100_000, 8
Row = tuple[str, str, str, str]


def main() -> None:
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    print("\n| what | largest difference from the processor | accelerator, ms | processor, ms |\n|---|---|---|---|")
    for name, rows in (("gradient", gradients), ("program", programs), ("fit", fits), ("PyTorch", modules)):
        try:
            for row in rows():
                print(f"| {' | '.join(row)} |", flush=True)
        except Exception as reason:  # a row that fails must not lose the others
            print(f"| {name} | {type(reason).__name__}: {str(reason).splitlines()[:1]} | | |", flush=True)


def timed(run: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    given = jax.device_put(given)
    jax.block_until_ready(run(*given))
    begun = time.perf_counter()
    result = jax.block_until_ready(run(*given))
    return result, time.perf_counter() - begun


def both(what: str, run: Callable[..., Any], *given: Any) -> Row:
    """What a function gives on the default device and on the processor, with its arguments there already."""
    ours, fast = timed(run, *given)
    with jax.default_device(jax.devices("cpu")[0]):
        theirs, slow = timed(run, *given)
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    away = max(float(np.abs(np.asarray(a) - b).max() / (1.0 + np.abs(b).max())) for a, b in pairs)
    return what, f"{away:.1e}", f"{1e3 * fast:.3g}", f"{1e3 * slow:.3g}"


def gradients() -> Iterator[Row]:
    """Of Taylor steps by all controls, as training takes them."""
    random = np.random.default_rng(0)
    shapes = (WIDTH,), (WIDTH, WIDTH), (WIDTH, RANK), (RANK, WIDTH), (RANK, WIDTH)
    drawn = [0.3 * random.normal(size=(DEPTH, *shape)) / WIDTH**0.5 for shape in shapes]
    starts = random.normal(size=(ROWS, WIDTH))
    slope = jax.jit(jax.grad(lambda controls, y: jnp.mean(flow(controls, y, order=ORDER, steps=1)[0] ** 2)))
    for kind in (np.float64, np.float32):
        controls, y = Controls(*(one.astype(kind) for one in drawn)), starts.astype(kind)
        said = f"gradient, {WIDTH} registers, {DEPTH} segments, {ROWS:,} rows, {np.dtype(kind).name}"
        yield both(said, slope, controls, y)


def programs() -> Iterator[Row]:
    """A low-rank block by its own steps, and a file of jax.export."""
    random = np.random.default_rng(0)
    registers = integraph.Registers()
    y = registers.inputs("y", 8)
    U, V1, V2, A = (0.3 * random.normal(size=(8, 8)) for _ in range(4))
    block = integraph.gadgets.low_rank(y, U=U, V1=V1, V2=V2, A=A)
    learned = integraph.build(registers, [integraph.segment("learned", block)], y)
    function, params = learned.to_jax()
    x = random.uniform(-0.5, 0.5, (10_000, 8))
    yield both("low-rank program, 8 registers, 10,000 rows", jax.jit(lambda x: function(params, x)), x)
    program = integraph.compile(net((2, 32, 32, 1), None), method="wide")
    with tempfile.TemporaryDirectory() as folder:
        path = program.export(Path(folder) / "net.jaxexport")
        again = jax.export.deserialize(bytearray(path.read_bytes()))
    yield both("file of jax.export, 100,000 rows", jax.jit(again.call), random.uniform(size=(100_000, 2)))


def fits() -> Iterator[Row]:
    from integraph.learn import QuadraticODERegressor

    X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1])
    found = []
    for device in (jax.default_backend(), "cpu"):
        model = QuadraticODERegressor(max_steps=300, random_state=0, device=device, progress=False)
        found.append(timed(lambda model=model: model.fit(X, y).predict(X)))
    (ours, fast), (theirs, slow) = found
    yield "fit of 300 steps, 600 rows", f"{np.abs(ours - theirs).max():.1e}", f"{1e3 * fast:.3g}", f"{1e3 * slow:.3g}"


def modules() -> Iterator[Row]:
    import torch

    program = integraph.compile(net((2, 32, 32, 1), None), 1e-6)
    x = torch.rand(100_000, 2, dtype=torch.float64)
    module, found = program.to_torch(), []
    for device in ("cuda", "cpu"):
        module, given = module.to(device), x.to(device)
        for _ in range(2):
            begun = time.perf_counter()
            outputs = module(given).detach().cpu().numpy()
            seconds = time.perf_counter() - begun
        found.append((outputs, seconds))
    (ours, fast), (theirs, slow) = found
    yield "PyTorch module, 100,000 rows", f"{np.abs(ours - theirs).max():.1e}", f"{1e3 * fast:.3g}", f"{1e3 * slow:.3g}"


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
