"""Networks from scikit-learn predict what scikit-learn predicts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends import network
from integraph.targets import Network
from lazy import Lazy
from slow import mostly_slow

compose, datasets, decomposition = Lazy("sklearn.compose"), Lazy("sklearn.datasets"), Lazy("sklearn.decomposition")
linear_model, selection = Lazy("sklearn.linear_model"), Lazy("sklearn.model_selection")
processes, support = Lazy("sklearn.gaussian_process"), Lazy("sklearn.svm")
neural_network, pipeline, scaling = (
    Lazy(f"sklearn.{name}") for name in ("neural_network", "pipeline", "preprocessing")
)

SHAPES = [(1, (3,), 1), (2, (), 1), (5, (7, 3, 9), 2), (20, (4, 8, 16, 8, 2), 3)]


def fit(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations do not converge, and need not
        return model.fit(X, y)


def regressor(hidden: tuple[int, ...] = (6, 4), activation: str = "tanh", **more: Any) -> neural_network.MLPRegressor:
    return neural_network.MLPRegressor(
        hidden_layer_sizes=hidden, activation=activation, max_iter=5, random_state=0, **more
    )


def data(d: int, outputs: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    y = np.sin(X @ rng.normal(size=(d, outputs)))
    return X, y[:, 0] if outputs == 1 else y


def same(net: Network, model: Any, X: np.ndarray, atol: float = 1e-12) -> None:
    expected = model.predict(X)
    np.testing.assert_allclose(net(X), expected.reshape(len(X), -1), rtol=1e-12, atol=atol)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize(("d", "hidden", "outputs"), SHAPES)
def test_regressors(d: int, hidden: tuple[int, ...], outputs: int, activation: str) -> None:
    X, y = data(d, outputs)
    model = fit(regressor(hidden, activation), X, y)
    net = network(model)
    same(net, model, X)
    assert net.inputs == d
    assert net.outputs == outputs
    assert net.source == "scikit-learn MLPRegressor"
    assert net.notes == ()
    if activation != "identity":
        assert net.sizes == (d, *hidden, outputs)
        for layer, weights in zip(net.layers, model.coefs_, strict=True):
            np.testing.assert_array_equal(layer.A, weights.T)


def test_weights_of_float32_are_taken_exactly() -> None:
    X, y = data(3)
    model = fit(regressor(), X.astype(np.float32), y.astype(np.float32))
    assert model.coefs_[0].dtype == np.float32
    net = network(model)
    np.testing.assert_array_equal(net.layers[0].A, model.coefs_[0].T.astype(np.float64))
    np.testing.assert_allclose(net(X)[:, 0], model.predict(X.astype(np.float32)), atol=1e-5)


def test_poisson_loss_ends_in_exp() -> None:
    X, y = data(3)
    model = fit(regressor(loss="poisson"), X, np.exp(y))
    net = network(model)
    assert net.layers[-1].activation == "exp"
    same(net, model, X)


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_give_raw_outputs(classes: int) -> None:
    X, y = data(4)
    labels = np.digitize(y, [0.0] if classes == 2 else [-0.3, 0.3])
    model = fit(neural_network.MLPClassifier((5, 5), max_iter=20, random_state=0), X, labels)
    net = network(model)
    assert net.notes == (
        f"outputs of MLPClassifier are raw: before {'the logistic function' if classes == 2 else 'softmax'}",
    )
    raw = net(X)
    if classes == 2:
        probability = 1 / (1 + np.exp(-raw[:, 0]))
        np.testing.assert_allclose(probability, model.predict_proba(X)[:, 1], rtol=1e-12)
    else:
        odds = np.exp(raw - raw.max(1, keepdims=True))
        np.testing.assert_allclose(odds / odds.sum(1, keepdims=True), model.predict_proba(X), rtol=1e-12)


def test_several_labels_at_once() -> None:
    X, y = data(4, 3)
    model = fit(neural_network.MLPClassifier((5,), max_iter=20, random_state=0), X, (y > 0).astype(int))
    np.testing.assert_allclose(1 / (1 + np.exp(-network(model)(X))), model.predict_proba(X), rtol=1e-12)


SCALERS = {
    "standard": lambda: scaling.StandardScaler(),
    "no mean": lambda: scaling.StandardScaler(with_mean=False),
    "no scale": lambda: scaling.StandardScaler(with_std=False),
    "neither": lambda: scaling.StandardScaler(with_mean=False, with_std=False),
    "min max": lambda: scaling.MinMaxScaler((-1, 3)),
    "max abs": lambda: scaling.MaxAbsScaler(),
    "robust": lambda: scaling.RobustScaler(),
    "robust, no centre": lambda: scaling.RobustScaler(with_centering=False),
    "passthrough": lambda: "passthrough",
}


@pytest.mark.parametrize("name", SCALERS)
def test_scalers_before_the_net(name: str) -> None:
    X, y = data(5)
    model = fit(pipeline.make_pipeline(SCALERS[name](), regressor()), X, y)
    net = network(model)
    same(net, model, X)
    rounded = name in ("standard", "no mean", "max abs", "robust", "robust, no centre")
    assert any("rounded" in note for note in net.notes) == rounded
    assert net.source == "scikit-learn Pipeline"


@pytest.mark.parametrize("name", [name for name in SCALERS if name != "passthrough"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_scalers_of_the_target(name: str, outputs: int) -> None:
    X, y = data(5, outputs)
    model = fit(compose.TransformedTargetRegressor(regressor(), transformer=SCALERS[name]()), X, 50 + 10 * y)
    net = network(model)
    same(net, model, X)
    assert bool(net.notes) == (name == "min max")


def test_everything_at_once() -> None:
    X, y = data(4, 2)
    inner = pipeline.make_pipeline(scaling.StandardScaler(), scaling.MinMaxScaler(), "passthrough", regressor((8, 3)))
    model = fit(
        pipeline.make_pipeline(
            scaling.MaxAbsScaler(), compose.TransformedTargetRegressor(inner, transformer=scaling.StandardScaler())
        ),
        X,
        y,
    )
    same(network(model), model, X)


def test_a_scaling_by_powers_of_two_joins_the_first_layer() -> None:
    X, y = data(3)
    model = fit(pipeline.make_pipeline(scaling.StandardScaler(), regressor((4,))), X, y)
    model[0].mean_[:], model[0].scale_[:] = 0.0, (0.5, 2.0, 8.0)
    net = network(model)
    assert net.sizes == (3, 4, 1)
    assert net.notes == ()
    same(net, model, X)


def test_target_without_transformer() -> None:
    X, y = data(3)
    model = fit(compose.TransformedTargetRegressor(regressor()), X, y)
    same(network(model), model, X)


def test_diabetes() -> None:
    X, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    pipe = pipeline.make_pipeline(
        scaling.StandardScaler(), regressor((32, 16), learning_rate_init=0.01).set_params(max_iter=40)
    )
    model = fit(compose.TransformedTargetRegressor(pipe, transformer=scaling.StandardScaler()), X[:300], y[:300])
    net = network(model)
    found, expected = net(X[300:])[:, 0], model.predict(X[300:])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    r2 = 1 - np.sum((y[300:] - found) ** 2) / np.sum((y[300:] - y[300:].mean()) ** 2)
    assert r2 == pytest.approx(model.score(X[300:], y[300:]), rel=1e-12)
    assert r2 > 0.3, "the net learned something"


def test_wine() -> None:
    X, y = datasets.load_wine(return_X_y=True)
    model = fit(
        pipeline.make_pipeline(
            scaling.StandardScaler(),
            neural_network.MLPClassifier((16,), learning_rate_init=0.01, max_iter=60, random_state=0),
        ),
        X[::2],
        y[::2],
    )
    found = network(model)(X[1::2]).argmax(1)
    np.testing.assert_array_equal(found, model.predict(X[1::2]))
    assert np.mean(found == y[1::2]) == model.score(X[1::2], y[1::2]) > 0.9


def broken(change: Any) -> Any:
    X, y = data(3)
    model = fit(pipeline.make_pipeline(scaling.StandardScaler(), regressor()), X, y)
    change(model)
    return model


def put(array: np.ndarray, value: float) -> None:
    array[...] = value


X3, Y3 = data(3)
REFUSED = {
    "not fitted": (lambda: regressor(), "MLPRegressor is not fitted"),
    "classifier not fitted": (lambda: neural_network.MLPClassifier(), "MLPClassifier is not fitted"),
    "scaler not fitted": (
        lambda: pipeline.make_pipeline(scaling.StandardScaler(), fit(regressor(), X3, Y3)),
        "StandardScaler is not fitted",
    ),
    "target not fitted": (
        lambda: compose.TransformedTargetRegressor(regressor()),
        "TransformedTargetRegressor is not fitted",
    ),
    "another estimator": (
        lambda: linear_model.LinearRegression().fit(X3, Y3),
        "LinearRegression is not a network we read",
    ),
    "another step": (
        lambda: fit(pipeline.make_pipeline(decomposition.PCA(2), regressor()), X3, Y3),
        "the step PCA is not one we read",
    ),
    "no net in the pipeline": (
        lambda: fit(pipeline.make_pipeline(scaling.StandardScaler()), X3, Y3),
        "StandardScaler is not a network",
    ),
    "clipping": (
        lambda: fit(pipeline.make_pipeline(scaling.MinMaxScaler(clip=True), regressor()), X3, Y3),
        "clip=True is not affine",
    ),
    "a function of the target": (
        lambda: fit(compose.TransformedTargetRegressor(regressor(), func=np.exp, inverse_func=np.log), X3, Y3),
        "with func is not read",
    ),
    "a search": (
        lambda: fit(selection.GridSearchCV(regressor(), {"alpha": [1e-4]}, cv=2), X3, Y3),
        "pass its best_estimator_",
    ),
    "NaN weight": (lambda: broken(lambda m: put(m[-1].coefs_[1], np.nan)), r"layer 2.*weight \[0, 0\] is nan"),
    "NaN scale": (lambda: broken(lambda m: put(m[0].scale_, np.nan)), "StandardScaler has .* not finite"),
    "scale 0": (lambda: broken(lambda m: put(m[0].scale_, 0.0)), "StandardScaler divides by 0"),
    "shapes": (lambda: broken(lambda m: m[-1].coefs_.pop(1)), "2 weight matrices and 3 bias vectors"),
    "widths": (lambda: broken(lambda m: m[-1].coefs_.__setitem__(1, np.ones((5, 4)))), "takes 5 values, but 6 come in"),
    "activation": (lambda: broken(lambda m: setattr(m[-1], "activation", "mystery")), "unknown activation 'mystery'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(SourceError, match=message):
        network(make())


def test_a_subclass_of_a_scaler_may_do_anything() -> None:
    mine = type("StandardScaler", (scaling.StandardScaler,), {"transform": lambda self, X, copy=None: np.sin(X)})
    with pytest.raises(SourceError, match="the step StandardScaler is not one we read"):
        network(fit(pipeline.make_pipeline(mine(), regressor()), X3, Y3))


def test_subclasses_are_refused() -> None:
    """Their predict may do anything."""

    class Doubled(neural_network.MLPRegressor):
        def predict(self, X: Any) -> Any:
            return 2 * super().predict(X)

    X, y = data(3)
    model = fit(Doubled(hidden_layer_sizes=(4,), max_iter=20), X, y)
    with pytest.raises(SourceError, match="Doubled is not scikit-learn's own class"):
        network(model)


def test_what_counts_is_what_was_fitted() -> None:
    """Parameters may be set after fit; predict goes by the fitted attributes, and so do we."""
    X, y = data(3)
    model = fit(compose.TransformedTargetRegressor(regressor(), transformer=scaling.StandardScaler()), X, 5 * y + 3)
    model.set_params(transformer=None)
    same(network(model), model, X)
    model = fit(compose.TransformedTargetRegressor(regressor(), func=np.sinh, inverse_func=np.arcsinh), X, y)
    model.set_params(func=None, inverse_func=None)
    with pytest.raises(SourceError, match="with func is not read"):
        network(model)


class Counted:
    """`predict` of an estimator, and at how many points it was called."""

    def __init__(self, model: Any) -> None:
        self.model, self.points = model, 0

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.points += len(X)
        values: np.ndarray = self.model.predict(X)
        return values

    @property
    def n_features_in_(self) -> int:
        count: int = self.model.n_features_in_
        return count


BLACK_BOXES = {
    "a Gaussian process": lambda: processes.GaussianProcessRegressor(processes.kernels.RBF(0.5), alpha=1e-6),
    "support vectors": lambda: support.SVR(C=10, gamma=2.0),
}


@mostly_slow("name", BLACK_BOXES, 1)
def test_a_black_box_is_compiled_from_its_predictions(name: str) -> None:
    """It says itself how many inputs it has; 1,000 calls are allowed for two inputs, about 150 are made."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    model = fit(BLACK_BOXES[name](), X, np.sin(3 * X[:, 0]) * np.exp(-X[:, 1]))
    with pytest.raises(SourceError, match=r"is not a network we read.*; its predict is a function, .*model.predict"):
        integraph.compile(model)
    counted = Counted(model)
    program = integraph.compile(counted.predict, eps=1e-3)
    assert counted.points == program.origin.options["calls"] <= 200
    assert program.budget is None
    points = rng.uniform(size=(500, 2))
    assert np.abs(program(points)[:, 0] - model.predict(points)).max() <= program.seen <= 1e-3
    with pytest.raises(UsageError, match=r"different numbers of inputs: inputs has 3, \w+ has 2"):
        integraph.compile(model.predict, inputs=3)
