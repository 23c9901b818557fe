"""What NVML tells of the driver and its GPUs. Runs in the doctor's interpreter, behind ``frame.py``.

It emits the driver first, then each GPU by itself, then how the GPUs reach each other: where a call never
returns or kills, what was told before is kept, and the first GPU without an answer is the one at fault.
"""

import ctypes
import hashlib
import re

NOT_SUPPORTED, LIBRARY_NOT_FOUND = 3, 12
GPU_IS_GONE = (15, 16)  # "GPU is lost", "GPU requires reset": nothing more can be had of it
MOST_LINKS, MOST_SLICES, MOST_GPUS = 36, 64, 256  # more than there are: a driver gone mad must not keep us
P2P_READ, P2P_NVLINK = 0, 2  # nvmlGpuP2PCapsIndex_t
COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
# nvmlClocksEventReasons; what an idle GPU or the user's own settings do is no throttling.
THROTTLE = ((0x04, "power cap"), (0x08, "hardware slowdown"), (0x60, "thermal"), (0x80, "power brake"))
# nvmlGpuP2PStatus_t
NO_PEER = (
    "",
    "chipset not supported",
    "GPU not supported",
    "topology not supported",
    "disabled by the registry key",
    "not supported",
)


def text(value):
    """NVML gave bytes in older bindings and strings in newer ones."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def refusal(error):
    """An error in the driver's words and its number; None as number for what is no error of NVML."""
    code = getattr(error, "value", None)
    try:
        words = text(nvml.nvmlErrorString(code))
    except Exception:  # its library is not loaded, or this is another error
        words = text(error) or type(error).__name__
    return {"error": words + (unloadable() if code == LIBRARY_NOT_FOUND else ""), "code": code}


def unloadable():
    """Why the loader refuses a library that is there, which the bindings leave out; "" where it is absent."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return "" if "No such file" in str(error) else " (%s)" % error
    return ""


def ask(name, *arguments):
    """The answer of one call; None where this driver, this GPU or this user is without it.

    Raises the error of a GPU that is gone. The bindings raise other types as well, for a function that is
    older or newer than they are and for text that cannot be decoded.
    """
    try:
        return getattr(nvml, name)(*arguments)
    except Exception as error:
        if getattr(error, "value", None) in GPU_IS_GONE:
            raise
        return None


def truth(value):
    """A number of NVML as true, false or not told."""
    return None if value is None else bool(value)


def first_of(values):
    """The first of several numbers, None where nothing was told."""
    return values[0] if values else None


def hashed(uuid):
    """Enough of a hash to tell one GPU from another; the UUID itself is not told."""
    return hashlib.sha256(text(uuid).encode()).hexdigest()[:12] if uuid else ""


def memory_of(handle):
    """Total, free and reserved bytes, and whether it has no memory of its own but the system's."""
    newer = getattr(nvml, "nvmlMemory_v2", None)
    memory = newer and ask("nvmlDeviceGetMemoryInfo", handle, newer)
    memory = memory or ask("nvmlDeviceGetMemoryInfo", handle)
    return {
        "memory_total_bytes": memory and int(memory.total),
        "memory_free_bytes": memory and int(memory.free),
        "memory_reserved_bytes": memory and getattr(memory, "reserved", None),
        "shares_memory": memory is None and has_no_memory(handle),
    }


def has_no_memory(handle):
    """Does NVML say that there is no such thing, rather than refuse to tell of it?"""
    try:
        nvml.nvmlDeviceGetMemoryInfo(handle)
    except Exception as error:
        return getattr(error, "value", None) == NOT_SUPPORTED
    return False


def name_of(handle):
    """The name, also where it is no UTF-8. Raises the error of a GPU that does not even tell it."""
    try:
        return text(nvml.nvmlDeviceGetName(handle))
    except UnicodeDecodeError as error:
        return text(error.object)


