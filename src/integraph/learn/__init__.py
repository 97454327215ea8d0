"""Learning: programs from data.

`identification` finds the quadratic vector field of trajectories; it needs numpy and scipy alone, and scikit-learn for
its estimator.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from integraph.learn.identification.identifier import QuadraticIdentifier as QuadraticIdentifier

_HOMES = {"QuadraticIdentifier": "identification.identifier"}  # loaded when first used: they need extras
__all__ = [*_HOMES]


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
