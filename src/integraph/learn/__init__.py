"""Learning: programs from data.

`identification` finds the quadratic vector field of trajectories; it needs numpy and scipy alone, and scikit-learn for
its estimator. `fine_tuning` trains compiled nets, in jax.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from integraph.learn.fine_tuning.fine_tune import FineTuning as FineTuning
    from integraph.learn.fine_tuning.fine_tune import fine_tune as fine_tune
    from integraph.learn.identification.identifier import QuadraticIdentifier as QuadraticIdentifier

_HOMES = {  # loaded when first used: they need extras
    "FineTuning": "fine_tuning.fine_tune",
    "QuadraticIdentifier": "identification.identifier",
    "fine_tune": "fine_tuning.fine_tune",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
