"""The cache of glibc's loader, /etc/ld.so.cache: which file it takes for a name, without loading any.

The form is that of ``struct cache_file_new`` in glibc's sysdeps/generic/dl-cache.h; ldconfig has written it
since glibc 2.2, behind an older one until 2.32.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache

LOADER_CACHE = "/etc/ld.so.cache"
MAGIC = b"glibc-ld.so.cache1.1"
_COUNT = struct.Struct("=I")
_ENTRY = struct.Struct("=iIIIQ")  # flags, name, path, unused, CPU features asked for
_HEADER_BYTES = 48
# The kind of object in the second byte of the flags, so that no 32-bit library is taken in a 64-bit process.
_KINDS = {"x86_64": 0x0300, "aarch64": 0x0A00, "ppc64le": 0x0500}


def machine() -> str:
    """The processor's architecture, "" where the system is not of this kind."""
    return os.uname().machine if hasattr(os, "uname") else ""


def default_folders(arch: str = "") -> tuple[str, ...]:
    """Where the loader looks last: Debian's folders of an architecture (this one's), then the common ones."""
    own = f"{arch or machine()}-linux-gnu"
    return (f"/lib/{own}", f"/usr/lib/{own}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")


def places(name: str, library_path: str, cache: Mapping[str, str]) -> Iterator[str]:
    """Where the loader looks for a name, in its order: LD_LIBRARY_PATH, its cache, its default folders."""
    yield from (os.path.join(folder, name) for folder in library_path.split(":") if folder)
    if name in cache:
        yield cache[name]
    yield from (os.path.join(folder, name) for folder in default_folders())


@lru_cache(maxsize=2)  # who looks for the driver and who follows the loader ask the same
def paths_by_name(data: bytes, arch: str) -> Mapping[str, str]:
    """What the loader of a process of an architecture takes for each name, empty for no cache.

    Entries for processors with more features than the base are left out.
    """
    start = data.find(MAGIC)
    if start < 0 or len(data) < start + _HEADER_BYTES:
        return {}
    table = memoryview(data)[start:]
    (count,) = _COUNT.unpack_from(table, len(MAGIC))
    count = min(count, (len(table) - _HEADER_BYTES) // _ENTRY.size)
    entries = table[_HEADER_BYTES : _HEADER_BYTES + count * _ENTRY.size]
    kind = _KINDS.get(arch)
    found: dict[str, str] = {}
    for flags, name, path, _, features in _ENTRY.iter_unpack(entries):
        if not features and kind in (None, flags & 0xFF00):
            found.setdefault(_text(data, start + name), _text(data, start + path))
    found.pop("", None)
    return found


def _text(data: bytes, at: int) -> str:
    """The text up to the next zero byte; "" for a place outside."""
    end = data.find(b"\0", at)
    return data[at:end].decode("utf-8", "replace") if end >= 0 else ""
