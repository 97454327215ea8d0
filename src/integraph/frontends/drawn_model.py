"""A model that was drawn on a builder, whatever it was read from: a graph, and a network where it is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from integraph.errors import SourceError
from integraph.frontends.feedforward import Scaling, feedforward
from integraph.frontends.tensor_builder import TensorBuilder
from integraph.frontends.tracer import BUDGET
from integraph.targets import Network
from integraph.targets.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class DrawnModel:
    """`notes` say what was rounded or left out; `budget` and `scalings` are for the recogniser of nets."""

    builder: TensorBuilder
    outputs: Sequence[int]
    notes: tuple[str, ...]
    budget: int = BUDGET
    scalings: Mapping[int, Scaling] = field(default_factory=dict)

    def graph(self) -> Graph:
        graph = self.builder.composer.graph(self.outputs)
        return replace(graph, notes=tuple(dict.fromkeys(self.notes)))

    def network(self, rows: int = 1) -> Network:
        """The net of one row, where the first axis of the input is a batch of `rows`."""
        drawn = self.builder.composer
        if len(self.outputs) > 1:
            raise SourceError(f"{drawn.name} has {len(self.outputs)} outputs: a network has one")
        network = feedforward(
            drawn.nodes, self.outputs[0], drawn.name, self.builder.places.__getitem__, drawn.remarks,
            rows=rows, budget=self.budget, scalings=self.scalings,
        )  # fmt: skip
        return replace(network, notes=tuple(dict.fromkeys((*self.notes, *network.notes))))

    def either(self) -> Network | Graph:
        """The network, or, where it is no feedforward net, the graph."""
        try:
            return self.network()
        except SourceError:
            return self.graph()