def capability_of(handle):
    """ "8.9" """
    numbers = ask("nvmlDeviceGetCudaComputeCapability", handle)
    return "%d.%d" % tuple(numbers) if numbers and numbers[0] > 0 else None


def address_of(handle):
    """The PCI address as the kernel writes it: "0000:01:00.0"."""
    info = ask("nvmlDeviceGetPciInfo", handle)
    domain, _, rest = text(info.busId).lower().partition(":") if info else ("", "", "")
    return "%04x:%s" % (int(domain, 16), rest) if rest else ""


def command_of(pid):
    """The name of a process, without its folder and its arguments; "" where it cannot be had."""
    told = ask("nvmlSystemGetProcessName", pid)
    if told and sys.platform != "win32":
        told = text(told).split(" ")[0]
    if not told:
        try:
            with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as file:
                told = file.read().strip()
        except OSError:
            return ""
    return re.split(r"[/\\]", text(told))[-1]


def processes_of(handle):
    """Who holds memory of the GPU, each process once; None where the driver does not tell."""
    rows = {}
    told = False
    for kind, name in (("compute", "Compute"), ("graphics", "Graphics")):
        found = ask("nvmlDeviceGet%sRunningProcesses" % name, handle)
        if found is None:  # drivers before 510 know the second form only
            found = ask("nvmlDeviceGet%sRunningProcesses_v2" % name, handle)
        told = told or found is not None
        for one in found or ():
            row = {"name": command_of(one.pid), "memory_bytes": one.usedGpuMemory, "kind": kind}
            rows.setdefault(one.pid, row)
    return list(rows.values()) if told else None


def mig_of(handle):
    """MIG mode, and the instances that the GPU is cut into."""
    mode = truth(first_of(ask("nvmlDeviceGetMigMode", handle)))
    count = (ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0) if mode else 0
    slots = range(min(count, MOST_SLICES))
    parts = [ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, slot) for slot in slots]
    return {"mig_mode": mode, "mig_instances": [instance(part) for part in parts if part]}


def instance(handle):
    """One MIG instance as the fields of ``doctor.facts.MigInstance``."""
    memory = memory_of(handle)
    return {
        "name": text(ask("nvmlDeviceGetName", handle) or ""),
        "memory_total_bytes": memory["memory_total_bytes"],
        "memory_free_bytes": memory["memory_free_bytes"],
        "uuid_hash": hashed(ask("nvmlDeviceGetUUID", handle)),
    }


def health_of(handle):
    """Memory errors, and what the GPU has done about them."""
    corrected, uncorrected, pending, failed = ask("nvmlDeviceGetRemappedRows", handle) or (None, 0, 0, 0)
    pages = [ask("nvmlDeviceGetRetiredPages", handle, cause) for cause in (0, 1)]
    known = [len(some) for some in pages if some is not None]
    return {
        "ecc_enabled": truth(first_of(ask("nvmlDeviceGetEccMode", handle))),
        "ecc_uncorrected": ask("nvmlDeviceGetTotalEccErrors", handle, 1, 0),  # uncorrected, volatile
        "remapped_rows": None if corrected is None else corrected + uncorrected,
        "remapping_pending": bool(pending),
        "remapping_failed": bool(failed),
        "retired_pages": sum(known) if known else None,
        "retirement_pending": bool(ask("nvmlDeviceGetRetiredPagesPendingStatus", handle)),
    }


def throttle_of(handle):
    """Why the clocks are held down at this moment."""
    reasons = ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if reasons is None:  # the name before driver 535
        reasons = ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle) or 0
    return [word for bits, word in THROTTLE if reasons & bits]


def compute_mode_of(handle):
    """In words, "" where it is not told."""
    mode = ask("nvmlDeviceGetComputeMode", handle)
    return COMPUTE_MODES[mode] if mode in range(len(COMPUTE_MODES)) else ""


