"""The text of POLAR, which is that of ReachNN and Sherlock with a line for each activation.

One value a line: how many inputs, outputs and hidden layers; the units of each hidden layer; the activation of each
layer, the last one too; then unit by unit its weights and its bias; then an offset and a scale of all outputs, which
are scale · (y − offset).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from integraph.errors import FileError
from integraph.frontends.chain import ActivationLayer, Step, dense, network, scaling
from integraph.frontends.verification.activation_names import canonical
from integraph.frontends.verification.text_lines import NUMBER, TextLines, shown, text
from integraph.targets import Network


def read(path: Path) -> Network:
    lines = TextLines(text(path))
    inputs, outputs = (lines.whole_number(f"the number of {what}") for what in ("inputs", "outputs"))
    hidden = lines.whole_number("the number of hidden layers", 0)
    widths = [lines.whole_number(f"the units of hidden layer {number + 1}") for number in range(hidden)]
    sizes = [inputs, *widths, outputs]
    names = [_activation(lines, number, len(sizes) - 1) for number in range(1, len(sizes))]
    steps: list[Step] = []
    for number, ((takes, units), name) in enumerate(zip(pairwise(sizes), names, strict=True), 1):
        rows = lines.column(f"weights and bias of each unit of layer {number}", units * (takes + 1))
        rows = rows.reshape(units, takes + 1)
        steps.append(dense(rows[:, :-1], rows[:, -1], f"layer {number}"))
        if name != "identity":
            steps.append(ActivationLayer(name, 0.0, units))
    offset, scale = lines.column("the offset and the scale of the outputs", 2)
    lines.end()
    every = np.ones(outputs)
    steps += [
        scaling(every, -offset * every, "the offset of outputs"),
        scaling(scale * every, 0.0 * every, "the scale of outputs"),
    ]
    return network(steps, inputs, f"POLAR file {path.name}", lines.notes)


def _activation(lines: TextLines, number: int, count: int) -> str:
    word = lines.take(f"the activation of layer {number}")
    if NUMBER.fullmatch(word):
        raise FileError(
            f"{lines.where}: expected the activation of layer {number}, got {shown(word)}; a file of ReachNN or "
            f"Sherlock does not name them: insert {count} lines such as ReLU, tanh, sigmoid or Affine here, one for "
            "each layer (and an offset 0 and a scale 1 as the last two lines, if there are none)"
        )
    return canonical(word, lines.where)
