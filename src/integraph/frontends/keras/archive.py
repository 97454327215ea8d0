"""Members of a zip that is not trusted: read into memory up to a size, never unpacked to disk."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from integraph.errors import FileError

END, END64 = b"PK\x05\x06", b"PK\x06\x07"  # the record that says how long the directory is; its 64-bit form
TAIL = 22 + 65535  # where that record can be: it may be followed by a comment
DIRECTORY = 1 << 20  # bytes of directory that are read: Python keeps ten times as many for it
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OverflowError)
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def members(path: Path, limits: dict[str, int]) -> list[bytes]:
    """The named members, each no larger than its limit."""
    _check_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return [_member(archive, name, limit) for name, limit in limits.items()]
    except FileError:
        raise
    except DAMAGED as reason:
        raise FileError(f"it is a damaged zip: {reason}") from None


def _check_directory(path: Path) -> None:
    """A directory of millions of entries is refused before it is read."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL - 20))
        tail = file.read(TAIL + 20)
    at = tail.rfind(END)
    if at < 0 or len(tail) < at + 22:
        raise FileError("it is a damaged zip: it has no end, perhaps it was not copied whole")
    size = int.from_bytes(tail[at + 12 : at + 16], "little")
    if size > DIRECTORY or END64 in tail[max(0, at - 20) : at]:
        raise FileError(
            f"its zip directory has more than {DIRECTORY} bytes, or is a 64-bit one (zip64): save the model again"
        )


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    members = [info for info in archive.infolist() if info.filename == name]
    if len(members) != 1:
        names = [info.filename for info in archive.infolist()]
        torch = any(member.endswith("data.pkl") for member in names)
        hint = "; it is a PyTorch file, a pickle, which is never opened" if torch else ""
        raise FileError(f"it has {len(members)} members {name!r}, a .keras file has one (found: {names[:5]}){hint}")
    info = members[0]
    if info.compress_type not in PLAIN:
        raise FileError(
            f"its member {name!r} is packed by method {info.compress_type}: only stored and deflated are read"
        )
    if info.file_size > limit:
        raise FileError(f"its member {name!r} has {info.file_size} bytes unpacked, at most {limit} are read")
    with archive.open(info) as file:
        data = file.read(limit + 1)
    if len(data) != info.file_size:
        raise FileError(f"its member {name!r} has {len(data)} bytes, its entry says {info.file_size}")
    return data
