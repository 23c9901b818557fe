"""The driver's own account of itself and its GPUs. Runs in the doctor's interpreter, behind ``frame.py``."""


def text(value):
    """NVML gave bytes in older bindings and strings in newer ones."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def memory_of(nvml, handle):
    """(total, free) bytes; None twice for a GPU that shares the system's memory."""
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        return int(memory.total), int(memory.free)
    except nvml.NVMLError_NotSupported:
        return None, None


def describe_gpu(nvml, index):
    """One GPU as the fields of ``doctor.facts.Gpu``; a GPU that is lost says so."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        total, free = memory_of(nvml, handle)
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
        return {
            "index": index,
            "name": text(nvml.nvmlDeviceGetName(handle)),
            "compute_capability": "%d.%d" % (major, minor),
            "memory_total_bytes": total,
            "memory_free_bytes": free,
        }
    except nvml.NVMLError as error:
        return {"index": index, "error": text(error), "code": error.value}


def look():
    """All that NVML says, or the name and the code of its refusal."""
    try:
        import pynvml as nvml
    except ImportError as error:
        return {"error": "nvidia-ml-py is not installed beside the doctor: " + str(error), "code": -1}
    try:
        nvml.nvmlInit()
        number = nvml.nvmlSystemGetCudaDriverVersion()
        return {
            "driver": text(nvml.nvmlSystemGetDriverVersion()),
            "cuda": "%d.%d" % (number // 1000, number % 1000 // 10),
            "gpus": [describe_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount())],
        }
    except nvml.NVMLError as error:
        return {"error": text(error), "code": error.value}


emit({"section": "nvml", **look()})
