"""What bitsandbytes is asked to choose from, release by release; asked of our rule and of its own code."""

from __future__ import annotations

from typing import NamedTuple

from doctor.linking.choice import choose
from doctor.native import LibraryChoice

# The last release of each form that the code has had, and the first where the form is not older.
RELEASES = (
    *("0.40.2", "0.42.0", "0.43.0", "0.43.1", "0.44.1", "0.45.5", "0.46.1", "0.47.0", "0.48.2", "0.49.2"),
    "0.50.2",
)
CUDA = tuple(f"libbitsandbytes_cuda{digits}.so" for digits in (118, 121, 126, 130, 132))
TWINS = tuple(f"libbitsandbytes_cuda{digits}_nocublaslt.so" for digits in (118, 121))
ROCM = ("libbitsandbytes_rocm64.so", "libbitsandbytes_rocm72.so", "libbitsandbytes_rocm714.so")
XPU = ("libbitsandbytes_xpu.so", "libbitsandbytes_xpu2026.so")
CPU = "libbitsandbytes_cpu.so"
ALL = (CPU, *CUDA, *TWINS, *ROCM, *XPU)


class Case(NamedTuple):
    """A machine, as the rule sees it."""

    cuda: str | None = "12.6"
    hip: str | None = None
    gpu: bool = True
    override: str | None = None
    capability: str = "8.9"
    files: tuple[str, ...] = ALL
    xpu: str | None = None


CASES = {
    "exact": Case(),
    "exact, an old GPU": Case(cuda="11.8", capability="7.0"),
    "no twin for an old GPU": Case(cuda="12.6", capability="6.1"),
    "no GPU": Case(gpu=False),
    "CPU build": Case(cuda=None, gpu=False),
    "CPU build and variable": Case(cuda=None, gpu=False, override="118"),
    "nothing for the CPU": Case(cuda=None, gpu=False, files=CUDA),
    "nearest below": Case(cuda="12.8"),
    "nearest above": Case(cuda="12.0", files=(CPU, *CUDA)),
    "between two": Case(cuda="13.1"),
    "another major alone": Case(cuda="12.6", files=(CPU, "libbitsandbytes_cuda130.so")),
    "a major that is not there": Case(cuda="14.0"),
    "nothing but the CPU's": Case(files=(CPU,)),
    "nothing at all": Case(files=()),
    "a twin alone": Case(cuda="11.8", files=(CPU, *TWINS)),
    "variable, there": Case(override="118"),
    "variable, there, an old GPU": Case(cuda="12.1", override="118", capability="7.0"),
    "variable, absent": Case(override="999"),
    "variable, no number": Case(override="abc"),
    "variable, empty": Case(override=""),
    "variable, exact": Case(override="126"),
    "variable, no GPU": Case(gpu=False, override="abc"),
    "ROCm": Case(cuda=None, hip="6.4.43482-0f2d60242"),
    "ROCm, nearest": Case(cuda=None, hip="7.13.0"),
    "ROCm, two digits": Case(cuda=None, hip="7.14.60850"),
    "ROCm, absent": Case(cuda=None, hip="5.7.1"),
    "ROCm and variable": Case(cuda=None, hip="6.4.1", override="72"),
    "ROCm, no GPU": Case(cuda=None, hip="6.4.1", gpu=False),
    "XPU": Case(cuda=None, gpu=False, xpu="20260101"),
    "XPU, another year": Case(cuda=None, gpu=False, xpu="20250201"),
    "XPU, nothing there": Case(cuda=None, gpu=False, xpu="20250201", files=(CPU,)),
}


def choice_of(release: str, case: Case) -> LibraryChoice | None:
    """What our rule says of a case."""
    return choose(
        release, case.files, case.cuda, case.hip, case.gpu, case.override, case.capability, xpu=case.xpu
    )
