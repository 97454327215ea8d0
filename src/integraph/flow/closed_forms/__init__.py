"""The closed forms of a program as a list of array operations, for jax, PyTorch and writers of any language.

The gadgets' own `closed(f, t, …)` run once on symbolic arrays, and what they compute is recorded: weights stay
matrices, registers nobody wrote are 0 and simplify away, what nobody reads is not computed. No language is known here.

Read `operations` (what a writer must know), `recorder` (symbolic arrays), `contraction` (sums of products as matrix
products), `register_file`, `trace` (from a program to operations), `shortcuts` over `linear_forms` (closed forms from
the starts of lemmas), `liveness`; then the functions that closed forms use, `functions`, `gauss_functions` and
`softmax_functions`, and `expansions` for languages that lack some. For languages with derivatives: `parameters`, and
the `interpreter` with `slices` and `smooth_functions`, and blocks without closed forms: `free_forms`, `taylor_steps`.
"""

from integraph.flow.closed_forms.operations import ClosedForms as ClosedForms
from integraph.flow.closed_forms.operations import Operation as Operation
from integraph.flow.closed_forms.trace import trace as trace

__all__ = ["ClosedForms", "Operation", "trace"]
