"""The report of a closed loop: what it says, escaped; pictures as files."""

from __future__ import annotations

from pathlib import Path

import integraph


def test_the_page_says_what_is_proved_and_what_is_open(tmp_path: Path) -> None:
    setting = {
        "plant": {"x": "x + 0.1*v", "v": "v + 0.1*u + 0.1*w"}, "controller": "-x - 2*v", "period": 1, "steps": 9,
        "discrete": True, "start": {"x": (0.4, 0.5), "v": 0.1}, "progress": False, "disturbances": {"w": (-1, 1)},
    }  # fmt: skip
    proved = integraph.loop(**setting, spec="x < 2 always")
    path = integraph.report(proved, tmp_path / "tube.html", figures=tmp_path / "figures", formats=["svg"])
    text = path.read_text()
    assert "A closed loop: proved" in text
    assert "x &lt; 2 always" in text
    assert "w in [-1, 1]" in text
    assert sorted(file.name for file in (tmp_path / "figures").iterdir()) == ["phase.svg", "tube.svg"]
    swing = setting | {"controller": "-x", "steps": 36}  # if it changes, w reaches farther than a constant
    unknown = integraph.loop(**swing, spec="x < 1.6", cells=2)
    assert unknown.answer.value == "unknown"
    text = integraph.report(unknown, tmp_path / "tube.html").read_text()
    assert "Cells that are open" in text
    assert "do not decide" in text
