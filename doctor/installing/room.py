"""What the place of an environment must offer: room, and the right to write and to run there."""

from __future__ import annotations

from typing import NamedTuple

from doctor.host import Host
from doctor.installing.tools import refused

GB = 10**9


class Need(NamedTuple):
    """Bytes of a whole stack: what pip or uv fetches, and what lies on the disk afterwards."""

    fetched_bytes: int
    installed_bytes: int


# Measured on Linux x86_64, November 2026. CPU: torch 2.13.0+cpu and 50 packages with their byte code. CUDA:
# the wheels of torch 2.13.0 for CUDA 13.0, of all that it requires and of the same 50 packages.
NEED_CPU = Need(fetched_bytes=int(0.4 * GB), installed_bytes=int(1.6 * GB))
NEED_CUDA = Need(fetched_bytes=int(3.2 * GB), installed_bytes=int(6.3 * GB))
NO_MORE = Need(0, 0)


def need_of(variant: str | None) -> Need:
    """By torch's variant: "cpu", "cu126"; None is macOS, whose builds are as small as those for the CPU."""
    return NEED_CPU if variant in (None, "", "cpu") else NEED_CUDA


def room_for(host: Host, folder: str, need: Need, *, with_uv: bool) -> tuple[str, ...]:
    """Options for pip where room is scant; () elsewhere. Raises :class:`Stopped` where there is none."""
    disk = host.disk(folder)
    if disk is None:
        return ()
    if not disk.writable:
        raise refused(f"{folder} cannot be made: this user may not write there", "name a folder of your own")
    if not disk.executable:
        raise refused(
            f"{folder} lies on a file system that is mounted noexec: no interpreter runs there",
            "name a folder on another file system",
        )
    fetched = 0 if with_uv else fetched_bytes(host, need, disk.free_bytes)
    wanted = need.installed_bytes + fetched
    if disk.free_bytes is not None and disk.free_bytes < wanted:
        seen = f"{in_gb(disk.free_bytes)} free below {folder}, {in_gb(wanted)} needed"
        raise refused("the disk has too little room", "name a folder on another file system", seen)
    is_scant = disk.free_bytes is not None and disk.free_bytes < wanted + fetched
    return ("--no-cache-dir",) if is_scant and not with_uv else ()


def fetched_bytes(host: Host, need: Need, free_bytes: int | None) -> int:
    """What pip fetches onto the same disk; uv unpacks as it fetches, and links what it keeps.

    Raises :class:`Stopped` where the temporary folder, into which pip fetches, is too small.
    """
    temporary_bytes = host.machine()["disk_free_bytes"]
    if temporary_bytes == free_bytes:  # to the byte: one file system
        return need.fetched_bytes
    if temporary_bytes < need.fetched_bytes:
        seen = f"{in_gb(temporary_bytes)} free, {in_gb(need.fetched_bytes)} needed while pip fetches"
        raise refused("the temporary folder has too little room", "set TMPDIR to a folder with more", seen)
    return 0


def in_gb(size_bytes: int) -> str:
    """ "6.3 GB"."""
    return f"{size_bytes / GB:.1f} GB"
