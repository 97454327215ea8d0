"""Flow*: a hybrid system with a clock, one mode for each segment, from the box of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import Equations, equations, start_box
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
CLOCK = "clock"
USED = (CLOCK, "state", "var", "setting", "modes", "jumps", "init", "inv", "ode", "poly", "guard", "reset", "time")
SETTINGS = """  setting
  {{
    adaptive steps {{ min {least!r}, max {most!r} }}
    time {horizon!r}
    remainder estimation 1e-5
    identity precondition
    gnuplot interval {first}, {second}
    adaptive orders {{ min 4, max 10 }}
    cutoff 1e-12
    precision 53
    output {name}
    max jumps {jumps}
    print on
  }}
"""


def write(program: Program, name: str) -> str:
    eq = equations(program, avoid=(*USED, name))
    low, high = start_box(program)
    rest = [0.0] * (len(eq.names) - eq.inputs)
    starts = [f"      {one} in [{a!r}, {b!r}]\n" for one, a, b in zip(eq.names, low + rest, high + rest, strict=True)]
    settings = SETTINGS.format(
        least=min(eq.durations, default=1.0) / 4096,
        most=min(eq.durations, default=1.0) / 16,
        horizon=program.horizon,
        first=CLOCK,
        second=eq.names[-1],
        name=name,
        jumps=max(len(eq.segments) - 1, 0),
    )
    return (
        commented(header(program, name, exact=True), "#")
        + f"hybrid reachability\n{{\n  state var {', '.join((*eq.names, CLOCK))}\n{settings}"
        + f"  modes\n  {{\n{''.join(_mode(eq, number) for number in range(len(eq.segments)))}  }}\n"
        + f"  jumps\n  {{\n{''.join(_jump(eq, number) for number in range(len(eq.segments) - 1))}  }}\n"
        + f"  init\n  {{\n    segment1\n    {{\n{''.join(starts)}      {CLOCK} in [0, 0]\n    }}\n  }}\n}}\n"
    )


def _mode(eq: Equations, number: int) -> str:
    moving = dict(eq.segments[number])
    rows = [f"        {one}' = {NOTATION.sum(moving.get(n, []), eq.names)}\n" for n, one in enumerate(eq.names)]
    head = f"    segment{number + 1}  # {plain(eq.labels[number])}\n    {{\n      poly ode 1\n      {{\n"
    clock = (
        f"        {CLOCK}' = 1\n      }}\n      inv\n      {{\n        {CLOCK} <= {eq.durations[number]!r}\n      }}\n"
    )
    return f"{head}{''.join(rows)}{clock}    }}\n"


def _jump(eq: Equations, number: int) -> str:
    return (
        f"    segment{number + 1} -> segment{number + 2}\n    guard {{ {CLOCK} = {eq.durations[number]!r} }}\n"
        f"    reset {{ {CLOCK}' := 0 }}\n    parallelotope aggregation {{ }}\n"
    )
