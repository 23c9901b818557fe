"""What the value of a label says: one function a meaning, for every report that has such a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.readers.paste.devices import bytes_of, is_gpu_name, of_gpus
from doctor.readers.paste.labels import Label
from doctor.readers.paste.names import VERSION
from doctor.readers.paste.platforms import Said, of_arch, of_kernel, of_libc, of_platform, of_system

_VERSION = re.compile(rf"(?:[Vv=]{{0,3}} ?)({VERSION})(?![\w])")
_PYTHON = re.compile(
    r"(?:[Cc]?[Pp]ython)?[\s=v]{0,3}([23]\.\d{1,2}(?:\.\d{1,2}(?:(?:a|b|rc)\d{1,2})?\+?)?)(?![\w.*])"
)
# "2.1.0, 2.2.0", "2.1 and 2.4", "3.8 - 3.11": of which of them the report is, it does not say.
_ANOTHER = re.compile(r"\s{0,2}(?:[,/、~-]|and\b|or\b|to\b|->|→|和|或|到)\s{0,2}v?\d{1,4}\.\d")
_NEWEST = re.compile(r"(?:latest|newest|main|master|nightly|dev\b|git|source|from source|最新)", re.I)
_NOT_THERE = re.compile(r"not installed\b|not found\b|未安装|没有安装", re.I)
_TOOLKIT = re.compile(
    r"(?:[\w\s,(.-]{0,60}?release |[Vv]|cuda[- ]?)?(\d{1,2}\.\d{1,2})(?![\d])|release (\d{1,2})\b", re.I
)
_CUDA = re.compile(r"(?:cuda|cu|v)?[- :=]{0,2}(\d{1,2}\.\d{1,2})(?:\.\d{1,3})?(?![\w])", re.I)
_HIP = re.compile(r"(\d{1,2}\.\d{1,2}(?:\.\d{1,8})?)")
_DRIVER = re.compile(r"(?:nvidia[- ]?(?:driver)?[- ]?)?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?![\w])", re.I)
_CUDNN = re.compile(
    r"libcudnn\w{0,30}\.so\.(\d{1,2}\.\d{1,2}\.\d{1,2})|^v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\b"
)
_YES = re.compile(r"(?:yes|true|available|cuda\b|gpu\b|xpu$|hpu$|是|可用)", re.I)
_NO = re.compile(r"(?:no|false|n/?a|not available|unavailable|cpu|否|不可用)(?:$|[\s,.;(])", re.I)
_IN_BRACKETS = re.compile(r"\(([^()]{1,40})\)")
_MEMORY_BEHIND = re.compile(r",? \d{3,6} ?MiB")
_CAPABILITY = re.compile(r"(?:sm_?)?(\d{1,2})\.?(\d)\b")
_ARCHITECTURE = re.compile(r"\b(?:sm|compute)_\d{2,3}[af]?\b")


def version_at(text: str) -> str:
    """The version that a text begins with, "" where it begins with none or with several."""
    found = _VERSION.match(text.lstrip(" \t\"'`*"))
    if not found:
        return ""
    rest = text.lstrip(" \t\"'`*")[found.end() :]
    return "" if _ANOTHER.match(rest) else found[1]


def of_torch(label: Label) -> Iterator[Said]:
    """ "2.1.0+cu121 (True)", "2.9.0+cu128 (CUDA)", "2.3.0+cu121 (GPU)", "2.4.1"."""
    version = version_at(label.value) or _version_behind_name(label.value)
    if not version:
        return
    yield Said("package", version, "torch")
    status = _IN_BRACKETS.search(label.value)
    if status and (label.brackets or re.match(r"(?:true|false|gpu|cuda|npu|xpu)$", status[1], re.I)):
        yield from of_answer(status[1])


def _version_behind_name(text: str) -> str:
    """ "torch 2.1.0" as a value."""
    found = re.match(r"(?:py)?torch[ =:-]{1,3}", text, re.I)
    return version_at(text[found.end() :]) if found else ""


def of_answer(text: str) -> Iterator[Said]:
    """Whether torch sees a GPU, as "True", "Yes", "CUDA", "NA"."""
    word = text.strip(" \t(),.;")
    if _NO.match(word) or _YES.match(word):
        yield Said("torch sees gpu", "no" if _NO.match(word) else "yes")


def of_availability(label: Label) -> Iterator[Said]:
    """ "Is CUDA available: False"; of Intel's GPUs only that they are seen."""
    if label.key == "pytorch accelerator":
        yield from of_answer(label.value)
        return
    answer = next(iter(of_answer(label.value)), None)
    is_unasked = label.value.strip().upper() in ("N/A", "NA")  # torch could not be imported
    if answer and not is_unasked and (answer.value == "yes" or label.key != "is xpu available"):
        yield answer