def nvlinks_of(handle):
    """How many NVLinks are up; None for a GPU that has none."""
    states = []
    for link in range(MOST_LINKS):
        state = ask("nvmlDeviceGetNvLinkState", handle, link)
        if state is None:
            break
        states.append(bool(state))
    return sum(states) if states else None


def pcie_of(handle):
    """Lanes and generation of its PCIe link, and what card and slot could do."""
    return {
        "pcie_width": ask("nvmlDeviceGetCurrPcieLinkWidth", handle),
        "pcie_width_max": ask("nvmlDeviceGetMaxPcieLinkWidth", handle),
        "pcie_generation": ask("nvmlDeviceGetCurrPcieLinkGeneration", handle),
        "pcie_generation_max": ask("nvmlDeviceGetMaxPcieLinkGeneration", handle),
    }


def describe(index, handle):
    """One GPU as the fields of ``doctor.facts.Gpu``. Raises where it does not even tell its name."""
    return {
        "index": index,
        "name": name_of(handle),
        "compute_capability": capability_of(handle),
        **memory_of(handle),
        "uuid_hash": hashed(ask("nvmlDeviceGetUUID", handle)),
        "pci_address": address_of(handle),
        "processes": processes_of(handle),
        **mig_of(handle),
        **health_of(handle),
        "throttle": throttle_of(handle),
        "persistence": truth(ask("nvmlDeviceGetPersistenceMode", handle)),
        "compute_mode": compute_mode_of(handle),
        **pcie_of(handle),
        "nvlinks": nvlinks_of(handle),
        "display": truth(ask("nvmlDeviceGetDisplayActive", handle)),
    }


def peer(handle, other):
    """How one GPU reaches another: "nvlink", "p2p", "no: chipset not supported"; None: not told."""
    if ask("nvmlDeviceGetP2PStatus", handle, other, P2P_NVLINK) == 0:
        return "nvlink"
    status = ask("nvmlDeviceGetP2PStatus", handle, other, P2P_READ)
    if status is None:
        return None
    return "p2p" if status == 0 else "no: " + (NO_PEER[status] if status < len(NO_PEER) else "unknown")


def peers_of(index, handles):
    """The other GPUs by which this one can be reached, or not."""
    found = {other: peer(handles[index], handles[other]) for other in handles if other != index}
    return {str(other): how for other, how in found.items() if how is not None}


def tell_gpus(count):
    """Each GPU in turn, from the one that was asked for; then the paths between them."""
    handles = {}
    for index in range(CONFIG.get("first", 0), count):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            emit({"section": "nvml-gpu", **describe(index, handle)})
            handles[index] = handle
        except Exception as error:
            emit({"section": "nvml-gpu", "index": index, **refusal(error)})
    for index in handles if len(handles) > 1 else ():
        try:
            emit({"section": "nvml-peers", "index": index, "peers": peers_of(index, handles)})
        except Exception:  # lost since it told of itself
            continue


def counted(count):
    """The number of GPUs, or that it cannot be one."""
    return {"count": count} if count <= MOST_GPUS else {"error": "it counts %d GPUs" % count, "code": None}


def tell():
    """All that NVML says, or the name and the number of its refusal."""
    try:
        nvml.nvmlInit()
    except Exception as error:
        emit({"section": "nvml", **refusal(error)})
        return
    number = ask("nvmlSystemGetCudaDriverVersion")
    driver = ask("nvmlSystemGetDriverVersion")
    head = {
        "section": "nvml",
        "driver": driver and text(driver),
        "cuda": number and "%d.%d" % (number // 1000, number % 1000 // 10),
    }
    try:
        head.update(counted(nvml.nvmlDeviceGetCount()))
    except Exception as error:
        head.update(refusal(error))
    emit(head)
    tell_gpus(head.get("count", 0))


try:
    import pynvml as nvml
except ImportError as error:
    missing = "nvidia-ml-py is not installed beside the doctor: " + str(error)
    emit({"section": "nvml", "error": missing, "code": -1})
else:
    tell()
