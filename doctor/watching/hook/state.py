"""What can be asked of torch and of the system without changing either: the first part of the watcher."""

import os
import sys

MOST_TEXT = 4000


def is_complete():
    """torch where its import has ended, else None."""
    torch = sys.modules.get("torch")
    return None if getattr(getattr(torch, "__spec__", None), "_initializing", False) else torch


def numbers(stats):
    """Allocated, reserved, in pieces, their peaks, retries and failures, of torch.cuda.memory_stats."""
    allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
    return [
        allocated["current"],
        reserved["current"],
        stats["inactive_split_bytes"]["all"]["current"],
        allocated["peak"],
        reserved["peak"],
        stats["num_alloc_retries"],
        stats["num_ooms"],
    ]


def identity(cuda, device):
    """The UUID of a device, which NVML knows too; "" from a torch that does not tell it."""
    try:
        return str(getattr(cuda.get_device_properties(device), "uuid", ""))
    except Exception:
        return ""


def owner_of(optimizer):
    """A weak reference to a module whose own parameter is trained: its mode is the mode of the model."""
    import gc
    import weakref

    module_type = sys.modules["torch.nn"].Module
    parameter = next(one for group in optimizer.param_groups for one in group["params"])
    for table in gc.get_referrers(parameter):
        if type(table) is not dict:
            continue
        for holder in gc.get_referrers(table):
            for module in [holder] if type(holder) is not dict else gc.get_referrers(holder):
                if module_type in type(module).__mro__ and vars(module).get("_parameters") is table:
                    return weakref.ref(module)
    return None


def skip_in_dynamo(function):
    """Have torch.compile leave a function of ours alone; False where it might trace it."""
    if "torch._C" not in sys.modules:
        return True
    dynamo = getattr(getattr(sys.modules["torch._C"], "_dynamo", None), "eval_frame", None)
    if dynamo is None:
        return True  # a release that does not compile
    code = getattr(function, "__func__", function).__code__
    if hasattr(dynamo, "skip_code"):
        dynamo.skip_code(code)
    elif hasattr(dynamo, "set_code_exec_strategy"):
        skip = dynamo._FrameAction.SKIP
        dynamo.set_code_exec_strategy(code, dynamo._FrameExecStrategy(skip, skip))
    else:
        return False
    return True


def last_error():
    """The words of the exception that ended the program, where it or one before it is about memory."""
    error, depth = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None), 0
    while error is not None and depth < 20:
        words = "%s: %s" % (type(error).__name__, error)
        low = words.lower()
        if (
            "out of memory" in low
            or "outofmemory" in low
            or "allocate memory" in low
            or "not enough memory" in low
        ):
            return words[:MOST_TEXT]
        error, depth = error.__cause__ or error.__context__, depth + 1
    return ""


def resident_bytes():
    """Resident memory of this process without files that it maps, None where /proc does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            resident, mapped = map(int, file.read().split()[1:3])
        return (resident - mapped) * os.sysconf("SC_PAGE_SIZE")
    except Exception:
        return None


def native_threads():
    """How many threads the system sees in this process; 0 where that is not told."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0
