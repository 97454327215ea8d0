"""From what people have in hand (nets, formulas, functions, tables) to targets; `read` is the one door.

Read `reader`, which decides what a source is and reads it, `options`, what can be said beside it, and `files`, which
looks at paths. Then by what comes in: `formula/` (text and sympy), `python/` (callables, polynomials, tables), `data/`
(rows), `jax/` (callables that are traced), `onnx/`, `torch/`, `keras/`, `sklearn`, `verification/` (files of
verification tools); `property/` is for what is to be proved of them. Most of these meet again: `tensor_builder` and
`tensor_operations` draw what frameworks share, `composer` builds graphs and recognises activations that are written out
(`activation_patterns`), `drawn_model` is what was drawn, `feedforward` says whether it is a net, `tracer` makes one of
it, and `chain` joins its affine maps where that is exact.

Sources are not trusted: nothing in a file is executed, and sizes are checked before anything is allocated. Foreign
packages are imported (`extras`) when a source of theirs is read, and not to find out what it is. Front ends know
targets, and the box as users write it; they know nothing of constructions and proofs.
"""

from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.options import DEFAULTS, Inputs, ReadOptions, Target, Variables, domain
from integraph.frontends.reader import SourceKind, function, kind_of, network, read

__all__ = [
    "DEFAULTS",
    "Inputs",
    "Parameters",
    "ReadOptions",
    "SourceKind",
    "Target",
    "Variables",
    "domain",
    "function",
    "kind_of",
    "network",
    "read",
]
