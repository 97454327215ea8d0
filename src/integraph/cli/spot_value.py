"""One value for a first look: program and source at the centre of the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from integraph.cli.points import input_names
from integraph.errors import IntegraphError

if TYPE_CHECKING:
    from integraph import Program
    from integraph.frontends import Target
    from integraph.numbers.arrays import Floats
    from integraph.numbers.intervals import Interval

SHOWN = 4  # inputs and outputs that are written out


@dataclass(frozen=True)
class SpotValue:
    """What was seen there, as data and in words."""

    data: dict[str, Any]
    text: str


def centre(program: Program, target: Target, box: Interval) -> SpotValue:
    """Both values and their difference; or why there is none."""
    import numpy as np

    x = 0.5 * box.low + 0.5 * box.high
    named = [f"{name} = {value!r}" for name, value in zip(input_names(program), x.tolist(), strict=True)]
    where = f"at {_some(named) or 'no input'}"
    data: dict[str, Any] = {"x": x, "program": None, "source": None, "difference": None}
    try:
        own = data["program"] = program(x[None])[0]
        text = f"{where}: {_some([repr(value) for value in own.tolist()])}"
        wanted = data["source"] = _value(target, x)
    except IntegraphError as error:
        return SpotValue(data, f"{where}: no value: {error}")
    if wanted is None:
        return SpotValue(data, text)
    data["difference"] = float(np.abs(own - wanted).max(initial=0.0))
    there = _some([repr(value) for value in wanted.tolist()])
    return SpotValue(data, f"{text}\n{' ' * (len(where) - 6)}source: {there}, difference {data['difference']:.2g}")


def _value(target: Target, x: Floats) -> Floats | None:
    import numpy as np

    from integraph.api.origin import values
    from integraph.errors import SourceError

    evaluate = values(target)
    if evaluate is None:
        return None
    with np.errstate(all="ignore"):
        value: Floats = evaluate(x[None])[0]
    if not np.isfinite(value).all():
        raise SourceError("the source is not finite there")
    return value


def _some(texts: list[str]) -> str:
    return ", ".join(texts[:SHOWN]) + f", … ({len(texts)})" * (len(texts) > SHOWN)
