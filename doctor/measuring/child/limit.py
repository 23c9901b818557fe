"""First part of a measurement: what the system says of this process, and a limit on its memory.

A run on the CPU that needs more than the machine has would take the machine down with it. So the child is
bounded: beyond the limit an allocation fails, as it does on a GPU, and whatever slips past that is noticed.
"""

import os
import sys
import threading
import time

LOOK_S = 0.02  # between two looks; memory is first touched at some 5 GB/s, so that 100 MB slip past


def status_bytes(*names):
    """Lines of /proc/self/status in bytes ("VmRSS": resident, "VmHWM": its peak); None elsewhere."""
    found = {}
    try:
        with open("/proc/self/status") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in names:
                    found[name] = int(value.split()[0]) * 1024
    except OSError:
        pass
    return [found.get(name) for name in names]


def resident_bytes():
    """What this process holds of the system's memory now; where only the peak is told, the peak."""
    now = status_bytes("VmRSS")[0]
    return peak_resident_bytes() if now is None else now


def peak_resident_bytes():
    """The most it held since ``forget_peak``; since its start where the system cannot forget."""
    peak = status_bytes("VmHWM")[0]
    if peak is None:
        try:
            import resource
        except ImportError:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = peak if sys.platform == "darwin" else peak * 1024
    return peak


def forget_peak():
    """Begin a new peak (proc(5): "5" to clear_refs); False where the system cannot."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def bound_memory(limit_bytes, on_excess):
    """Let allocations fail beyond so many resident bytes; ``on_excess`` is called where one got past.

    RLIMIT_DATA (Linux 4.7) counts what is mapped for data, touched or not, so what is mapped now beyond what
    is resident is added to it.
    """
    mapped, resident = status_bytes("VmData", "VmRSS")
    if mapped is not None and resident is not None:
        bound_data(mapped + max(limit_bytes - resident, 0))

    def look():
        while (resident_bytes() or 0) <= limit_bytes:
            time.sleep(LOOK_S)
        on_excess()

    threading.Thread(target=look, daemon=True).start()


def bound_data(soft_bytes):
    """Set the soft limit, None for none, so that what must be told of a failure can still be told."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = hard if soft_bytes is None else soft_bytes
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
