"""Reads an out of memory error of torch: how much was asked for, and who held what.

The wordings, with the releases that print them: "already allocated; ... cached" (1.0 to 1.3), "already
allocated; ... reserved in total by PyTorch" (1.4 to 2.0), "has a total capacty of ... of which ... is free"
(2.1) and "capacity" since; HIP, XPU and NPU builds say the same. cudaMallocAsync, MPS, the allocator of the
CPU and the driver have words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from doctor.fact import Fact

Kind = Literal["device", "mps", "cpu", "driver"]

LOOK = 64 << 10  # characters of a text that are read, its end
UNITS = {"bytes": 1, "byte": 1}
for _power, _letter in enumerate("KMGT", 1):
    UNITS.update(
        {f"{_letter}iB": 1024**_power, f"{_letter}B": 1024**_power}
    )  # of MPS: GB that are GiB as well
_SIZE = r"(\d{1,20}(?:\.\d{1,4})?) {0,2}(bytes?|[KMGT]i?B)"


class OutOfMemory(Fact, frozen=True, kw_only=True):
    """The numbers of one message. ``held_bytes`` is what the failing process had of the device in all."""

    kind: Kind
    asked_bytes: int | None = None
    device: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    private_bytes: int | None = None  # in pools of CUDA graphs
    allowed_bytes: int | None = None  # by set_per_process_memory_fraction
    held_bytes: int | None = None
    holders: Mapping[int, int] = {}  # other processes by number, where the message names them

    @property
    def pieces_bytes(self) -> int | None:
        """Reserved by torch and in no tensor: after a failure all of it lies between tensors."""
        if self.reserved_bytes is None or self.allocated_bytes is None:
            return None
        return max(self.reserved_bytes - self.allocated_bytes, 0)


_FAILED = re.compile(
    r"(?P<device>(?:CUDA|HIP|XPU|NPU) out of memory\.)"
    r"|(?P<mps>MPS backend out of memory)"
    r"|(?P<cpu>DefaultCPUAllocator: (?:can't allocate memory|not enough memory)|std::bad_alloc"
    r"|MemoryError: Unable to allocate|Unable to allocate [\d.]{1,12} [KMGT]iB for an array)"
    r"|(?P<driver>CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED"
    r"|cudaErrorMemoryAllocation|OutOfMemoryError)"
)
_ASKED = re.compile(rf"(?:Tried to allocate|Unable to allocate|you tried to allocate) {_SIZE}")
_DEVICE = re.compile(r"(?:GPU|NPU) (\d{1,4})(?:;| has a total capac)")
_OLD = {
    "total": re.compile(rf"{_SIZE} total capacity"),
    "free": re.compile(rf"{_SIZE} free"),
    "allocated": re.compile(rf"{_SIZE} already allocated"),
    "reserved": re.compile(rf"{_SIZE} (?:reserved in total by PyTorch|cached)"),
    "allowed": re.compile(rf"{_SIZE} allowed"),
}
_NEW = {
    "total": re.compile(rf"total capaci?ty of {_SIZE}"),
    "free": re.compile(rf"of which {_SIZE} is free"),
    "allocated": re.compile(rf"allocated memory {_SIZE} is allocated by PyTorch"),
    "unallocated": re.compile(rf"{_SIZE} is reserved by PyTorch but unallocated"),
    "private": re.compile(rf"with {_SIZE} allocated in private pools"),
    "allowed": re.compile(rf"{_SIZE} allowed"),
    "held": re.compile(rf"this process has {_SIZE} memory in use"),
}
_MPS = {
    "allocated": re.compile(rf"MPS allocated: {_SIZE}"),
    "others": re.compile(rf"other allocations: {_SIZE}"),
    "allowed": re.compile(rf"max allowed: {_SIZE}"),
}
_ASYNC = {
    "asked": re.compile(rf"Requested : {_SIZE}"),
    "total": re.compile(rf"Device limit : {_SIZE}"),
    "free": re.compile(rf"Free \(according to CUDA\): {_SIZE}"),
    "allocated": re.compile(rf"Currently allocated : {_SIZE}"),
    "allowed": re.compile(rf"memory fraction\) : {_SIZE}"),
}
_HOLDER = re.compile(rf"Process (\d{{1,10}}) has {_SIZE} memory in use")
MESSAGE = 2_000  # characters that one message takes
EXCERPT = 700
UNTOLD_BYTES = 1 << 50  # -1 of the driver is printed as 17179869184.00 GiB


def read(text: str) -> OutOfMemory | None:
    """The last out of memory error in a text; None where there is none."""
    text = re.sub(r"\s+", " ", text[-LOOK:])
    found = list(_FAILED.finditer(text))
    if not found:
        return None
    telling = [one for one in found if one.lastgroup != "driver"] or found
    kind: Kind = telling[-1].lastgroup  # type: ignore[assignment]
    message = text[telling[-1].start() : telling[-1].start() + MESSAGE]
    if "would exceed allowed memory" in message:
        return _of_async(message)
    if kind == "device" or "total capac" in message:
        return _of_device(message)
    sizes = {name: size(pattern, message) for name, pattern in _MPS.items()}
    return OutOfMemory(
        kind=kind,
        asked_bytes=size(_ASKED, message),
        allocated_bytes=sizes["allocated"],
        allowed_bytes=sizes["allowed"],
    )


def excerpt(text: str) -> str:
    """The message alone, on one line, out of all that a program said; "" where there is none."""
    text = re.sub(r"\s+", " ", text[-LOOK:])
    found = [one for one in _FAILED.finditer(text) if one.lastgroup != "driver"] or list(
        _FAILED.finditer(text)
    )
    return text[found[-1].start() : found[-1].start() + EXCERPT] if found else ""


def _of_async(message: str) -> OutOfMemory:
    sizes = {name: size(pattern, message) for name, pattern in _ASYNC.items()}
    return OutOfMemory(
        kind="device",
        asked_bytes=sizes["asked"],
        total_bytes=sizes["total"],
        free_bytes=sizes["free"],
        allocated_bytes=sizes["allocated"],
        allowed_bytes=sizes["allowed"],
    )


def _of_device(message: str) -> OutOfMemory:
    new = "total capac" in message and "of which" in message
    sizes = {name: size(pattern, message) for name, pattern in (_NEW if new else _OLD).items()}
    allocated, pieces = sizes["allocated"], sizes.get("unallocated")
    whole = allocated + pieces if allocated is not None and pieces is not None else None
    device = _DEVICE.search(message)
    return OutOfMemory(
        kind="device",
        asked_bytes=size(_ASKED, message),
        device=int(device[1]) if device else None,
        total_bytes=sizes["total"],
        free_bytes=sizes["free"],
        allocated_bytes=allocated,
        reserved_bytes=whole if new else sizes["reserved"],
        private_bytes=sizes.get("private"),
        allowed_bytes=sizes["allowed"],
        held_bytes=sizes.get("held"),
        holders=_holders(message),
    )


def _holders(message: str) -> Mapping[int, int]:
    """Other processes by number: where "this process" is not among the words, the number may be its own."""
    if "this process has" not in message:
        return {}
    return {int(pid): in_bytes(number, unit) for pid, number, unit in _HOLDER.findall(message)}


def size(pattern: re.Pattern[str], message: str) -> int | None:
    """The bytes that a pattern finds, None where it finds nothing that can be."""
    found = pattern.search(message)
    told = in_bytes(found[1], found[2]) if found else None
    return (
        None if told is None or told >= 1 << 50 else told
    )  # old drivers gave 17179869184.00 GiB for "not told"


def in_bytes(number: str, unit: str) -> int:
    """ "1.50", "GiB" in bytes."""
    return int(float(number) * UNITS[unit])
