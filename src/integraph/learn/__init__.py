"""Learning: programs from data.

`identification` finds the quadratic vector field of trajectories; it needs numpy and scipy alone, and scikit-learn for
its estimator. `fine_tuning` trains compiled nets, in jax; the rest trains quadratic ODEs on rows of inputs and targets.

Read `quadratic_ode` (the model), `learned_program` (between models and programs), `taylor_steps` (how many a program
needs), `objective` (what a step computes), `training` (the loop around it), `scaling` and `read_out` (what comes before
and after), `estimators` (as scikit-learn has them), `continuation` (of a model that is given), `learning_curves`,
`expressivity`, `fine_tuning`, `identification`.
"""

import importlib
import typing

from integraph.errors import UsageError

if typing.TYPE_CHECKING:
    from integraph.learn.continuation import train as train
    from integraph.learn.estimators import QuadraticODEClassifier as QuadraticODEClassifier
    from integraph.learn.estimators import QuadraticODERegressor as QuadraticODERegressor
    from integraph.learn.expressivity import depth_study as depth_study
    from integraph.learn.fine_tuning.fine_tune import FineTuning as FineTuning
    from integraph.learn.fine_tuning.fine_tune import fine_tune as fine_tune
    from integraph.learn.identification.identifier import QuadraticIdentifier as QuadraticIdentifier
    from integraph.learn.quadratic_ode import QuadraticODE as QuadraticODE

_HOMES = {  # loaded when first used: they need extras
    "FineTuning": "fine_tuning.fine_tune",
    "QuadraticIdentifier": "identification.identifier",
    "QuadraticODE": "quadratic_ode",
    "QuadraticODEClassifier": "estimators",
    "QuadraticODERegressor": "estimators",
    "depth_study": "expressivity",
    "fine_tune": "fine_tuning.fine_tune",
    "train": "continuation",
}
__all__ = [*_HOMES]
EXTRAS = {"equinox": "learn", "jax": "learn", "optax": "learn", "sklearn": "sklearn"}  # of packages that may be missing


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise UsageError(
            f"learn.{name} needs the {package} package: pip install 'integraph[{EXTRAS[package]}]'"
        ) from None