def of_python(label: Label) -> Iterator[Said]:
    """ "3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)", "Python 3.10"."""
    found = _PYTHON.match(label.value)
    if found and not _ANOTHER.match(label.value[found.end() :]):
        yield Said("python", found[1].rstrip("+"))


def of_package(label: Label) -> Iterator[Said]:
    """The version of the package that the label names."""
    version = version_at(label.value)
    if version:
        yield Said("package", version, label.name)
    elif _NEWEST.match(label.value):
        yield Said("package", "", label.name)


def is_missing(value: str) -> bool:
    """Does a value say that the package is not there?"""
    return _NOT_THERE.match(value) is not None


def of_torch_cuda(label: Label) -> Iterator[Said]:
    """ "12.1"; "None" and "Could not collect" mean that torch was built without."""
    if re.match(r"none|could not collect", label.value, re.I):
        yield Said("torch cuda", "none")
    else:
        yield from (Said("torch cuda", found[1]) for found in [_CUDA.match(label.value)] if found)


def of_torch_hip(label: Label) -> Iterator[Said]:
    """ "6.2.41133-dd7f95766"."""
    yield from (Said("torch hip", found[1]) for found in [_HIP.match(label.value)] if found)


def of_toolkit(label: Label) -> Iterator[Said]:
    """ "11.8.89", "Cuda compilation tools, release 11.8, V11.8.89", "12.1"."""
    yield from (Said("toolkit", found[1] or found[2]) for found in [_TOOLKIT.match(label.value)] if found)


def of_cuda(label: Label) -> Iterator[Said]:
    """A CUDA version of nobody in particular, unless its value says whose."""
    text = f"{label.value} {label.brackets}".lower()
    found = _CUDA.match(label.value)
    if "release" in text and not found:
        yield from of_toolkit(label)
    if not found or _ANOTHER.match(label.value[found.end() :]):
        return
    if "nvcc" in text or "toolkit" in text:
        yield Said("toolkit", found[1])
    elif "nvidia-smi" in text or "driver" in text:
        yield Said("driver cuda", found[1])
    else:
        yield Said("torch cuda" if "torch" in text else "cuda", found[1])


def of_driver(label: Label) -> Iterator[Said]:
    """ "535.104.05"; a line of nvidia-smi as the value tells of its CUDA as well."""
    found = _DRIVER.match(label.value)
    if found:
        yield Said("driver", found[1])


def of_driver_cuda(label: Label) -> Iterator[Said]:
    """The newest CUDA that the driver offers."""
    yield from (Said("driver cuda", found[1]) for found in [_CUDA.match(label.value)] if found)


def of_cudnn(label: Label) -> Iterator[Said]:
    """ "8.9.2", or the path of the library."""
    yield from cudnn_at(label.value)


def cudnn_at(text: str) -> Iterator[Said]:
    """The version in the name of a library of cuDNN, or the version that a text begins with."""
    yield from (Said("cudnn", found[1] or found[2]) for found in [_CUDNN.search(text[:2000])] if found)


def of_gpu_label(label: Label) -> Iterator[Said]:
    """GPUs by name; a label such as "GPU 0,1" tells their indexes."""
    named = label.key in ("gpu type", "gpu models and configuration")
    for index in label.name.split(","):
        yield from of_gpus(label.value, index, named)


