"""Identification: systems whose coefficients are known, simulated by DOP853."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.lazy import Lazy, needs

import integraph
from integraph.errors import IntegraphError, SourceError, UsageError
from integraph.learn.identification.identify import Identification, identification
from integraph.learn.identification.roughness import roughness
from integraph.learn.identification.tangents import SLOPES, tangents
from integraph.learn.identification.trajectories import trajectories

sklearn_base = Lazy("sklearn.base")


def simulated(f, x0, times):
    solution = scipy.integrate.solve_ivp(f, (0, times[-1]), x0, t_eval=times, method="DOP853", rtol=1e-13, atol=1e-13)
    return solution.y.T


def lotka_volterra(t, y):
    return [y[0] - 0.5 * y[0] * y[1], -0.75 * y[1] + 0.25 * y[0] * y[1]]


def lorenz(t, y):
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


LOTKA_VOLTERRA = {(0, "x1"): 1.0, (0, "x1*x2"): -0.5, (1, "x2"): -0.75, (1, "x1*x2"): 0.25}
LORENZ = {
    (0, "x1"): -10.0, (0, "x2"): 10.0, (1, "x1"): 28.0, (1, "x2"): -1.0, (1, "x1*x3"): -1.0,
    (2, "x1*x2"): 1.0, (2, "x3"): -8 / 3,
}  # fmt: skip


def wrong(result: Identification, truth: dict[tuple[int, str], float]) -> float:
    """The largest error of a coefficient; infinite where other terms were kept."""
    kept = {
        (i, name): result.coefficients[i, n]
        for i in range(len(result.coefficients))
        for n, name in enumerate(result.features)
        if result.coefficients[i, n]
    }
    return max(abs(kept[place] - truth[place]) for place in truth) if kept.keys() == truth.keys() else np.inf


def noisy(states, level, seed=0):
    return states + level * states.std(0) * np.random.default_rng(seed).standard_normal(states.shape)


@pytest.mark.parametrize(
    ("f", "x0", "T", "dt", "truth", "clean", "rough"),
    [
        pytest.param(lotka_volterra, [4, 2], 20, 0.5, LOTKA_VOLTERRA, 1e-12, 1e-2, marks=pytest.mark.slow),
        pytest.param(lotka_volterra, [4, 2], 40, 0.05, LOTKA_VOLTERRA, 1e-12, 2e-3, marks=pytest.mark.slow),
        pytest.param(lorenz, [-8, 8, 27], 20, 0.05, LORENZ, 1e-11, 0.05, marks=pytest.mark.slow),
        pytest.param(lorenz, [-8, 8, 27], 10, 0.005, LORENZ, 1e-10, 0.1, marks=pytest.mark.slow),
    ],
)
def test_the_terms_are_those_of_the_system(f, x0, T, dt, truth, clean, rough):
    states = simulated(f, x0, np.arange(0, T + dt / 2, dt))
    assert wrong(identification(states, dt), truth) <= clean
    result = identification(noisy(states, 0.01), dt)
    assert wrong(result, truth) <= rough
    assert np.allclose(result.noise, 0.01 * states.std(0), rtol=0.3)


@pytest.mark.slow
def test_standard_errors_say_how_far_coefficients_are_from_the_truth():
    times = np.arange(0, 20.1, 0.5)
    states = simulated(lotka_volterra, [4, 2], times)
    scores = []
    for seed in range(6):
        result = identification(noisy(states, 0.02, seed), 0.5)
        kept = result.coefficients != 0
        truth = np.zeros_like(result.coefficients)
        for (i, name), value in LOTKA_VOLTERRA.items():
            truth[i, result.features.index(name)] = value
        scores.append((result.coefficients - truth)[kept] / result.standard_errors[kept])
    assert 0.4 <= np.sqrt(np.mean(np.concatenate(scores) ** 2)) <= 2.0


@pytest.mark.slow
def test_inputs_are_held_and_times_may_be_uneven():
    random = np.random.default_rng(0)
    u, times, x = random.uniform(-1, 1, 40), np.append(0, np.cumsum(random.uniform(0.05, 0.4, 40))), [1.0]
    for k in range(40):
        gap = times[k + 1] - times[k]
        x.append(
            simulated(lambda t, y, v=u[k]: [-y[0] + 0.5 * y[0] * v - 0.3 * y[0] ** 2 + v], [x[-1]], [0, gap])[-1, 0]
        )
    result = identification(np.array(x), times, inputs=u)
    assert wrong(result, {(0, "x"): -1.0, (0, "x*u"): 0.5, (0, "x^2"): -0.3, (0, "u"): 1.0}) < 1e-10
    assert result.system.source.inputs == ("u",)


@pytest.mark.slow
def test_functions_of_states_are_lifted():
    def pendulum(t, y):
        return [y[1], -9.81 * np.sin(y[0])]

    times = np.linspace(0, 2, 41)
    runs = [simulated(pendulum, x0, times) for x0 in ([1.0, 0.0], [2.0, 0.5])]
    system = integraph.identify(runs, 0.05, states="x, v", functions="sin(x)")
    assert system.formulas == ("sin(x)", "cos(x)")
    ends = system.simulate([1.0, 0.0], times).states[0]
    assert np.abs(ends - runs[0]).max() < 1e-10


@pytest.mark.slow
def test_what_is_no_quadratic_system_shows_in_noise_and_window():
    states = simulated(lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], [2, 0], np.linspace(0, 20, 401))
    with pytest.warns(UserWarning, match=r"does not follow the data: it is off by .* in x2, .* functions='x1\^2'"):
        result = identification(states, 0.05)
    assert result.window <= 8
    assert result.noise.max() > 1e-2
    lifted = identification(states, 0.05, functions="x1^2")
    assert lifted.noise.max() < 1e-10
    later = np.linspace(0, 12, 121)
    truth = simulated(lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], states[-1], later)
    assert np.abs(lifted.system.simulate(states[-1], later).states[0, :, :2] - truth).max() < 1e-9


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_damped_systems_are_found(seed):
    random = np.random.default_rng(seed)
    A = np.where(random.random((2, 2)) < 0.5, random.uniform(0.3, 1, (2, 2)), 0) - 1.5 * np.eye(2)
    q = random.uniform(0.3, 1, 2)

    def f(t, y):
        return [A[0] @ y + q[0] * y[0] * y[1], A[1] @ y + q[1] * y[0] ** 2]

    runs = [simulated(f, random.uniform(-0.6, 0.6, 2), np.arange(0, 3.01, 0.1)) for _ in range(4)]
    truth = {(i, f"x{j + 1}"): A[i, j] for i in range(2) for j in range(2) if A[i, j]}
    assert wrong(identification(runs, 0.1), truth | {(0, "x1*x2"): q[0], (1, "x1^2"): q[1]}) < 1e-7


def test_a_logistic_curve():
    states = simulated(lambda t, y: [y[0] * (1 - y[0])], [0.1], np.arange(0, 6.01, 0.2))
    assert wrong(identification(states, 0.2), {(0, "x"): 1.0, (0, "x^2"): -1.0}) < 1e-11


def test_nothing_moves():
    result = identification(np.ones((12, 2)), 0.1)
    assert not result.coefficients.any()
    assert not result.system.terms


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.0, 0.01])
def test_a_column_that_stands_still_does_not_hide_the_others(level):
    """Its rounding was all that counted, and no term was found."""
    states = noisy(simulated(lotka_volterra, [4, 2], np.arange(0, 20, 0.25)), level)
    for constant in (3.0, 0.0, 1e6):
        result = identification(np.column_stack([states, np.full(len(states), constant)]), 0.25)
        assert wrong(result, LOTKA_VOLTERRA) < (1e-12 if level == 0.0 else 1e-2)


@pytest.mark.slow
def test_a_constant_of_each_trajectory_is_a_rate():
    times, rates = np.arange(0, 4.1, 0.25), (0.3, 0.7, 1.1)
    runs = [
        np.column_stack([simulated(lambda t, y, k=k: [-k * y[0]], [2.0], times), np.full(len(times), k)]) for k in rates
    ]
    assert wrong(identification(runs, 0.25), {(0, "x1*x2"): -1.0}) < 1e-11


@pytest.mark.slow
def test_an_outlier_that_hides_everything_is_named():
    states = simulated(lotka_volterra, [4, 2], np.arange(0, 20, 0.25))
    states[33] = 50.0
    with pytest.warns(UserWarning, match="nothing explains how x1 moves: .* although most samples are smooth"):
        identification(states, 0.25)
    identification(np.random.default_rng(0).normal(size=(100, 2)), 0.25)  # noise: without a word


@pytest.mark.parametrize(
    ("states", "options", "message"),
    [
        (np.array([1.0, 2, np.nan, 4, 5]), {}, "state 1 is nan at sample 3"),
        (np.ones((2, 3)), {}, "at least 4 samples"),
        (np.ones((5, 2, 2)), {}, "a row for each time"),
        ("text", {}, "must be numbers"),
        (np.ones(9), {"dt": 0.0}, "positive step"),
        (np.ones(9), {"dt": np.zeros(9)}, "later than the one before"),
        (np.ones(9), {"dt": np.arange(8.0)}, "as many times"),
        (np.ones(9), {"inputs": np.ones(5)}, "a row for each of the 9 samples"),
        (np.ones((9, 2)), {"states": "x"}, "the data have 2, not 1"),
        (np.ones(9), {"errors": -1}, "0 or more"),
        (np.ones(9), {"errors": np.inf}, "finite number of standard errors"),
        (
            np.arange(18.0).reshape(9, 2) * [1, 1e70],
            {},
            r"largest number of column 2 of data is 1.7e\+71: give it in units",
        ),
        (np.arange(9) * 1e-200, {}, "largest number of data is 8e-200: give it in units"),
        (np.ones(9), {"dt": 1e-200}, "largest number of dt is 1e-200"),
        (np.ones(9), {"inputs": 1e100 * np.ones(9)}, r"largest number of inputs is 1e\+100"),
        (np.ones((9, 2)), {"states": 3}, "states = 3: give names in order"),
        (np.ones(9), {"functions": 3}, "functions = 3: needs formulas of the states"),
        (np.ones(9), {"functions": [np.sin]}, "functions = .*: needs formulas of the states"),
        (np.ones((9, 2)), {"states": "x, 2y"}, "cannot have the name '2y'"),
        (np.ones((9, 2)), {"states": "x, sin"}, "cannot have the name 'sin'"),
        (np.ones(9), {"inputs": np.ones(9), "input_names": "u+1"}, "cannot have the name"),
        ([np.ones((9, 2)), np.ones((9, 3))], {}, "2 and 3 states"),
        (-np.ones(9), {"functions": "ln(x)"}, r"ln\(x\) is nan at .*, a sample"),
        (np.ones(9), {"functions": "abs(x)"}, "kink"),
    ],
)
def test_mistakes_are_named(states, options, message):
    with pytest.raises(IntegraphError, match=message) as raised:
        integraph.identify(states, options.pop("dt", 0.1), **options)
    assert isinstance(raised.value, UsageError | SourceError)


@pytest.mark.parametrize("name", [*SLOPES, "power"])
def test_slopes_are_those_of_finite_differences(name):
    text = "x^(5/2)/x" if name == "power" else f"-y*{name}(x) + x/y"
    expression = integraph.function(text, variables="x, y").expression
    x = np.random.default_rng(0).uniform(0.2, 0.8, (5, 2)) + (1.0 if name == "acosh" else 0.0)
    _values, slopes = tangents(expression, x)
    for n in range(2):
        step = 1e-5 * np.eye(2)[n]
        rise = (tangents(expression, x + step)[0] - tangents(expression, x - step)[0]) / 2e-5
        assert np.allclose(rise, slopes[:, :, n], rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_a_state_that_was_not_measured_is_missed():
    states = simulated(lambda t, y: [y[1], -y[0]], [1, 0], np.arange(0, 6, 0.1))
    noisy = states + 0.01 * np.random.default_rng(0).normal(size=states.shape)
    with pytest.warns(UserWarning, match="in x, whose samples are smooth"):
        integraph.identify(noisy[:, 0], 0.1)
    identification(noisy, 0.1)  # without a word


def test_the_noise_of_samples_is_seen_without_a_model():
    random = np.random.default_rng(0)
    times = np.cumsum(random.uniform(0.02, 0.08, 2000))
    smooth = np.stack([np.sin(times), 0.01 * times**2], 1)
    sizes = np.array([1e-2, 1e-3])
    runs = trajectories(
        [*np.array_split(smooth + sizes * random.normal(size=smooth.shape), 2)], [*np.array_split(times, 2)]
    )
    assert np.abs(roughness(runs) / sizes - 1).max() < 0.08
    assert roughness(trajectories(smooth[:15], times[:15])) is None
    assert (roughness(trajectories(smooth, times)) < 1e-5).all()


@needs("sklearn")
def test_the_estimator_is_one_of_scikit_learn():
    from integraph.learn import QuadraticIdentifier

    states = simulated(lotka_volterra, [4, 2], np.arange(0, 10.1, 0.25))
    model = sklearn_base.clone(QuadraticIdentifier(dt=0.25)).fit(states)
    assert np.abs(model.predict(states) - states[1:]).max() < 1e-10
    assert model.window_ == len(states) - 1
    assert model.score(states) > 1 - 1e-10
    assert np.abs(model.simulate([4, 2], [10.0])[0, 0] - states[-1]).max() < 1e-9
