"""`make bench`: every number the project promises, measured.

Each table also comes alone, from the root of the project: `PYTHONPATH=examples .venv/bin/python benchmarks/exact.py`,
and likewise evaluation.py, networks.py, functions.py, formulas.py, transformer.py, convolution.py, certificates.py,
ranges.py, properties.py, loops.py, enclosures.py, taylor.py, terms.py, scaling.py, imports.py, lifting.py, grids.py,
identification.py, jax_engine.py (which needs jax). Not part of `make bench` are gpu.py and gpu_learning.py
(which need an accelerator), gradients.py, identification_noise.py, learning.py and fine_tuning.py (which need the extra
learn, or rivals);
`benchmarks/terms.py long` adds a program of 1e9 terms, which takes a minute or two. A target that reads MISSED does not
change the exit code: machines are noisy, and a person should look.
"""

from __future__ import annotations

import certificates
import convolution
import enclosures
import evaluation
import exact
import formulas
import functions
import grids
import identification
import imports
import jax_engine
import lifting
import loops
import networks
import properties
import ranges
import scaling
import taylor
import terms
import transformer
from measure import CONSOLE


def main() -> None:
    for module in (
        exact, evaluation, networks, functions, formulas, transformer, convolution, certificates, ranges, properties,
        loops, enclosures, taylor, terms, scaling, imports, lifting, grids, identification, jax_engine,
    ):  # fmt: skip
        CONSOLE.rule((module.__doc__ or "").strip().splitlines()[0])
        module.main()


if __name__ == "__main__":
    main()
