"""What torch may write in smaller operations: what has no rule of its own. What has one stays whole, so that the graph
stays small and exact.

Some decompositions of torch compare their operands, to be safe at ±∞; here they are the plain formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from integraph.frontends.torch.operations import known

Table = dict[Any, Callable[..., Any]]


def own(torch: Any) -> Table:
    """Formulas in place of those of torch."""
    ops, special = torch.ops.aten, torch.special

    def hypot(x: Any, y: Any) -> Any:
        return torch.sqrt(x * x + y * y)

    def logaddexp(x: Any, y: Any) -> Any:
        return y + ops.softplus(x - y, 1, 1e3)

    def logit(x: Any, eps: float | None = None) -> Any:
        inside = x if eps is None else x.clamp(eps, 1 - eps)
        return torch.log(inside / (1 - inside))

    def xlogy(x: Any, y: Any) -> Any:
        return x * torch.log(y)

    def var_mean(x: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
        return ops.var.correction(x, dim, correction=correction, keepdim=keepdim), ops.mean.dim(x, dim, keepdim)

    def cdist(a: Any, b: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
        return torch.linalg.vector_norm(a[..., :, None, :] - b[..., None, :, :], p, -1)

    def bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
        value = torch.einsum("...i,kij,...j->...k", a, weight, b)
        return value if bias is None else value + bias

    return {
        ops.hypot.default: hypot,
        ops.logaddexp.default: logaddexp,
        ops.logit.default: logit,
        ops.xlogy.Tensor: xlogy,
        ops.erfc.default: lambda x: 1 - special.erf(x),
        ops.var_mean.correction: var_mean,
        ops.lerp.Scalar: lambda a, b, w: a + w * (b - a),
        ops.lerp.Tensor: lambda a, b, w: a + w * (b - a),
        ops.cdist.default: cdist,
        ops.bilinear.default: bilinear,
    }


def rewriting(torch: Any) -> Any:
    """A context in which functions are written otherwise that torch.export would take apart into jumps."""

    class Rewriting(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.nn.functional.softshrink:
                return softshrink(*args, **(kwargs or {}))
            if func in pools:
                return lp_pool(func, *args, **(kwargs or {}))
            return func(*args, **(kwargs or {}))

    F = torch.nn.functional
    pools = {F.lp_pool1d: F.avg_pool1d, F.lp_pool2d: F.avg_pool2d, F.lp_pool3d: F.avg_pool3d}

    def lp_pool(
        func: Any, x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Any:
        """(Σ x^p)^(1/p) of each window; torch takes signs of the sum, which is never negative where p is even."""
        if norm_type % 2:
            return func(x, norm_type, kernel_size, stride, ceil_mode)
        sizes = [kernel_size] * int(func.__name__[-2]) if isinstance(kernel_size, int) else kernel_size
        means = pools[func](x**norm_type, kernel_size, stride, 0, ceil_mode)
        return (means * math.prod(sizes)) ** (1 / norm_type)

    def softshrink(x: Any, lambd: float = 0.5) -> Any:
        return x - x.clamp(-lambd, lambd)

    return Rewriting()


def of_others(torch: Any) -> Table:
    """The decompositions of torch, but for operations that have rules here, and our own."""
    table = torch.export.default_decompositions()
    return {
        **{op: rule for op, rule in table.items() if not known(str(op._schema.name).partition("::")[2])},
        **own(torch),
    }
