"""Pictures of every kind, made by hand, names that would like to be code, and a program of one segment."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from integraph import Program, Registers, build, segment
from integraph.gadgets import affine
from integraph.plot.picture import (
    DASHED,
    LINE,
    POINTS,
    STEPS,
    Bars,
    Curve,
    Frame,
    Heat,
    Level,
    Panel,
    Picture,
    Span,
    alone,
)

HOSTILE = (
    "</script><script>window.hit = 1; alert(1)</script><img src=x onerror='window.hit = 2'>"
    "<a href='https://example.org'>&lt;b&gt;</a> %{x} $\\alpha$ \u2028\u2029 </style><!-- ]]>"
)


def everything(name: str = "curve") -> Picture:
    """All marks, and two frames."""
    x = np.linspace(0.0, 1.0, 11)
    gap = np.where(x == 0.5, np.nan, 1 + x)
    styles = tuple(
        Curve(x, gap + n, f"{name} {n}", n, style) for n, style in enumerate(("line", DASHED, STEPS, POINTS))
    )
    z = np.add.outer(x, -2 * x)
    z[3, 4] = np.nan
    panels = (
        Panel(name, name, name, styles, (Span(0.0, 0.5, name), Span(0.5, 1.0, name)), (Level(2.0, name),), log_y=True),
        Panel(name, "x", "y", (Heat(x, x, z, name, diverging=True),)),
        Panel(name, "", "", (Bars((name, "b", "c"), np.array([1.0, np.nan, 2.0]), name),), legend=False),
        Panel(name, "", "", styles, matrix=True, x_ticks=((0.0, name), (1.0, "one")), y_ticks=((0.0, name), (3.0, ""))),
    )
    nothing = Panel("", "", "", (Curve(np.zeros(0), np.zeros(0), name),))
    return Picture("all", name, "", (Frame("first", panels), Frame("second", (nothing,) * 4)), "frame")


def identity(source: str = "gadgets") -> Program:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    return build(r, [segment("copy", affine(z, x, w=1.0))], z, source=source)


def curves(name: str = "source", label: str = "promised ≤ 1e-06") -> Picture:
    x = np.linspace(0.0, 1.0, 301)
    gap = np.where((x > 0.4) & (x < 0.5), np.nan, 1e-7 * np.abs(np.sin(9 * x)) + 1e-12)
    marks = Curve(x, np.sin(3 * x), name), Curve(x, np.sin(3 * x) + 0.01, "program", 1, DASHED)
    levels = Level(1e-6, label), Level(4e-7, "proven ≤ 4e-07")
    wrong = Panel("Difference", "x", "|source − program|", (Curve(x, gap, "difference", 2),), (), levels, log_y=True)
    return alone("error", "Error over the box", "A sentence.", Panel("Values", "x", "f(x)", marks), wrong)


def paths(segments: int = 8, label: str = "segment number", frames: int = 3) -> Picture:
    t = np.linspace(0.0, float(segments), 30 * segments + 1)
    spans = tuple(Span(float(n), n + 1.0, f"{label} {n}") for n in range(segments))
    found = []
    for shift in range(frames):
        marks = tuple(Curve(t, np.sin(t * (n + 1) / 4 + shift), f"z[{n}]", n, LINE, group="z") for n in range(12))
        marks += (Curve(t, np.cos(t + shift), "w", 3, STEPS),)
        low = Panel("", "t", "x", (Curve(t, t + shift, "x"),), spans)
        found.append(Frame(f"x = {shift}", (Panel("", "t", "y", marks, spans), low)))
    return Picture("paths", "Trajectories", "Two sentences. They are short.", tuple(found), "input", stacked=True)


def heats() -> Picture:
    g = np.linspace(0.0, 1.0, 40)
    z = np.sin(3 * g[None]) * g[:, None]
    first, second = Heat(g, g, z, "f(x, y)"), Heat(g, g, z - 0.4, "difference", diverging=True)
    return alone("heat", "Heat maps", "Colours.", Panel("f", "x", "y", (first,)), Panel("d", "x", "y", (second,)))


def matrices(side: int = 30) -> Picture:
    rng = np.random.default_rng(0)
    ticks = tuple((float(n), f"register[{n}]") for n in range(side))
    dots = Curve(*rng.integers(0, side, (2, 80)).astype(float), "positive", 0, POINTS, tuple("term" for _ in range(80)))
    middle = np.arange(side, dtype=float)
    panels = [
        Panel("A", "column", "row", (dots,), matrix=True, x_ticks=ticks, y_ticks=ticks),
        Panel("Q", "column", "row", (Heat(middle, middle, rng.random((side, side)), "terms"),), matrix=True),
    ]
    empty = Panel("A", "column", "row", (), matrix=True, x_ticks=ticks, y_ticks=ticks)
    frames = Frame("first", tuple(panels)), Frame("second", (empty, panels[1]))
    return Picture("sparsity", "Sparsity", "Dots.", frames, "segment", first=1)


def bars(name: str = "largest difference") -> Picture:
    values = np.array([1e-9, 2e-8, 1e-7])
    panel = Panel(
        name, name, name, (Bars(("layer 1", name, "output"), values, name),), (), (Level(1e-6, name),), log_y=True
    )
    return alone("layers", name, name, panel)


def all_kinds() -> list[Picture]:
    return [curves(), paths(), heats(), matrices(), bars()]


def all_hostile() -> list[Picture]:
    """The same with the worst of names wherever there is one."""
    x = np.linspace(0.0, 1.0, 5)
    text = Panel(HOSTILE, HOSTILE, HOSTILE, (Curve(x, x, HOSTILE, 0, LINE, (HOSTILE,) * 5, HOSTILE),), (
        Span(0.0, 1.0, HOSTILE),), x_ticks=((0.0, HOSTILE),), y_ticks=((0.0, HOSTILE),))  # fmt: skip
    heat = Panel(HOSTILE, HOSTILE, HOSTILE, (Heat(x, x, np.outer(x, x), HOSTILE),))
    slid = Picture(HOSTILE, HOSTILE, HOSTILE, (Frame(HOSTILE, (text,)), Frame(HOSTILE + "!", (heat,))), HOSTILE)
    return [curves(HOSTILE, HOSTILE), paths(3, HOSTILE), bars(HOSTILE), slid]


VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Elements in order, their texts, and whether all that was opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.tags[-1][1].get("type"), text))
        elif self.open and self.open[-1] != "style":
            self.texts.append(text)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


def read(path: Path) -> Reader:
    return Reader(path.read_text("utf-8"))
