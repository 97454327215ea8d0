"""What `certificate` writes passes the check: random plants, activations, limits, scalings and disturbances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import integraph
from integraph.certify.loops.spec import Answer
from integraph.targets.network import Network, from_layers

KINDS = ("tanh", "sigmoid", "relu", "leaky_relu", "silu", "gelu", "softplus")
TERMS = ("sin({0})*{1}", "{0}*{1}", "{0}^2", "-{0}", "exp(-{0}^2)", "1/(2+{0}^2)", "tanh({0})-{1}", "sqrt(3+{0}*{1})")


def controller(rng: np.random.Generator, d: int, kind: str) -> Network:
    gain, width = float(rng.choice([0.5, 1.0, 2.0])), int(rng.integers(4, 20))
    return from_layers(
        [
            (rng.normal(size=(width, d)), rng.normal(size=width) / 2, kind),
            (1.4 * rng.normal(size=(width, width)) / np.sqrt(width), 0.3 * rng.normal(size=width), kind),
            (gain * rng.normal(size=(1, width)) / np.sqrt(width), 0.1 * rng.normal(size=1), None),
        ]
    )


def setting(seed: int, kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    names = [f"x{n}" for n in range(int(rng.integers(2, 4)))]
    width, lows = float(rng.choice([0.0, 0.02, 0.1, 0.3])), rng.uniform(-0.6, 0.6, len(names))

    def term() -> str:
        return f"({rng.normal():.2f})*" + str(rng.choice(TERMS)).format(*rng.choice(names, 2))

    plant = {name: f"{term()} + {term()} - {name}^3" for name in names}
    plant[names[-1]] += " + u"
    more: dict[str, Any] = {}
    if rng.uniform() < 0.5:
        more["limits"] = (-0.4, 0.4)
    if rng.uniform() < 0.3:
        more["disturbances"] = {"w": (-0.02, 0.02)}
        plant[names[0]] += " + w"
    if rng.uniform() < 0.3:
        more |= {"scale": 2.0, "offset": 0.3}
    return {
        "plant": plant, "controller": controller(rng, len(names), kind), "period": float(rng.choice([0.1, 0.2, 0.5])),
        "steps": int(rng.integers(2, 10)), "start": {n: (low, low + width) for n, low in zip(names, lows, strict=True)},
        "spec": "x0 <= 50", **more,
    }  # fmt: skip


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
@settings(max_examples=15, deadline=None)
def test_certificates_pass_the_check(seed: int, kind: str) -> None:
    result = integraph.loop(**setting(seed, kind), cells=1, seconds=10, progress=False)
    if result.answer is Answer.PROVED:
        checked = integraph.check(result.certificate(workers=1), result, workers=1)
        assert checked, checked.reason


@pytest.mark.slow
def test_limits_among_the_states() -> None:
    """Where a limit is reached by some states the sets of the checker are wider: boxes are made around those."""
    rng = np.random.default_rng(53)
    net = controller(rng, 2, "tanh")
    result = integraph.loop(
        {"x": "v", "v": "-sin(x) - 0.5*v + u"}, net, period=0.5, steps=10, limits=(-0.3, 0.3), spec="x <= 50",
        start={"x": (0.5, 0.6), "v": (0.1, 0.2)}, progress=False,
    )  # fmt: skip
    assert result.answer is Answer.PROVED
    assert integraph.check(result, result)
