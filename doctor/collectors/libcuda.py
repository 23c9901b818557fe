"""libcuda's own account of itself, step by step: what was told before it dies or hangs is not lost.

Runs in the doctor's interpreter, behind ``frame.py``, and loads nothing else. Each step is an event of the
section "libcuda"; the last one says that it is done.
"""

import ctypes
import re

# From cuda.h, for libraries that name no errors themselves.
NAMES = {
    0: "CUDA_SUCCESS",
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    4: "CUDA_ERROR_DEINITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    36: "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
    46: "CUDA_ERROR_DEVICE_UNAVAILABLE",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    214: "CUDA_ERROR_ECC_UNCORRECTABLE",
    304: "CUDA_ERROR_OPERATING_SYSTEM",
    500: "CUDA_ERROR_NOT_FOUND",
    719: "CUDA_ERROR_LAUNCH_FAILED",
    800: "CUDA_ERROR_NOT_PERMITTED",
    801: "CUDA_ERROR_NOT_SUPPORTED",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    805: "CUDA_ERROR_MPS_CONNECTION_FAILED",
    999: "CUDA_ERROR_UNKNOWN",
}
# CUdevice_attribute
CAPABILITY_MAJOR, CAPABILITY_MINOR, INTEGRATED = 75, 76, 18
MOST_DEVICES = 256  # more than any machine has: a library gone mad must not keep us
NODE = re.compile(r"nvidia(\d+|ctl|-uvm)$")


def mapped_file(library):
    """The file that was mapped, links followed; "" where the system does not tell."""
    if sys.platform == "win32":
        name = ctypes.create_unicode_buffer(1024)
        ctypes.windll.kernel32.GetModuleFileNameW(ctypes.c_void_p(library._handle), name, 1024)
        return name.value
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            paths = [line.split(None, 5)[5].strip() for line in maps if "/libcuda.so" in line]
    except OSError:
        return ""
    return paths[0] if paths else ""


def number_of(library, function, *arguments):
    """An integer that a function of libcuda writes, None where it refuses or is not there."""
    value = ctypes.c_int(0)
    try:
        code = getattr(library, function)(ctypes.byref(value), *arguments)
    except AttributeError:
        return None
    return value.value if code == 0 else None


def error_name(library, code):
    """The name of an error, from libcuda where it tells it."""
    name = ctypes.c_char_p()
    try:
        if library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(name)) == 0 and name.value:
            return name.value.decode("utf-8", "replace")
    except AttributeError:
        pass
    return NAMES.get(code, "CUDA_ERROR_%d" % code)


def name_of(library, device):
    """A device's name, "" where it has none."""
    name = ctypes.create_string_buffer(256)
    code = library.cuDeviceGetName(name, ctypes.c_int(255), device)
    return name.value.decode("utf-8", "replace") if code == 0 else ""


def memory_of_device(library, device):
    """Bytes of its memory, None where it does not tell."""
    total = ctypes.c_size_t(0)
    try:
        return total.value if library.cuDeviceTotalMem_v2(ctypes.byref(total), device) == 0 else None
    except AttributeError:
        return None


def describe_device(library, ordinal):
    """One device as the fields of ``doctor.facts.CudaDevice``."""
    device = ctypes.c_int(0)
    code = library.cuDeviceGet(ctypes.byref(device), ctypes.c_int(ordinal))
    if code != 0:
        return {"ordinal": ordinal, "name": "", "compute_capability": None}
    major, minor, integrated = [
        number_of(library, "cuDeviceGetAttribute", ctypes.c_int(attribute), device)
        for attribute in (CAPABILITY_MAJOR, CAPABILITY_MINOR, INTEGRATED)
    ]
    return {
        "ordinal": ordinal,
        "name": name_of(library, device),
        "compute_capability": "%d.%d" % (major, minor) if major is not None and minor is not None else None,
        "memory_total_bytes": memory_of_device(library, device),
        "integrated": None if integrated is None else bool(integrated),
    }


def refused_nodes():
    """Why device files cannot be opened though their permissions allow it, by path.

    So it is where a control group forbids the device, or where no device stands behind its file any more.
    """
    refused = {}
    for name in sorted(os.listdir("/dev")) if os.path.isdir("/dev") else []:
        path = "/dev/" + name
        if NODE.match(name) and os.access(path, os.R_OK | os.W_OK):
            try:
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
            except OSError as error:
                refused[path] = os.strerror(error.errno)
    return refused


def version_of(library):
    """The newest CUDA that it offers, which it tells without a GPU."""
    number = number_of(library, "cuDriverGetVersion")
    return "%d.%d" % (number // 1000, number % 1000 // 10) if number else None


def tell(**told):
    """Send one step as soon as it is done, before the next one, which may be the last."""
    emit({"section": "libcuda", **told})


def look():
    """Take the steps of a CUDA program until one refuses."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError as error:
        return tell(error=str(error))
    tell(library=mapped_file(library))
    tell(version=version_of(library))
    if not hasattr(library, "cuInit"):
        return tell(error="undefined symbol: cuInit")
    code = library.cuInit(ctypes.c_uint(0))
    tell(init_code=code, init_error=error_name(library, code) if code else "")
    if code:
        return tell(refused=refused_nodes(), done=True)
    for ordinal in range(min(number_of(library, "cuDeviceGetCount") or 0, MOST_DEVICES)):
        tell(device=describe_device(library, ordinal))
    return tell(done=True)


look()
