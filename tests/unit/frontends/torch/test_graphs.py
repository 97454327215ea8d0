"""PyTorch modules read as graphs, against the modules themselves in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends import torch as reader
from integraph.targets import Network
from integraph.targets.graph import Graph
from lazy import framework
from slow import mostly_slow
from torch_graphs import MODULES, OPERATIONS, check, encoder, lenet, nn, of, outputs, residual, shapes_of, torch
from torch_modules import Forward, Traced, linear, mlp

pytestmark = pytest.mark.usefixtures("seeded_torch")


@mostly_slow("name", OPERATIONS, quick=4)
def test_operations(name: str) -> None:
    forward, shape = OPERATIONS[name]
    check(of(forward), shape)


@mostly_slow("name", MODULES, quick=2)
def test_modules(name: str) -> None:
    make, inputs = MODULES[name]
    check(make(), inputs)


COMPILED = (
    "residual blocks with gates and norms", "multi-head attention", "causal encoder layer with places", "LeNet", "LSTM",
)  # fmt: skip


@mostly_slow("name", COMPILED, quick=1)
def test_compiled(name: str) -> None:
    make, inputs = MODULES[name]
    module = make()
    smooth = "encoder" not in name  # which has a ReLU
    program = integraph.compile(module, eps=None if smooth else 1e-4, inputs=inputs)
    x = np.random.default_rng(1).uniform(size=(5, program.inputs))
    wanted = outputs(module, x, shapes_of(inputs))
    np.testing.assert_allclose(program(x), wanted, rtol=0, atol=1e-12 if smooth else 1e-4)


@pytest.mark.slow
def test_a_net_trained_on_digits() -> None:
    """Images of 8×8 from scikit-learn: a small convolutional net, trained here."""
    datasets = framework("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    x = torch.tensor(images / 16).reshape(-1, 1, 8, 8)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 3), nn.GELU(),
        nn.Flatten(), nn.Linear(32, 10), nn.LogSoftmax(-1),
    ).double()  # fmt: skip
    optimiser = torch.optim.Adam(net.parameters(), 0.02)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        loss = nn.functional.nll_loss(net(x), torch.tensor(labels))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    program = integraph.compile(net, inputs=(1, 8, 8))
    points = images[:200] / 16
    given = program(points)
    np.testing.assert_allclose(given, outputs(net, points, [(1, 8, 8)]), rtol=0, atol=1e-12)
    assert (given.argmax(1) == labels[:200]).mean() > 0.9


@pytest.mark.slow
def test_a_net_stays_a_net() -> None:
    module = Traced(mlp(3, (4, 2), nn.Tanh))
    either, graph = reader.read_either(module), reader.read_graph(module)
    assert isinstance(either, Network)
    assert isinstance(graph, Graph)
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(either(x), graph.values(x), rtol=0, atol=1e-14)
    assert integraph.compile(module).origin.method == "narrow"


@pytest.mark.slow
def test_what_is_no_net_is_a_graph() -> None:
    module = residual()
    assert isinstance(reader.read_either(module), Graph)
    assert integraph.compile(module).origin.method == "exact"
    with pytest.raises(SourceError, match="no part of a feedforward net"):
        integraph.compile(module, method="narrow")


@mostly_slow("inputs", [4, (4,), [4], [(4,)]], quick=2)
def test_one_vector_however_it_is_said(inputs: Any) -> None:
    assert reader.read(linear(4, 2), inputs).inputs == 4


@pytest.mark.slow
def test_a_sequence_comes_without_a_batch_axis() -> None:
    """With batch_first=False the first axis of three is time, and of two too."""
    graph = check(encoder(batch_first=False), (5, 8), batch=False)
    assert any("without a batch axis" in note for note in graph.notes)


def test_shapes_that_are_not_told() -> None:
    for module, wanted in (
        (lenet(), "inputs=(1, H, W)"),
        (nn.Conv1d(3, 2, 3), "inputs=(3, W)"),
        (nn.LSTM(3, 4), "inputs=(T, 3)"),
        (encoder(), "inputs=(T, 8)"),
        (nn.Sequential(nn.Linear(3, 8), encoder()), "inputs=(T, 3)"),
    ):
        with pytest.raises(SourceError) as caught:
            integraph.compile(module)
        assert wanted in str(caught.value)
        assert caught.value.argument == "inputs"
    with pytest.raises(SourceError, match="query, key, value"):
        integraph.compile(nn.MultiheadAttention(8, 2), inputs=(5, 8))


@pytest.mark.parametrize("inputs", [0, -1, 2.5, True, "3", (), (0, 3), [(2,), 3], [(2, "x")], (1 << 20, 2)])
def test_bad_inputs(inputs: Any) -> None:
    with pytest.raises(UsageError) as caught:
        reader.read_graph(linear(), inputs)
    assert caught.value.argument == "inputs"


def test_the_fast_path_is_as_before() -> None:
    torch.backends.mha.set_fastpath_enabled(True)
    reader.read_graph(encoder(), (2, 8))
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.slow
def test_precision_of_rms_norm() -> None:
    """eps is that of the module's own type."""
    module = nn.RMSNorm(4)
    assert any("eps is that of torch.float32" in note for note in reader.read_graph(module, 4).notes)


REFUSED: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "argmax": (lambda x: x.argmax(-1), 4, ("op 1 aten.argmax", ".py line", "by the data", "choose outside")),
    "sort": (lambda x: x.sort()[0], 4, ("aten.sort", "by the data")),
    "floor": (lambda x: torch.floor(x), 4, ("aten.floor", "it jumps", "around the compiled part")),
    "comparison": (lambda x: torch.where(x > 0, x, 2 * x), 4, ("aten.gt", "chosen by the data", "torch.maximum")),
    "places of maxima": (lambda x: x.max(-1)[1].double(), 4, ("places of the largest entries",)),
    "a jump": (lambda x: nn.functional.threshold(x, 0.1, 0.0), 4, ("jumps from 0 to 0.1",)),
    "no row": (lambda x: torch.softmax(x + x.new_full((4,), -torch.inf), -1), 4, ("aten.softmax", "keep at least one")),
    "−∞ without a softmax": (
        lambda x: x.masked_fill(torch.arange(4) > 1, -torch.inf), 4, ("masks with −∞", "only a softmax")
    ),
    "Bessel": (lambda x: torch.special.i0(x), 4, ("aten.i0", "not supported", "write it with these")),
    "few entries": (lambda x: x.var(-1), (3, 1), ("divides by 1 − 1",)),
    "uneven maxima": (lambda x: nn.functional.adaptive_max_pool1d(x, 3), (2, 7), ("different sizes",)),
}  # fmt: skip


@mostly_slow("name", REFUSED, quick=1)
def test_refused(name: str) -> None:
    forward, shape, wanted = REFUSED[name]
    with pytest.raises(SourceError) as caught:
        reader.read_graph(of(forward), shape)
    for part in wanted:
        assert part in str(caught.value), caught.value


@pytest.mark.slow
def test_tokens_are_no_inputs() -> None:
    with pytest.raises(SourceError, match="make the tokens a buffer"):
        reader.read_graph(nn.Embedding(5, 3), 3)


@pytest.mark.slow
def test_rows_that_see_each_other() -> None:
    module = Forward(lambda m, x: m.l(x - x.mean(0)), l=linear())
    with pytest.raises(SourceError, match="rows of a batch see each other"):
        reader.read_graph(module, 3)
