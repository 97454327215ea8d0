"""XML from anywhere: entities, depth, size, encodings."""

from __future__ import annotations

from pathlib import Path

import pytest

import sbml_models as m
from integraph.errors import FileError, SourceError
from integraph.frontends.dynamics import read_system
from integraph.frontends.dynamics.sbml.xml_text import check_xml

LAUGHS = '<!DOCTYPE s [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><s>&b;</s>'
EXTERNAL = '<!DOCTYPE s [<!ENTITY secret SYSTEM "file:///etc/hostname">]><s>&secret;</s>'


@pytest.mark.parametrize("text", [LAUGHS, EXTERNAL, '<!DOCTYPE s SYSTEM "http://127.0.0.1:9/s.dtd"><s/>'])
def test_document_types_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(text)
    with pytest.raises(SourceError, match="entities are not expanded"):
        read_system(path)


def test_depth_size_and_encoding(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="more than 300 deep"):
        check_xml("<a>" * 100_000, "m.xml")
    with pytest.raises(SourceError, match="no XML"):
        check_xml("<a><b></a>", "m.xml")
    with pytest.raises(SourceError, match="save it as UTF-8"):
        check_xml('<?xml version="1.0" encoding="ISO-8859-1"?><a/>', "m.xml")
    path = tmp_path / "m.xml"
    path.write_bytes(m.HEAD.replace(">", "/>").encode("utf-16"))
    with pytest.raises(FileError, match="not text in UTF-8"):
        read_system(path)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    with path.open("wb") as file:
        file.truncate(100_000_000)  # a file with a hole
    with pytest.raises(FileError, match="more than 10,000,000 bytes"):
        read_system(path)
