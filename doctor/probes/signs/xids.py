"""Xids: the errors that NVIDIA's driver writes into the kernel's log, where this user may read it.

https://docs.nvidia.com/deploy/xid-errors/ says what each number stands for.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from doctor.child import Patience
from doctor.driver_text import XID
from doctor.facts import Xid
from doctor.host import Host

LOGS = ("/var/log/kern.log", "/var/log/messages", "/var/log/dmesg")
TAIL_BYTES = 256 << 10
KEPT = 32  # different ones
DMESG_PATIENCE = Patience(limit_s=3.0)
BOOT = "Linux version "  # the kernel's first line


def xids(host: Host, with_dmesg: bool) -> tuple[Xid, ...]:
    """Each kind of error of each GPU since the machine started, by the log that has most of it.

    ``with_dmesg`` asks the kernel itself as well, by a child of at most three seconds.
    """
    texts = [_tail(host, path) for path in LOGS]
    if with_dmesg:
        texts.append(_dmesg(host))
    return merged(counted(text) for text in texts)


def counted(text: str) -> dict[tuple[str, int], Xid]:
    """The Xids in a log since the machine last started, by address and number, in its last words."""
    found: dict[tuple[str, int], Xid] = {}
    for match in XID.finditer(text, max(text.rfind(BOOT), 0)):
        address, code, said = match[1], int(match[2]), (match[3] or "").strip()
        known = found.get((address, code))
        if known or len(found) < KEPT:
            found[address, code] = Xid(
                address=address, code=code, text=said, count=known.count + 1 if known else 1
            )
    return found


def merged(logs: Iterable[dict[tuple[str, int], Xid]]) -> tuple[Xid, ...]:
    """One account of several logs, which repeat each other: each Xid as often as one log has it."""
    found: dict[tuple[str, int], Xid] = {}
    for log in logs:
        for key, xid in log.items():
            known = found.get(key, xid)
            found[key] = msgspec.structs.replace(xid, count=max(known.count, xid.count))
    return tuple(found[key] for key in sorted(found))[:KEPT]


def _tail(host: Host, path: str) -> str:
    state = host.identity(path)
    if state is None:
        return ""
    try:
        with host.open_binary(path) as file:
            file.seek(max(state[0] - TAIL_BYTES, 0))
            return file.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _dmesg(host: Host) -> str:
    path = host.find_program("dmesg")
    return host.run([path], patience=DMESG_PATIENCE).stdout if path else ""
