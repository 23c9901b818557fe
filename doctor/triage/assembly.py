"""Statements of a paste as facts of the environment that it is about.

A fact is there only where somebody states it: what a paste does not tell is a gap. What options say of the
machine wins over the paste.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from doctor.facts import (
    Driver,
    DriverSigns,
    Duplicate,
    Facts,
    Gap,
    Interpreter,
    Package,
    Packages,
    System,
    Toolkit,
    TorchBuild,
    TorchRuntime,
    Xid,
)
from doctor.lint.choice import declared
from doctor.lint.judging import variant_of
from doctor.matrix.gpu_code import numbers
from doctor.matrix.gpus import gpu_named
from doctor.matrix.torch_builds import builds_of, cuda_of, minor_of
from doctor.paste import Form, Paste, Topic
from doctor.stated import stated_python
from doctor.triage.told import Told, fullest
from doctor.triage.told import contradictions as contradictions
from doctor.triage.told_devices import accelerators_of, gpus_of

ARCHITECTURES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
OF_COMMANDS = ("gaps", "reading", "workload", "script", "paste")  # there only where a command asks for them
# Told of Linux alone.
OF_LINUX: tuple[Topic, ...] = ("container", "wsl", "libc", "kernel", "library", "shared memory")
BY_HAND: tuple[Form, ...] = ("issue form", "prose")
# They say what torch sees where they are run, which is often another machine than the one that trains.
ELSEWHERE: tuple[Form, ...] = ("transformers env", "accelerate env")
LABEL = re.compile(r"(?:^|[.+])(cpu|cu9\d|cu1\d{2}|rocm\d[\d.]{0,8}|xpu)(?!\w)")
RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu(\d{2}))?$")  # the wheel that torch brings its CUDA with


def facts_of(paste: Paste, machine: Facts) -> Facts:
    """All that a paste and the options tell of the environment."""
    told = Told(paste.statements)
    torch = machine.torch or torch_of(told)
    facts = Facts(
        system=machine.system or system_of(told),
        environment=machine.environment or environment_of(told),
        driver_signs=driver_signs_of(told),
        driver=machine.driver or driver_of(told),
        gpus=gpus_of(told) if machine.gpus is None else machine.gpus,
        accelerators=accelerators_of(told) or None,
        interpreter=machine.interpreter or interpreter_of(told),
        packages=packages_of(told),
        torch=torch,
        toolkits=toolkits_of(told),
        torch_runtime=runtime_of(told, torch),
    )
    return with_gaps(facts)


def with_gaps(facts: Facts) -> Facts:
    """Facts with a gap for each that is not there."""
    reasons = {"torch": "the report does not tell which build of torch it is"}
    missing = [
        Gap(about=name, kind="not-asked", reason=reasons.get(name, "the report does not tell"))
        for name in Facts.__struct_fields__
        if name not in OF_COMMANDS and getattr(facts, name) is None
    ]
    return msgspec.structs.replace(facts, gaps=tuple(missing))


def system_of(told: Told) -> System | None:
    """The machine, where its operating system is told or follows from what is."""
    os = os_of(told)
    if not os:
        return None
    arch = told.best("arch").lower()
    memory = told.best("shared memory")
    return System(
        os="linux" if told.says("wsl") else os,
        name=told.best("distribution").rstrip(" ,;"),
        kernel=told.best("kernel"),
        arch=ARCHITECTURES.get(arch, arch) or usual_arch(os, told),
        libc=told.best("libc") or None,
        cpu="",
        cpu_count=0,
        ram_total_bytes=0,
        ram_available_bytes=0,
        disk_free_bytes=0,
        shared_memory_bytes=int(memory) if memory.isdecimal() else None,
        container=told.best("container") or None,
        wsl=told.says("wsl"),
    )


def os_of(told: Told) -> str:
    """The operating system; of paths those of Windows and macOS say more than names that end in ".so"."""
    stated = [one.value for one in told.of("os") if one.form != "traceback"]
    by_path = {one.value for one in told.of("os")}
    if stated or by_path:
        return stated[0] if stated else next(one for one in ("win32", "darwin", *by_path) if one in by_path)
    return "linux" if any(told.says(one) for one in OF_LINUX) else ""


def usual_arch(os: str, told: Told) -> str:
    """The architecture of nearly all machines of a kind, or that which its GPU comes with."""
    own = [known.arch for one in told.of("gpu") if (known := gpu_named(one.value)) and known.arch]
    return own[0] if own else "aarch64" if os == "darwin" else "x86_64"


def environment_of(told: Told) -> dict[str, str] | None:
    """The variables that are told, None where none is."""
    found: dict[str, str] = {}
    for one in told.of("variable"):
        found.setdefault(one.name, one.value)
    return found or None


def driver_of(told: Told) -> Driver | None:
    """The driver, by its version or only by the CUDA that it offers."""
    version, cuda = told.best("driver"), told.best("driver cuda")
    if not version and not cuda:
        return None
    return Driver(version=version, cuda_version=cuda or None, source="stated")


def driver_signs_of(told: Told) -> DriverSigns | None:
    """What the kernel tells, where its log or the version of its module is pasted."""
    xids = tuple(xid for one in told.of("xid") for xid in xid_of(one.name, one.value))
    module = told.best("kernel module")
    return DriverSigns(kernel_version=module, xids=xids) if xids or module else None


def xid_of(address: str, value: str) -> tuple[Xid, ...]:
    """An error of the driver: "79 GPU has fallen off the bus"."""
    code, _, text = value.partition(" ")
    return (Xid(address=address, code=int(code), text=text),) if code.isdecimal() and len(code) < 4 else ()


def interpreter_of(told: Told) -> Interpreter | None:
    """Python, of which the version is known and perhaps the place."""
    version = told.best("python")
    if not re.fullmatch(r"\d\.\d{1,2}(?:\.\d{1,2})?\S{0,20}", version):
        return None
    return msgspec.structs.replace(stated_python(version), executable="python")


def packages_of(told: Told) -> Packages | None:
    """The packages that are told; of the others nothing is known, but where they are said to be absent."""
    installed = {name: package(name, version) for name, version in releases_of(told).items()}
    absent = {one.name for one in told.of("absent")} - set(installed)
    if not installed and not absent:
        return None
    duplicates = tuple(duplicates_of(told))
    return Packages(installed=installed, duplicates=duplicates, is_partial=True, absent=tuple(sorted(absent)))


def duplicates_of(told: Told) -> Iterator[Duplicate]:
    """Packages that a list names twice, one below the other, in two versions: each has a dist-info."""
    listed = [one for one in told.of("package") if one.form == "package list"]
    for one, other in pairwise(sorted(listed, key=lambda one: one.line)):
        if one.name == other.name and other.line == one.line + 1 and one.value != other.value:
            versions = (one.value, other.value)
            stem = one.name.replace("-", "_")
            yield Duplicate(
                package=one.name,
                versions=versions,
                locations=tuple(f"site-packages/{stem}-{version}.dist-info" for version in versions),
            )


def releases_of(told: Told) -> dict[str, str]:
    """Each package with its version, "" where that is not told.

    What a command pins counts where nothing else tells of a package.
    """
    names = dict.fromkeys(one.name for one in told.of("package") if one.name)
    found = {name: told.best("package", name) for name in names}
    pins: dict[str, set[str]] = {}
    for one in told.of("requirement"):
        pin = re.fullmatch(r"={2,3}([^*,]{1,80})", one.value)
        if pin:
            pins.setdefault(one.name, set()).add(pin[1])
    return {**{name: next(iter(versions)) for name, versions in pins.items() if len(versions) == 1}, **found}


def package(name: str, version: str) -> Package:
    """One package with what its release declares."""
    known = declared(name, version)
    return Package(
        name=name,
        version=version,
        location="",
        installer="",
        requires=known.requires,
        requires_python=known.requires_python,
    )


def torch_of(told: Told) -> TorchBuild | None:
    """The build of torch, where its label, its list of CUDA packages or somebody tells which; else None."""
    version = releases_of(told).get("torch", "")
    label = LABEL.search(f"+{version.partition('+')[2]}") if "+" in version else None
    variant = label[1] if label else variant_told(told, version) or variant_of(bundled_cuda(told))
    if not variant:
        return None
    hip = told.best("torch hip").replace("none", "") or variant.removeprefix("rocm")
    return TorchBuild(
        version=version,
        cuda_version=cuda_of(variant) or None,
        hip_version=hip if "rocm" in variant else None,
        variant=variant,
    )


def variant_told(told: Told, version: str) -> str:
    """The build that statements tell: "cu121", "cpu", "rocm6.2"; "" where none does."""
    hip, cuda = told.best("torch hip"), told.best("torch cuda")
    if hip not in ("", "none"):
        return f"rocm{hip}"
    if cuda == "none" or (not cuda and version and told.best("os") == "darwin"):
        return "cpu"
    variant = variant_of(short(cuda))
    # People name their machine's CUDA beside torch: one that no build of this release is for is not torch's.
    by_hand = all(one.form in BY_HAND for one in told.of("torch cuda"))
    known = {build["variant"] for build in builds_of(minor_of(version.partition("+")[0]))}
    return "" if by_hand and known and variant not in known else variant


def short(version: str) -> str:
    """ "12.1" of "12.1.105", "" of what is no such version."""
    parts = numbers(version)
    return f"{parts[0]}.{parts[1]}" if len(parts) > 1 and 8 < parts[0] < 100 and parts[1] < 10 else ""


def bundled_cuda(told: Told) -> str:
    """The CUDA of the wheels that PyPI's torch brings: "12.1" of nvidia-cuda-runtime-cu12 12.1.105."""
    found = {short(one.value) for one in told.of("package") if RUNTIME.match(one.name)}
    return next(iter(found)) if len(found) == 1 else ""


def runtime_of(told: Told, build: TorchBuild | None) -> TorchRuntime | None:
    """torch as it answered, where its answers are pasted."""
    sees, architectures = told.best("torch sees gpu"), told.best("torch architectures")
    if all(one.form in ELSEWHERE for one in told.of("torch sees gpu") if one.value == "no"):
        sees = sees.replace("no", "")
    if not sees and not architectures:
        return None
    return TorchRuntime(
        version=build.version if build else releases_of(told).get("torch", ""),
        file="",
        cuda_version=build.cuda_version if build else None,
        hip_version=build.hip_version if build else None,
        arch_list=tuple(architectures.split()),
        cuda_available={"yes": True, "no": False}.get(sees),
    )


def toolkits_of(told: Told) -> tuple[Toolkit, ...] | None:
    """The CUDA toolkit whose compiler told its version."""
    version = fullest(told.of("toolkit"))
    return (Toolkit(path="", version=version, found_by="PATH", has_compiler=True),) if version else None
