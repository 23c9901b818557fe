"""An nvidia-smi of our own, for the machine and the faults that the C stubs read as well.

It answers what the doctor asks: the plain table in the form of the driver's branch, and a query of fields.
It runs as a program of its own, on the standard library alone.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

PROFILE, FAULTS = "LORA_DOCTOR_STUB", "LORA_DOCTOR_STUB_FAULTS"
MIB = 1 << 20
INIT = ("nvidia-smi", "nvmlInit_v2", "nvmlInit", "nvmlInitWithFlags")
SIGNALS = {"segv": signal.SIGSEGV, "abort": signal.SIGABRT, "bus": signal.SIGBUS}
WORDS = {
    3: "Not Supported",
    4: "Insufficient Permissions",
    13: "Function Not Found",
    15: "GPU is lost.  Reboot the system to recover this GPU",
    16: "GPU requires reset",
    18: "Driver/library version mismatch",
}
NOT_RUNNING = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
NO_LIBRARY = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. "
    "Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\n"
    "Please also try adding directory that contains libnvidia-ml.so to your system PATH.\n"
)
COMPUTE_MODES = ("Default", "E. Thread", "Prohibited", "E. Process")
# By the branch at which a form of the table begins: the widths of its three columns.
FORMS = ((550, (41, 24, 22)), (530, (41, 22, 22)), (0, (31, 22, 22)))
HEADS = (
    (610, "KMD Version: {driver:13} CUDA UMD Version: {cuda:9}", 22),
    (550, "Driver Version: {driver:14} CUDA Version: {cuda:9}", 22),
    (530, "Driver Version: {driver:12} CUDA Version: {cuda:9}", 22),
    (0, "Driver Version: {driver:12} CUDA Version: {cuda:9}", 12),
)


def read_profile() -> dict[str, str]:
    with open(os.environ[PROFILE], encoding="utf-8") as file:
        lines = file.read().splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def fault_of(functions: Sequence[str], gpu: int | None = None) -> int:
    """The code that these functions of NVML give, 0 for none; or it hangs or dies as they do."""
    for fault in os.environ.get(FAULTS, "").split(";"):
        what, _, code = fault.partition("=")
        name, _, index = what.partition("@")
        any_rest = name.endswith("*") and any(one.startswith(name[:-1]) for one in functions)
        if not (any_rest or name in functions) or (index and index != str(gpu)):
            continue
        while code == "hang":
            signal.pause()
        if code in SIGNALS:
            os.kill(os.getpid(), SIGNALS[code])
        return int(code)
    return 0


def stop(code: int, message: str) -> NoReturn:
    sys.stdout.write(message + "\n")
    sys.exit(min(code, 255))


def begin() -> None:
    """End as nvidia-smi does where NVML does not start, or where a GPU gives no handle."""
    code = fault_of(INIT)
    if code in (9, 12):
        stop(code, NOT_RUNNING if code == 9 else NO_LIBRARY)
    if code:
        stop(code, "Failed to initialize NVML: " + WORDS.get(code, "Unknown Error"))
    for gpu in range(COUNT):
        if code := fault_of(("nvmlDeviceGetHandleByIndex_v2",), gpu):
            words = WORDS.get(code, "Unknown Error")
            stop(code, f"Unable to determine the device handle for GPU{value(gpu, 'pci')[4:]}: {words}")


def value(gpu: int, key: str, absent: str = "") -> str:
    return MACHINE.get(f"gpu{gpu}.{key}", absent)


def mebibytes(gpu: int, which: str) -> str:
    """ "15360" of its memory in total, used or free; "" for a GPU without memory of its own."""
    total, used, reserved = (int(value(gpu, f"memory.{name}", "0")) for name in ("total", "used", "reserved"))
    sizes = {"total": total, "used": used, "free": total - used - reserved}
    return str(sizes[which] // MIB) if total else ""


def cell(gpu: int, field: str) -> str | None:
    """One field of a query, None where no such field is known."""
    if field == "compute_cap" and BRANCH < 510:
        return None
    absent = "[N/A]"
    return {
        "index": str(gpu),
        "count": str(COUNT),
        "name": value(gpu, "name"),
        "gpu_name": value(gpu, "name"),
        "uuid": value(gpu, "uuid"),
        "driver_version": MACHINE["driver"],
        "pci.bus_id": value(gpu, "pci"),
        "memory.total": mebibytes(gpu, "total") or absent,
        "memory.free": mebibytes(gpu, "free") or absent,
        "memory.used": mebibytes(gpu, "used") or absent,
        "compute_cap": value(gpu, "compute_capability", absent),
        "utilization.gpu": value(gpu, "utilization.gpu", absent),
    }.get(field)


def query(fields: Sequence[str]) -> None:
    for field in fields:
        if cell(0, field) is None:
            stop(2, f'Field "{field}" is not a valid field to query.\n')
    for gpu in range(COUNT):
        sys.stdout.write(", ".join(cell(gpu, field) or "" for field in fields) + "\n")


def head() -> str:
    form, width = next((form, width) for start, form, width in HEADS if start <= BRANCH)
    number = int(MACHINE["cuda"])
    cuda = f"{number // 1000}.{number % 1000 // 10}"
    return f" NVIDIA-SMI {MACHINE['smi']:{width}} " + form.format(driver=MACHINE["driver"], cuda=cuda)


def one_of(key: str, gpu: int, words: dict[str, str]) -> str:
    return words.get(value(gpu, key), "N/A")


def watts(gpu: int, key: str) -> str:
    told = value(gpu, f"power.{key}")
    return f"{int(told) // 1000}W" if told else "N/A"


def memory(gpu: int, which: str) -> str:
    size = mebibytes(gpu, which)
    return f"{size}MiB" if size else "N/A"


def rows(gpu: int, left: int, middle: int, right: int) -> Iterator[tuple[str, str, str]]:
    """The three lines of one GPU, each of three cells."""
    named = f" {gpu:3}  {value(gpu, 'name')}"[: left - 6]
    on_off = {"1": "On", "0": "Off"}
    persistence, display = one_of("persistence", gpu, on_off), one_of("display.active", gpu, on_off)
    errors = one_of("ecc.mode", gpu, {"1": value(gpu, "ecc.uncorrected", "0"), "0": "Off"})
    power = f"{watts(gpu, 'used'):>6} / {watts(gpu, 'limit'):>5}"
    held = f"{memory(gpu, 'used'):>9} / {memory(gpu, 'total'):>9}"
    mode = COMPUTE_MODES[int(value(gpu, "compute_mode", "0"))]
    mig = one_of("mig.mode", gpu, {"1": "Enabled", "0": "Disabled"})
    yield (
        f"{named:{left - 5}}{persistence:>4} ",
        f"{value(gpu, 'pci')} {display:>3} ".rjust(middle),
        f"{errors:>{right - 1}} ",
    )
    yield (
        f" N/A  {value(gpu, 'temperature', '??'):>3}C    P8".ljust(left - 17)[: left - 17] + f"{power:>16} ",
        f"{held:>{middle - 1}} ",
        f"{value(gpu, 'utilization.gpu', 'N/A'):>7}%{mode:>{right - 9}} ",
    )
    yield "", "", f"{mig:>{right - 1}} "


def table() -> None:
    widths = next(widths for start, widths in FORMS if start <= BRANCH)
    whole = sum(widths) + 2
    rule = "+" + "+".join("-" * width for width in widths) + "+"
    gap = " " * (widths[1] - 22)

    def line(*cells: str) -> str:
        return (
            "|" + "|".join(f"{one:{width}}"[:width] for one, width in zip(cells, widths, strict=True)) + "|"
        )

    wide = widths[0] > 31
    named = " GPU  Name                 Persistence-M" if wide else " GPU  Name        Persistence-M"
    state = " Fan  Temp   Perf          Pwr:Usage/Cap" if wide else " Fan  Temp  Perf  Pwr:Usage/Cap"
    out = ["Sun Nov 29 12:00:00 2026       ", f"+{'-' * whole}+", f"|{head():{whole}}|", "|" + rule[1:]]
    out.append(line(named, f" Bus-Id        {gap}Disp.A ", " Volatile Uncorr. ECC "))
    out.append(line(state, f"         {gap}Memory-Usage ", " GPU-Util  Compute M. "))
    out += [line("", "", "               MIG M. "), "|" + "+".join("=" * width for width in widths) + "|"]
    for gpu in range(COUNT):
        out += [*(line(*row) for row in rows(gpu, *widths)), rule]
    sys.stdout.write("\n".join(out) + "\n")


def answer(arguments: Sequence[str]) -> None:
    begin()
    if not arguments:
        table()
    elif arguments[0].startswith("--query-gpu=") and "--format=csv,noheader,nounits" in arguments[1:]:
        query(arguments[0].partition("=")[2].split(","))
    elif arguments[0] in ("-L", "--list-gpus"):
        for gpu in range(COUNT):
            sys.stdout.write(f"GPU {gpu}: {value(gpu, 'name')} (UUID: {value(gpu, 'uuid')})\n")
    else:
        stop(1, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")


if __name__ == "__main__":
    MACHINE = read_profile()
    COUNT = int(MACHINE["count"])
    BRANCH = int(MACHINE["driver"].split(".")[0])
    answer(sys.argv[1:])