def of_hardware(label: Label) -> Iterator[Said]:
    """ "NVIDIA A100-SXM4-40GB, 40960 MiB", "cpu", "MPS": a device of some kind or none."""
    is_of_torch = label.brackets == "(s)"  # "CUDA device(s)", "accelerator(s)"
    if is_of_torch and label.value.lower() in ("cpu", "not available"):
        yield Said("torch sees gpu", "no")
        return
    found = list(of_gpus(_MEMORY_BEHIND.sub("", label.value), named=False))
    yield from found
    if is_of_torch and found:
        yield Said("torch sees gpu", "yes")


def of_accelerator(label: Label) -> Iterator[Said]:
    """A device of another maker."""
    if label.value:
        yield Said("accelerator", label.value)


def of_memory(label: Label) -> Iterator[Said]:
    """Memory of one GPU."""
    size = bytes_of(label.value)
    if size:
        yield Said("gpu memory", str(size))


def of_capability(label: Label) -> Iterator[Said]:
    """ "8.6", "sm_86"."""
    found = _CAPABILITY.match(label.value)
    if found:
        yield Said("gpu capability", f"{found[1]}.{found[2]}")


def of_architectures(label: Label) -> Iterator[Said]:
    """ "['sm_50', 'sm_60', 'compute_90']"."""
    found = _ARCHITECTURE.findall(label.value[:2000])
    if found:
        yield Said("torch architectures", " ".join(found))


def of_use(label: Label) -> Iterator[Said]:
    """ "yes, 2x RTX 3090" behind a question."""
    text = re.sub(r"^(?:yes|true)[\s,:(-]{0,3}", "", label.value, flags=re.I).rstrip(")")
    if is_gpu_name(text) and len(text) < 80:
        yield from of_gpus(text, named=False)


def of_executable(label: Label) -> Iterator[Said]:
    """A path of the environment: "/home/u/miniconda3/envs/llm/bin/accelerate" is in .../envs/llm."""
    path = label.value.strip("'\" ")
    if "/" in path or "\\" in path:
        yield Said("executable", re.sub(r"[/\\](?:bin|Scripts)[/\\]accelerate(?:\.exe)?$", "", path[:400]))


def of_os(label: Label) -> Iterator[Said]:
    """The name of an operating system."""
    yield from of_system(label.value)


def of_platform_label(label: Label) -> Iterator[Said]:
    """ "Linux-5.15.0-91-generic-x86_64-with-glibc2.35", or a system by name."""
    found = list(of_platform(label.value))
    yield from found or of_system(label.value)


def of_colab(label: Label) -> Iterator[Said]:
    """An answer to whether it is Google Colab."""
    if label.value.lower().startswith("yes"):
        yield Said("container", "colab")


def of_detected(label: Label) -> Iterator[Said]:
    """Intel's GPUs as torch sees them; they stand in the lines below."""
    yield from of_gpus(label.value, named=False)


READINGS: dict[str, Callable[[Label], Iterator[Said]]] = {
    "torch": of_torch,
    "python": of_python,
    "platform": of_platform_label,
    "os": of_os,
    "kernel": lambda label: of_kernel(label.value),
    "arch": lambda label: of_arch(label.value),
    "libc": lambda label: of_libc(label.value),
    "torch cuda": of_torch_cuda,
    "torch hip": of_torch_hip,
    "sees gpu": of_availability,
    "architectures": of_architectures,
    "toolkit": of_toolkit,
    "cuda": of_cuda,
    "driver": of_driver,
    "driver cuda": of_driver_cuda,
    "cudnn": of_cudnn,
    "gpu": of_gpu_label,
    "hardware": of_hardware,
    "accelerator": of_accelerator,
    "gpu memory": of_memory,
    "capability": of_capability,
    "used gpu": of_use,
    "executable": of_executable,
    "colab": of_colab,
    "detected": of_detected,
    "package": of_package,
}


def said_by(label: Label) -> Iterator[Said]:
    """What one label with its value says."""
    reading = READINGS.get(label.meaning)
    return reading(label) if reading else iter(())
