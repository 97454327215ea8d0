"""Controllers as verification tools store them: `.nnet`, Verisig's YAML, POLAR's text, MATLAB's cells W and b.

Each reader gives a `Network`; what a file says of scaling is an affine map before or after the net. None of them needs
a package, but for MATLAB files of version 7.3, which are HDF5. Nothing in a file is executed, and no array is made from
a size that a file only claims.

Read `text_lines` (lines and numbers of a text that is not trusted), `nnet`, `polar`, `verisig`, then `matlab` with the
two kinds of file below it, `mat_level5` and `mat_hdf5`; `activation_names` is what the tools call activations.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from integraph.frontends.files import named_errors
from integraph.frontends.verification import matlab, nnet, polar, verisig
from integraph.targets import Network

POLAR = ".txt"  # and any other name: it is known by how it begins
READERS: dict[str, Callable[[Path], Network]] = {
    ".nnet": nnet.read,
    ".yml": verisig.read,
    ".yaml": verisig.read,
    ".mat": matlab.read,
    POLAR: polar.read,
}


def read(path: Path, suffix: str) -> Network:
    """The network in a file of the kind that usually has this suffix."""
    with named_errors(path):
        return READERS[suffix](path)
