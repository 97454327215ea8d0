"""`.nnet`, the text of the ACAS Xu networks (Stanford, Reluplex): dense layers with ReLU, the last one linear.

The file has a line of sizes, the sizes of all layers, a flag without meaning, then the least and the largest value, the
mean and the range of every input, with one more mean and range for all outputs, and for each layer the rows of its
weights and its biases. Inputs are normalised as (x − mean) / range, outputs scaled back as range · y + mean.

The reference readers clip inputs to the least and largest values. That is not part of the net here: both agree on the
box of these values, which is the network's own, and `compile` takes it where no other is given. Files of nets that are
not normalised have a single 0 in each of these lines.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from integraph.errors import FileError
from integraph.frontends.chain import ActivationLayer, Step, dense, division, network, scaling
from integraph.frontends.verification.text_lines import TextLines, text
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.targets import Network
from integraph.text import counted

CLIPPED = "inputs are not clipped to the least and largest values of the file: these are the default box"
EMPTY = "the least and largest values of the inputs are not a box: give one"
UNSCALED = "the lines of means and ranges are a single 0: nothing is normalised"


def read(path: Path) -> Network:
    lines = TextLines(text(path))
    while lines.starts_with("//"):
        lines.take("a comment")
    sizes = _sizes(lines)
    lines.floats("the flag that is not used", 1)
    low, high = (_scaling(lines, f"the {which} value of each input", sizes[0]) for which in ("least", "largest"))
    mean, spread = (
        _scaling(lines, f"the {which} of each input and that of the outputs", sizes[0] + 1)
        for which in ("mean", "range")
    )
    notes = lines.notes
    if mean is None and spread is None:
        notes.append(UNSCALED)
        mean, spread = np.zeros(sizes[0] + 1), np.ones(sizes[0] + 1)
    if mean is None or spread is None or not spread.all():
        raise FileError(
            f"{lines.where}: a range is 0 or missing, and is divided by: where nothing is to be scaled it is 1"
        )
    normalisation = division(mean[:-1], spread[:-1], "the normalisation of inputs", notes)
    rescaling = scaling(np.full(sizes[-1], spread[-1]), np.full(sizes[-1], mean[-1]), "the scaling of outputs")
    steps = [normalisation, *_layers(lines, sizes), rescaling]
    lines.end()
    box = None if low is None or high is None or not (low < high).all() else Interval(low, high)
    notes.append(EMPTY if box is None else CLIPPED)
    return replace(network(steps, sizes[0], f"NNet file {path.name}", notes), box=box)


def _scaling(lines: TextLines, expected: str, count: int) -> Floats | None:
    """The next line, as so many numbers, or a single 0, which stands where nothing is to be said."""
    return None if count > 1 and lines.skip("0", "0,") else lines.floats(expected, count)


def _sizes(lines: TextLines) -> list[int]:
    """Of the input and of every layer."""
    count, inputs, outputs, _ = lines.whole_numbers("how many layers, inputs, outputs, units in the largest layer", 4)
    sizes = lines.whole_numbers(f"the number of inputs and of units in each of the {count} layers", count + 1)
    if (sizes[0], sizes[-1]) != (inputs, outputs):
        raise FileError(
            f"{lines.where}: the sizes are from {sizes[0]} to {sizes[-1]}, but the line before says "
            f"{counted(inputs, 'input')} and {counted(outputs, 'output')}"
        )
    return sizes


def _layers(lines: TextLines, sizes: list[int]) -> list[Step]:
    steps: list[Step] = []
    for number, (inputs, units) in enumerate(pairwise(sizes), 1):
        weights = lines.rows(f"the weights of a unit of layer {number}", units, inputs)
        biases = lines.rows(f"the bias of a unit of layer {number}", units, 1).ravel()
        steps.append(dense(weights, biases, f"layer {number}"))
        if number < len(sizes) - 1:
            steps.append(ActivationLayer("relu", 0.0, units))
    return steps
