"""HDF5 files that are not trusted: hard links, plain numbers, and nothing larger than what the file holds.

HDF5 can point into other files (external links, external storage, virtual data sets), load plug-ins (filters) and
declare arrays far larger than itself. None of that is needed for weights, and all of it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, BinaryIO, Concatenate, ParamSpec, TypeVar

import numpy as np

from integraph.errors import FileError, IntegraphError
from integraph.frontends.extras import need
from integraph.numbers.arrays import Floats

TEXT = 1 << 24  # bytes of one attribute
MEMBERS = 10_000  # links that are followed in one group, all depths together
DEPTH = 64
H5PY = ("h5py", "keras")

P = ParamSpec("P")
T = TypeVar("T")


def _ours(method: Callable[Concatenate[Hdf5Group, P], T]) -> Callable[Concatenate[Hdf5Group, P], T]:
    """What h5py raises on a damaged file, as a FileError."""

    @wraps(method)
    def guarded(group: Hdf5Group, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(group, *args, **kwargs)
        except IntegraphError:
            raise
        except (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError, MemoryError) as reason:
            raise FileError(f"{group.name} is a damaged HDF5 file: {type(reason).__name__}: {reason}") from None

    return guarded


class Hdf5Group:
    """A group of an open file, and how many bytes may still be read."""

    def __init__(self, group: Any, left: list[int], name: str) -> None:
        self.group, self.left, self.name = group, left, name

    def _child(self, path: str) -> Any:
        """The member at `a/b/c`, over hard links only; None if there is none."""
        h5py = need(*H5PY)
        at = self.group
        for part in path.split("/"):
            named = isinstance(at, h5py.Group) and part not in ("", ".", "..")
            link = at.get(part, getlink=True) if named else None  # `part in at` would follow it
            if link is None:
                return None
            if not isinstance(link, h5py.HardLink):
                raise FileError(f"{self.name}: {path!r} is a {type(link).__name__}, which is not followed")
            at = at[part]
        return at

    @_ours
    def open(self, path: str) -> Hdf5Group | None:
        """The group at `path`, or None."""
        h5py = need(*H5PY)
        child = self._child(path)
        return Hdf5Group(child, self.left, self.name) if isinstance(child, h5py.Group) else None

    @_ours
    def text(self, attribute: str) -> str | None:
        """One string that is an attribute of this group."""
        h5py = need(*H5PY)
        if attribute not in self.group.attrs:
            return None
        attribute_id = self.group.attrs.get_id(attribute)
        if (
            attribute_id.shape != ()
            or h5py.check_string_dtype(attribute_id.dtype) is None
            or attribute_id.get_storage_size() > TEXT
        ):
            raise FileError(f"{self.name}: attribute {attribute!r} must be one string of at most {TEXT} bytes")
        value = self.group.attrs[attribute]
        value = value.decode("utf-8") if isinstance(value, bytes) else str(value)
        if len(value) > TEXT:
            raise FileError(f"{self.name}: attribute {attribute!r} is longer than {TEXT} characters")
        return value

    @_ours
    def arrays(self) -> list[str]:
        """Paths of all data sets below, over hard links."""
        h5py = need(*H5PY)
        paths: list[str] = []
        seen = 0
        stack = [("", self.group, 0)]
        while stack:
            prefix, group, depth = stack.pop()
            for key in group:
                seen += 1
                if seen > MEMBERS or depth > DEPTH:
                    raise FileError(f"{self.name}: more than {MEMBERS} members or {DEPTH} levels in one group")
                if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                    continue
                if isinstance(group[key], h5py.Group):
                    stack.append((f"{prefix}{key}/", group[key], depth + 1))
                else:
                    paths.append(prefix + key)
        return paths

    @_ours
    def array(self, path: str) -> Floats | None:
        """The floats at `path` as float64, exactly; None if there are none."""
        h5py = need(*H5PY)
        dataset = self._child(path)
        if not isinstance(dataset, h5py.Dataset):
            return None
        where = f"{self.name}: data set {path!r}"
        if dataset.external or dataset.is_virtual:
            raise FileError(f"{where} keeps its numbers in other files, which are not opened")
        if dataset.id.get_create_plist().get_nfilters():
            raise FileError(f"{where} is compressed, which Keras never does: unpack it with h5repack -f NONE")
        if dataset.shape is None:
            raise FileError(f"{where} is empty")
        if not _plain(dataset.dtype):
            raise FileError(f"{where} holds {dataset.dtype}: weights must be float16, bfloat16, float32 or float64")
        size = int(dataset.dtype.itemsize)
        for axis in dataset.shape:
            size *= int(axis)
        stored = min(int(dataset.id.get_storage_size()), self.left[0])
        if size > stored:
            raise FileError(f"{where} of shape {dataset.shape} needs {size} bytes, the file has {stored} for it")
        self.left[0] -= size
        values = dataset[()]
        return _bfloat16(values) if dataset.dtype.kind == "V" else np.asarray(values, np.float64)


@contextmanager
def opened(source: str | BinaryIO, size: int, name: str) -> Iterator[Hdf5Group]:
    """The root group of a file of `size` bytes."""
    h5py = need(*H5PY)
    try:
        file = h5py.File(source, "r")
    except (OSError, RuntimeError, ValueError, KeyError) as reason:
        raise FileError(f"{name} is not an HDF5 file that can be read: {reason}") from None
    with file:
        yield Hdf5Group(file, [size], name)


def _plain(dtype: np.dtype[Any]) -> bool:
    """float16, float32, float64, or two opaque bytes, which is how bfloat16 is stored."""
    if dtype.kind == "V":
        return dtype.itemsize == 2 and dtype.fields is None and dtype.subdtype is None
    return dtype.kind == "f" and dtype.itemsize in (2, 4, 8)


def _bfloat16(values: Any) -> Floats:
    """The upper half of a float32, exactly."""
    bits = np.asarray(values).view("<u2").astype(np.uint32) << 16
    return bits.view(np.float32).astype(np.float64)
