"""MATLAB files of version 7.3, which are HDF5, not trusted: a cell is an array of references, text an array of codes.

Arrays are stored with their axes in reverse order. What the HDF5 library itself packed is unpacked, to at most LARGEST
bytes; links, external files, virtual data sets, filters that load plug-ins, and objects are refused.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from integraph.errors import FileError, IntegraphError, UsageError
from integraph.frontends.extras import need
from integraph.frontends.keras.hdf5 import H5PY, opened
from integraph.frontends.verification.mat_level5 import CELLS, DEPTH, LARGEST
from integraph.text import clean

CLASS = "MATLAB_class"
NUMBERS = ("double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32")
FILTERS = (1, 2, 3)  # deflate, shuffle, checksum
DAMAGED = (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, OverflowError, UnicodeError)


def variables(path: Path, wanted: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """As of a file of level 5: what is wanted, and the names of all other variables."""
    try:
        need(*H5PY)
    except UsageError as error:
        raise UsageError(f"{error}; or save it with -v7, which needs no package") from None
    with opened(os.fspath(path), path.stat().st_size, "the file") as root:
        try:
            return _variables(root.group, wanted)
        except IntegraphError:
            raise
        except DAMAGED as reason:
            raise FileError(f"it is a damaged HDF5 file: {type(reason).__name__}: {reason}") from None


def _variables(root: Any, wanted: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    h5py, reader = need(*H5PY), Hdf5Variables(wanted)
    values: dict[str, Any] = {}
    others: list[str] = []
    for name in root:
        linked = isinstance(root.get(name, getlink=True), h5py.HardLink)
        if name in wanted or (linked and _class(root[name]) == "struct"):
            values[name] = reader.member(root, name, clean(name), DEPTH)
        elif not name.startswith("#"):
            others.append(clean(name))
    return values, others


class Hdf5Variables:
    """Values of an open file, and how many bytes may still be read."""

    def __init__(self, wanted: Collection[str]) -> None:
        self.wanted, self.left = wanted, LARGEST

    def member(self, group: Any, name: str, where: str, depth: int) -> Any:
        """What a group has under a name, over a hard link only."""
        link = group.get(name, getlink=True)
        if not isinstance(link, need(*H5PY).HardLink):
            raise FileError(f"{where} is a {type(link).__name__}, which is not followed")
        return self.value(group[name], where, depth)

    def value(self, item: Any, where: str, depth: int) -> Any:
        h5py, kind = need(*H5PY), _class(item)
        if not depth:
            raise FileError(f"{where} is nested deeper than {DEPTH} levels, which no net is")
        if kind == "struct" and isinstance(item, h5py.Group):
            fields = [name for name in item if name in self.wanted]
            return {name: self.member(item, name, f"{where}.{name}", depth - 1) for name in fields}
        if kind not in ("cell", "char", *NUMBERS) or not isinstance(item, h5py.Dataset):
            raise FileError(f"{where} is of class {clean(kind)!r}: read are numbers, text, cells and structures")
        stored = self._array(item, where, h5py)
        if kind == "cell":
            references = stored.T.ravel(order="F").tolist()
            if len(references) > CELLS:
                raise FileError(f"{where} is a cell of {len(references)} entries, at most {CELLS} are read")
            return [
                self.value(item.file[reference], f"{where}{{{number}}}", depth - 1)
                for number, reference in enumerate(references, 1)
            ]
        if kind == "char":
            return ["".join(map(chr, row)).rstrip() for row in np.atleast_2d(stored.T).tolist()]
        return stored.T.astype(np.float64)

    def _array(self, item: Any, where: str, h5py: Any) -> Any:
        """The array as it is stored, after a look at what reading it would do."""
        settings = item.id.get_create_plist()
        filters = [settings.get_filter(number)[0] for number in range(settings.get_nfilters())]
        if item.external or item.is_virtual or not set(filters) <= set(FILTERS):
            raise FileError(f"{where} is kept in other files or packed by a plug-in, which is not opened")
        plain = item.dtype == h5py.ref_dtype if _class(item) == "cell" else item.dtype.kind in "iuf"
        if item.shape is None or not plain or "MATLAB_empty" in item.attrs:
            raise FileError(f"{where} is empty, or holds {item.dtype}: expected an array")
        size = item.dtype.itemsize
        for axis in item.shape:
            size *= int(axis)
        if size > self.left:
            raise FileError(f"{where} makes it more than {LARGEST} bytes to read: convert the net to .onnx")
        self.left -= size
        return item[()]


def _class(item: Any) -> str:
    """MATLAB's name of what an item is."""
    name = item.attrs.get(CLASS, "")
    return name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
