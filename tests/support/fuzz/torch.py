"""PyTorch modules, feedforward nets and graphs, however they are written, against their own values in float64."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

import integraph
from fuzz import judge
from fuzz.judge import Points
from fuzz.kind import FAILS, REFUSED, Outcome
from fuzz.straight import Case, Shape, Step, needed, show, slack, smaller
from fuzz.torch_operations import OPERATIONS, layer
from integraph.api.origin import outputs
from integraph.errors import IntegraphError
from integraph.frontends import ReadOptions, read

BOXES = ((0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0), (0.5, 2.0))
STEPS, POINTS, TRIES, LARGEST = 8, 3, 30, 24
MISREAD = "as was read from it"  # what the reader says if its own trial of the module disagrees


class Written(torch.nn.Module):
    """A case as a module: numbers of a step that are arrays are its parameters."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        dtype = torch.float32 if case.seed % 2 else torch.float64
        for number, step in enumerate(case.steps):
            for place, part in enumerate(step.data):
                if _is_array(part):
                    self.register_parameter(f"w{number}_{place}", torch.nn.Parameter(torch.tensor(part, dtype=dtype)))

    def data(self, number: int) -> list[Any]:
        given = self.case.steps[number].data
        return [getattr(self, f"w{number}_{place}", part) for place, part in enumerate(given)]

    def forward(self, x: Any) -> Any:
        values = [x]
        for number, step in enumerate(self.case.steps):
            values.append(OPERATIONS[step.op].apply(*(values[n] for n in step.args), *self.data(number)))
        return values[self.case.outputs[0]]


def _is_array(part: Any) -> bool:
    """Nested tuples of floats."""
    return isinstance(part, tuple) and bool(part) and (isinstance(part[0], float) or _is_array(part[0]))


def module(case: Case) -> Any:
    """A plain Sequential where that is possible and the seed says so."""
    written = Written(case)
    chain = all(step.args == (n,) for n, step in enumerate(case.steps)) and case.outputs == (len(case.steps),)
    if chain and case.steps and case.seed % 3 == 0:
        found = [layer(step.op, written.data(n)) for n, step in enumerate(case.steps)]
        if all(part is not None for part in found):
            return torch.nn.Sequential(*found).eval()
    return written.eval()


class Torch:
    name = "torch"
    needs = ("torch",)

    def draw(self, rng: np.random.Generator) -> Case:
        shapes: list[Shape] = [(1, int(rng.integers(1, 7)))]
        steps: list[Step] = []
        for _ in range(int(rng.integers(1, STEPS + 1))):
            found = _step(rng, shapes)
            if found is not None:
                steps.append(found[0])
                shapes.append(found[1])
        box, size = BOXES[int(rng.integers(len(BOXES)))], shapes[0][1]
        seed, thorough = int(rng.integers(1 << 30)), bool(rng.random() < 0.2)
        case = Case((shapes[0],), tuple(steps), (len(steps),), (box[0],) * size, (box[1],) * size, seed, thorough)
        return needed(case)

    @judge.guarded
    def check(self, case: Case) -> Outcome:
        with torch.no_grad():
            return _check(case)

    def smaller(self, case: Case) -> Iterator[Case]:
        yield from (candidate for candidate in smaller(case) if _runs(candidate))

    def show(self, case: Case) -> str:
        head = (
            f"import integraph, torch\n# parameters of {'float32' if case.seed % 2 else 'float64'}: each torch.tensor"
        )
        return show(case, OPERATIONS, head, "# the forward of a module, shape {inputs}, box {box}")


def _runs(case: Case) -> bool:
    try:
        with torch.no_grad():
            module(case)(torch.zeros(case.inputs[0]).to(next(iter(module(case).parameters()), torch.zeros(1)).dtype))
    except Exception:  # of whatever kind torch raises
        return False
    return True


def _step(rng: np.random.Generator, shapes: Sequence[Shape]) -> tuple[Step, Shape] | None:
    names = list(OPERATIONS)
    for _ in range(TRIES):
        name = names[int(rng.integers(len(names)))]
        op = OPERATIONS[name]
        last = len(shapes) - 1
        args = tuple(
            last if k == 0 or rng.random() < 0.7 else int(rng.integers(len(shapes))) for k in range(op.operands)
        )
        data = op.draw(rng, [shapes[n] for n in args])
        if data is None:
            continue
        try:
            tensors = [torch.tensor(part) if _is_array(part) else part for part in data]
            shape = tuple(op.apply(*(torch.zeros(shapes[n]) for n in args), *tensors).shape)
        except (RuntimeError, TypeError, IndexError, ValueError):
            continue
        if shape[:1] == (1,) and 0 < math.prod(shape) <= LARGEST and len(shape) <= 4:
            return Step(name, args, data), shape
    return None


def _check(case: Case) -> Outcome:
    made, rng = module(case), np.random.default_rng(case.seed)
    low, high = np.array(case.low), np.array(case.high)
    double = copy.deepcopy(made).double()
    size = case.inputs[0][1]
    try:
        target = read(made, ReadOptions(inputs=size))  # a net, or else a graph
    except IntegraphError as error:
        said = str(error)
        return Outcome(FAILS, f"value: misread, {said}") if MISREAD in said else Outcome(REFUSED, judge.reason(error))
    wanted, given = double(torch.zeros(case.inputs[0], dtype=torch.float64)).numel(), outputs(target)
    if given != wanted:
        return Outcome(FAILS, f"shape: {given} outputs were read, the module has {wanted}")

    def truth(x: Points) -> Points:
        return np.stack([double(torch.tensor(row).reshape(case.inputs[0])).reshape(-1).numpy() for row in x])

    subject = judge.Subject(
        lambda **options: integraph.compile(target, method="exact", box=np.stack([low, high], 1), **options),
        truth,
        lambda x: _slack(case, x),
        low,
        high,
    )
    plan = judge.Plan(judge.engines(case.seed), judge.FREES, search=8) if case.thorough else judge.Plan()
    return judge.judge(subject, judge.points(low, high, POINTS, rng), plan, rng)


def _slack(case: Case, x: Points) -> Points:
    """The steps once more, with numbers as the module holds them."""
    written = Written(case).double()
    steps = tuple(Step(step.op, step.args, tuple(written.data(n))) for n, step in enumerate(case.steps))
    own = Case(case.inputs, steps, case.outputs, case.low, case.high, case.seed)
    return slack(own, OPERATIONS, torch.tensor, x)


KIND = Torch()
