"""The memory of every GPU and who holds it, again and again. Runs in the doctor's interpreter.

It emits an event each ``interval`` seconds, ``count`` times; where a call of NVML never returns, nothing
comes any more and whoever listens ends it.
"""

import hashlib
import re
import time


def text(value):
    """NVML gave bytes in older bindings and strings in newer ones."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def ask(name, *arguments):
    """The answer of one call; None where this driver or this GPU is without it."""
    try:
        return getattr(nvml, name)(*arguments)
    except Exception:
        return None


def command_of(pid):
    """The name of a process, without its folder and its arguments; "" where it cannot be had."""
    if pid not in NAMES:
        told = text(ask("nvmlSystemGetProcessName", pid) or "")
        NAMES[pid] = re.split(r"[/\\]", told.split(" ")[0] if sys.platform != "win32" else told)[-1]
    return NAMES[pid]


def processes_of(handle):
    """Rows of process number, name and bytes; None where the driver does not tell."""
    rows = {}
    told = False
    for kind in ("Compute", "Graphics"):
        found = ask("nvmlDeviceGet%sRunningProcesses" % kind, handle)
        if found is None:  # drivers before 510 know the second form only
            found = ask("nvmlDeviceGet%sRunningProcesses_v2" % kind, handle)
        told = told or found is not None
        for one in found or ():
            rows.setdefault(one.pid, [one.pid, command_of(one.pid), one.usedGpuMemory])
    return list(rows.values()) if told else None


def memory_of(index):
    """One GPU now, None where it does not answer."""
    handle = ask("nvmlDeviceGetHandleByIndex", index)
    memory = handle and (
        ask("nvmlDeviceGetMemoryInfo", handle, getattr(nvml, "nvmlMemory_v2", None))
        or ask("nvmlDeviceGetMemoryInfo", handle)
    )
    if not memory:
        return None
    uuid = text(ask("nvmlDeviceGetUUID", handle) or "")
    return {
        "index": index,
        "name": text(ask("nvmlDeviceGetName", handle) or ""),
        "uuid_hash": hashlib.sha256(uuid.encode()).hexdigest()[:12] if uuid else "",
        "total": int(memory.total),
        "free": int(memory.free),
        "used": int(memory.total) - int(memory.free) - int(getattr(memory, "reserved", 0) or 0),
        "processes": processes_of(handle),
    }


def tell():
    """The error that keeps us from asking, or the memory of all GPUs as often as was wanted."""
    try:
        nvml.nvmlInit()
        count = min(nvml.nvmlDeviceGetCount(), 256)
    except Exception as error:
        emit({"section": "refused", "error": text(error)})
        return
    for _ in range(CONFIG["count"]):
        gpus = [memory_of(index) for index in range(count)]
        emit({"section": "memory", "at": time.time(), "gpus": [gpu for gpu in gpus if gpu]})
        time.sleep(CONFIG["interval"])


NAMES = {}
try:
    import pynvml as nvml
except ImportError as error:
    emit({"section": "refused", "error": "nvidia-ml-py is not installed beside the doctor: " + str(error)})
else:
    tell()
