"""Pictures as files: real images, text that stays text, the same bytes each time, and names that try to do harm."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph import Registers, build, segment
from integraph.errors import FileError, UsageError
from integraph.gadgets import affine, product
from integraph.plot import matplotlib_renderer, pictures, plot, subject
from integraph.plot.picture import (
    Curve,
    Heat,
    Panel,
    alone,
)
from lazy import Lazy
from report_pages import everything
from slow import mostly_slow

HOSTILE = "$\\frac{1}{ </script><b>&amp; \x00\x1b[31m\n ψ 中"

image_files = Lazy("matplotlib.image")


def size(path: Path) -> tuple[int, ...]:
    return image_files.imread(path).shape


@mostly_slow("stacked", [False, True], quick=1)
def test_png_is_an_image_with_something_on_it(tmp_path: Path, stacked: bool) -> None:
    picture = alone("one", "One", "", *everything().frames[0].panels[:2], stacked=stacked)
    image = image_files.imread(matplotlib_renderer.save(picture, tmp_path / "one.png"))
    wide, high = (9.0, 6.3) if stacked else (10.8, 5.1)
    assert image.shape[:2] == (round(160 * high), round(160 * wide))
    colours = (255 * image[..., :3]).astype(np.int64) @ [1, 256, 65536]
    assert len(np.unique(colours)) > 100
    assert 0.02 < (image[..., :3].min(2) < 0.9).mean() < 0.9  # neither blank nor black


def test_curves_are_where_they_should_be(tmp_path: Path) -> None:
    x = np.linspace(0.0, 1.0, 11)
    flat = alone("flat", "", "", Panel("", "", "", (Curve(x, x, "up"),), legend=False))
    image = image_files.imread(matplotlib_renderer.save(flat, tmp_path / "flat.png"))[..., :3]
    blue = (image[..., 2] - image[..., 0] > 0.4).nonzero()
    assert np.corrcoef(blue[0], blue[1])[0, 1] < -0.999  # rows count from the top


@pytest.mark.slow
def test_svg_keeps_its_words(tmp_path: Path) -> None:
    integraph.compile("sin(3*x)*exp(-y)", 1e-2, method="lean").plot("trajectory", tmp_path / "way.svg")
    root = ElementTree.parse(tmp_path / "way.svg").getroot()
    words = {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"time", "x", "acc", "sum"} <= words


@pytest.mark.slow
def test_pdf_is_one(tmp_path: Path) -> None:
    found = matplotlib_renderer.save(everything(), tmp_path / "all.pdf").read_bytes()
    assert found.startswith(b"%PDF-")
    assert found.rstrip().endswith(b"%%EOF")
    assert b"CreationDate" not in found


@pytest.mark.slow
@pytest.mark.parametrize("kind", matplotlib_renderer.FORMATS)
def test_the_same_picture_gives_the_same_bytes(tmp_path: Path, kind: str) -> None:
    one, two = (matplotlib_renderer.save(everything(), tmp_path / f"{n}.{kind}").read_bytes() for n in "ab")
    assert one == two


@mostly_slow("kind", matplotlib_renderer.FORMATS, quick=1)
def test_hostile_names_are_only_names(tmp_path: Path, kind: str) -> None:
    path = matplotlib_renderer.save(everything(HOSTILE), tmp_path / f"evil.{kind}")
    if kind == "svg":
        root = ElementTree.parse(path).getroot()  # no control characters, or this is an error
        assert not [node for node in root.iter() if node.tag.endswith("script")]
        words = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert any("$\\frac{1}{" in word and "</script>" in word for word in words)


@pytest.mark.slow
def test_hostile_names_in_a_program(tmp_path: Path) -> None:
    r = Registers()
    x, z = r.inputs(HOSTILE, 2), r.new("$_$", 2)
    blocks = affine(z, x, w=2.0), product(z, x, x)
    program = build(r, [segment(HOSTILE, *blocks)], z, source=HOSTILE)
    found = pictures(subject(program))
    assert [picture.name for picture in found] == ["error", "trajectory", "sparsity", "rates"]
    for picture in found:
        for frame in range(len(picture.frames)):
            assert size(matplotlib_renderer.save(picture, tmp_path / f"{picture.name}.png", frame))


@pytest.mark.parametrize("name", ["picture", "picture.jpg", "picture.html", "picture.png.txt"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"written as \.png, \.svg, \.pdf"):
        matplotlib_renderer.save(everything(), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_frames_are_chosen_by_number(tmp_path: Path) -> None:
    first, second = (matplotlib_renderer.save(everything(), tmp_path / f"{n}.png", n).read_bytes() for n in (0, 1))
    assert first != second
    assert matplotlib_renderer.save(everything(), tmp_path / "default.png").read_bytes() == first
    for wrong in (2, -1, True, "1"):
        with pytest.raises(UsageError, match="has 2 frames, 0 … 1"):
            matplotlib_renderer.draw(everything(), wrong)


@pytest.mark.slow
def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = matplotlib_renderer.save(everything(), tmp_path / "old.png")
    before = path.read_bytes()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(FileError, match="No space left"):
        matplotlib_renderer.save(everything("other"), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["old.png"]


def test_a_missing_folder_is_explained(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot write"):
        plot(integraph.compile("x*x"), "trajectory", tmp_path / "no" / "folder.png")


@mostly_slow("z", [np.full((3, 3), np.nan), np.zeros((3, 3)), np.full((3, 3), 1e300)], quick=2, ids=["nan", "0", "big"])
def test_flat_and_empty_maps(tmp_path: Path, z: np.ndarray) -> None:
    map_ = alone("map", "Map", "", Panel("", "x", "y", (Heat(np.arange(3.0), np.arange(3.0), z, "z"),)))
    assert size(matplotlib_renderer.save(map_, tmp_path / "map.png"))
