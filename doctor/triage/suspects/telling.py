"""What a case tells for or against a suspect: tests of its facts and of its text.

Each is True where the paste shows it, False where the paste excludes it, None where the paste does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.diagnosis import judge, known_rules
from doctor.matrix.devices import described
from doctor.matrix.gpu_code import JETSON
from doctor.matrix.gpus import gpu_named, has_feature, is_data_center
from doctor.matrix.machine import Machine
from doctor.rules.gpu import hides_all
from doctor.rules.gpu_hardware import XIDS
from doctor.triage.case import Case

Test = Callable[[Case], bool | None]

CPU_BUILD = r"re:\b[12]\.\d{1,2}\.\d{1,2}\+cpu\b"
MAC = (
    "not a mach-o file",
    "/opt/homebrew/",
    "darwin.so",
    r"re:available_devices = [^\n]{0,80}'mps'",
    r"re:\b(?:macOS|MacBook|Mac ?OS ?X|Apple (?:M[1-9]|[Ss]ilicon)|macosx_\d\d|macbook|MacOS)\b",
)
WSL = ("microsoft-standard", "/lib/wsl", r"re:\bWSL ?2?\b")
JETSON_WORDS = (r"re:\b(?:Jetson|JetPack|L4T|tegra|Orin|Xavier)\b", "-tegra")
CONTAINER = (
    r"re:\b(?:[Dd]ocker|docker-compose|Dockerfile|[Kk]ubernetes|k8s|[Pp]odman|[Ss]ingularity|[Aa]pptainer)\b",
    r"re:\b(?:[Ii]n|[Ii]nside) (?:a |the |my )?container\b",
    r"re:root@[0-9a-f]{12}:",
    "nvcr.io/",
    "== CUDA ==",
)
WINDOWS = (r"re:\b[A-Z]:\\\w", "WindowsPath", r"re:\bWindows (?:1[01]|Server)\b", ".dll")
VISIBLE = re.compile(
    r"CUDA_VISIBLE_DEVICES[\"']?\]?\s{0,3}=\s{0,3}[\"']?(-?[\w-]{0,40}(?:,[\w-]{1,40}){0,16})"
)
XID = re.compile(r"\bXid[^\n]{0,40}?: (\d{1,3})\b")


def one_of(*patterns: str) -> str:
    """The symptom that is one of several patterns."""
    return "re:" + "|".join(patterns)


def always(case: Case) -> bool:
    """The message itself says it."""
    return True


def untold(case: Case) -> None:
    """Nothing in a paste tells."""


def says(*symptoms: str) -> Test:
    """Does the text show one of these? Where it does not, that excludes nothing."""
    return lambda case: any(map(case.says, symptoms)) or None


def mentions(*words: str) -> Test:
    """Does the text have one of these words of their own?"""
    return lambda case: any(map(case.mentions, words)) or None


def any_of(*tests: Test) -> Test:
    """Does one of them hold? False where all are excluded."""

    def holds(case: Case) -> bool | None:
        told = [test(case) for test in tests]
        return True if True in told else False if all(one is False for one in told) else None

    return holds


def all_of(*tests: Test) -> Test:
    """Do all of them hold? False where one is excluded."""

    def holds(case: Case) -> bool | None:
        told = [test(case) for test in tests]
        return False if False in told else True if all(told) else None

    return holds


def certainly(test: Test) -> Test:
    """Is it shown? What is not shown is excluded."""
    return lambda case: bool(test(case))


def without(test: Test) -> Test:
    """Is it not shown?"""
    return lambda case: not test(case)


def opposite(test: Test) -> Test:
    """Is it excluded?"""

    def holds(case: Case) -> bool | None:
        told = test(case)
        return None if told is None else not told

    return holds


def by_rule(id: str) -> Test:
    """Do the facts alone show the fault, by its own rule? That they do not excludes nothing."""

    def holds(case: Case) -> bool | None:
        found, _ = judge(case.facts, [rule for rule in known_rules() if rule.id == id])
        return any(finding.id == id for finding in found) or None

    return holds


def system_is(os: str, *words: str) -> Test:
    """Is the system this one: as it is stated, else by words of its own?"""

    def holds(case: Case) -> bool | None:
        stated = case.facts.system.os if case.facts.system else ""
        if stated:
            return stated == os
        return any(map(case.says, words)) or None

    return holds


on_mac = system_is("darwin", *MAC)
on_windows = system_is("win32", *WINDOWS)


def on_wsl(case: Case) -> bool | None:
    """Is it Linux inside of Windows?"""
    return bool(case.facts.system and case.facts.system.wsl) or any(map(case.says, WSL)) or None


def in_container(case: Case) -> bool | None:
    """Does it run in a container? None where no word of one falls."""
    stated = case.facts.system.container if case.facts.system else None
    return bool(stated) or any(map(case.says, CONTAINER)) or None


def on_jetson(case: Case) -> bool | None:
    """Is it a Jetson: by its GPU, or by words of its own?"""
    signs, capabilities = case.facts.driver_signs, capabilities_of(case)
    if (signs and signs.jetson) or any(one in JETSON for one in capabilities):
        return True
    return any(map(case.says, JETSON_WORDS)) or (False if capabilities else None)


def torch_is_cpu(case: Case) -> bool | None:
    """Is torch a build for the CPU alone? Some programs print its label where nothing else does."""
    torch = case.facts.torch
    if torch and torch.variant == "cpu":
        return True
    if torch and (torch.cuda_version or torch.hip_version):
        return False
    return case.says(CPU_BUILD) or None


def capabilities_of(case: Case) -> tuple[str, ...]:
    """The compute capability of each GPU that is told of, where the table has it."""
    return tuple(device.capability for device in described(case.facts.gpus or ()))


def lacks_feature(feature: str) -> Test:
    """Is every GPU without a feature of the table?"""

    def holds(case: Case) -> bool | None:
        known = capabilities_of(case)
        return not any(has_feature(one, feature) for one in known) if known else None

    return holds


def is_consumer_gpu(case: Case) -> bool | None:
    """Is the GPU one for games or desks, and none of a data centre?"""
    known = [gpu.name for gpu in case.facts.gpus or () if gpu_named(gpu.name.partition(" MIG ")[0])]
    return not any(map(is_data_center, known)) if known else None


def is_divided(case: Case) -> bool | None:
    """Is the GPU in MIG mode?"""
    gpus = case.facts.gpus or ()
    return any("MIG" in gpu.name or gpu.mig_mode for gpu in gpus) or case.says(r"re:\bMIG[- ]\w") or None


def hides_gpus(case: Case) -> bool | None:
    """Does CUDA_VISIBLE_DEVICES leave no GPU? An index beyond the first does, where none is known."""
    value = case.variable("CUDA_VISIBLE_DEVICES")
    if value is None:
        found = VISIBLE.search(case.text)
        value = found[1] if found else None
    if value is None:
        return None
    first = value.split(",")[0].strip()
    if hides_all(value) or not first:
        return True
    if not first.isdigit():
        return None
    return int(first) >= max(1, len(case.facts.gpus or ()))


def driver_is_too_old(case: Case) -> bool | None:
    """Does the driver offer less CUDA than torch was built with?"""
    machine, torch = Machine.of(case.facts), case.facts.torch
    if case.says("driver on your system is too old"):
        return True
    if torch is None or torch.cuda_version is None or not (machine.driver or machine.driver_cuda):
        return None
    return not machine.driver_runs(torch.cuda_version)


def has_driver(case: Case) -> bool | None:
    """Did a driver answer somewhere?"""
    return case.facts.driver is not None or None


def has_broken_gpu(case: Case) -> bool | None:
    """Does the kernel's log tell of an error of the GPU itself? Some Xid are faults of programs."""
    signs = case.facts.driver_signs
    codes = {one.code for one in signs.xids} if signs else set[int]()
    codes |= {int(found) for found in XID.findall(case.text)}
    return bool(codes & {*XIDS}) or None
