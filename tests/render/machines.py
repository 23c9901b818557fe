"""Five machines, each as the report that a check of it yields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doctor.facts import (
    BitsandbytesBuild,
    BitsandbytesRuntime,
    Compiling,
    Driver,
    DriverSigns,
    Facts,
    Failure,
    FileCheck,
    FileFault,
    Gap,
    Gpu,
    Interpreter,
    Linkage,
    Package,
    Packages,
    Proof,
    StageRun,
    System,
    Toolkit,
    TorchBuild,
    TorchRuntime,
    Trial,
)
from doctor.findings import Evidence, Finding, Fix, NotJudged, Report, Subject
from doctor.native import Dependency, LibraryChoice, NativeLibrary

GIB = 1 << 30
MIB = 1 << 20
PYTHON = "~/train/.venv/bin/python"
SITE = "~/train/.venv/lib/python3.11/site-packages"
NO_DRIVER = "no NVIDIA GPU is on the bus and no driver answers (Driver Not Loaded)"

SYSTEM = System(
    os="linux",
    name="Debian GNU/Linux 12 (bookworm)",
    kernel="6.1.0-28-amd64",
    arch="x86_64",
    libc="glibc 2.36",
    cpu="AMD EPYC 9R14",
    cpu_count=2,
    ram_total_bytes=24 * GIB - 500 * MIB,
    ram_available_bytes=20 * GIB,
    disk_free_bytes=79 * GIB,
    shared_memory_bytes=12 * GIB,
    container=None,
    wsl=False,
)
INTERPRETER = Interpreter(
    executable=PYTHON,
    version="3.11.9",
    implementation="CPython",
    prefix="~/train/.venv",
    base_prefix="/usr",
    kind="venv",
    site_folders=(SITE,),
    user_site=None,
    externally_managed=False,
    has_pip=True,
    writable=True,
    noise="",
)
VERSIONS = {
    "torch": "2.13.0+cpu",
    "bitsandbytes": "0.50.2",
    "transformers": "5.24.0",
    "accelerate": "1.15.0",
    "peft": "0.21.2",
    "trl": "1.16.0",
    "numpy": "2.4.1",
}
TORCH_CPU = TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu")
TORCH_CPU_RUNTIME = TorchRuntime(
    version="2.13.0+cpu",
    file=f"{SITE}/torch/__init__.py",
    cuda_version=None,
    hip_version=None,
    arch_list=(),
    cuda_available=False,
    device_count=0,
    cuda_error="",
)
BITSANDBYTES = BitsandbytesBuild(
    version="0.50.2",
    libraries=("libbitsandbytes_cpu.so", "libbitsandbytes_cuda126.so", "libbitsandbytes_cuda130.so"),
    expected="libbitsandbytes_cpu.so",
    override=None,
)
BITSANDBYTES_RUNTIME = BitsandbytesRuntime(
    version="0.50.2",
    file=f"{SITE}/bitsandbytes/__init__.py",
    library="libbitsandbytes_cpu.so",
    mapped=(),
    handle="BNBNativeLibrary",
)
FILES = FileCheck(checked=15602, hashed=0)
HASHES = FileCheck(checked=15602, hashed=214)


def packages(**versions: str) -> Packages:
    return Packages(
        installed={
            name: Package(name=name, version=version, location=SITE, installer="pip")
            for name, version in {**VERSIONS, **versions}.items()
        }
    )


def ran(stage: Any, seconds: float, peak_mib: int, *proofs: Proof) -> StageRun:
    return StageRun(stage=stage, outcome="ok", seconds=seconds, peak_bytes=peak_mib * MIB, proofs=proofs)


def blocked(by: str, *stages: Any) -> tuple[StageRun, ...]:
    return tuple(StageRun(stage=stage, outcome="blocked", blocked_by=by) for stage in stages)


ERROR_BAND = Proof(name="nf4-error-band", holds=True, seen="0.0731", wanted="0.05 to 0.09")
LOSS_FALLS = Proof(name="loss-falls", holds=True, seen="4.96 to 3.12", wanted="a fall of at least 0.5")
FROZEN_BASE = Proof(name="base-unchanged", holds=True, seen="0 of 14 tensors changed", wanted="0")
IMPORTS = (
    ran("import-torch", 1.42, 210),
    ran("see-gpu", 0.01, 210),
    ran("import-bitsandbytes", 1.2, 260),
    ran("import-transformers", 2.1, 380),
    ran("import-accelerate", 0.3, 390),
    ran("import-peft", 1.1, 420),
    ran("import-trl", 1.7, 480),
)
SMOKE = (
    ran("load-4bit", 0.6, 490, ERROR_BAND),
    ran("lora-step", 1.1, 510, LOSS_FALLS),
    ran("qlora-step", 2.3, 560, LOSS_FALLS, FROZEN_BASE),
    ran("save-load", 0.8, 560),
    ran("sft-step", 3.1, 614, LOSS_FALLS),
)
TORCH_LIBRARY = NativeLibrary(package="torch", path=f"{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so")
CPU_LINKAGE = Linkage(
    libraries=(
        TORCH_LIBRARY,
        NativeLibrary(package="bitsandbytes", path=f"{SITE}/bitsandbytes/libbitsandbytes_cpu.so"),
    ),
    choice=LibraryChoice(
        library="libbitsandbytes_cpu.so", because="torch is a CPU-only build", is_there=True
    ),
)
COMPILING = Compiling(
    compiler="/usr/bin/gcc",
    python_header="/usr/include/python3.11/Python.h",
    libcuda_link="/usr/lib/x86_64-linux-gnu/libcuda.so",
    ptxas=f"{SITE}/triton/backends/nvidia/bin/ptxas",
    ptxas_version="12.8",
)
NO_GPU = (
    Gap(about="driver", kind="not-applicable", reason=NO_DRIVER),
    Gap(about="gpus", kind="not-applicable", reason=NO_DRIVER),
)
CPU_FACTS = Facts(
    system=SYSTEM,
    environment={"HF_HOME": "~/.cache/huggingface"},
    driver_signs=DriverSigns(nvml_error="Driver Not Loaded", nvml_code=9),
    interpreter=INTERPRETER,
    packages=packages(),
    files=FILES,
    torch=TORCH_CPU,
    bitsandbytes=BITSANDBYTES,
    linkage=CPU_LINKAGE,
    accelerators=(),
    toolkits=(),
    compiling=Compiling(compiler="/usr/bin/gcc", python_header="", libcuda_link=""),
    trial=Trial(device="cpu", runs=IMPORTS + SMOKE),
    torch_runtime=TORCH_CPU_RUNTIME,
    bitsandbytes_runtime=BITSANDBYTES_RUNTIME,
    hashes=HASHES,
    gaps=NO_GPU,
)
NEEDS_GPU = (
    NotJudged(id="driver/too-old-for-cuda-runtime", missing=("driver",)),
    NotJudged(id="gpu/bf16-unsupported", missing=("gpus",)),
    NotJudged(id="torch/gpu-arch-missing", missing=("gpus",)),
)


def report(
    facts: Facts,
    verdict: Any,
    findings: Sequence[Finding] = (),
    not_judged: Sequence[NotJudged] = NEEDS_GPU,
) -> Report:
    return Report(
        tool_version="0.1.0",
        matrix_reviewed="2026-11-29",
        subject=Subject("live", PYTHON),
        verdict=verdict,
        primary=findings[0].id if findings and findings[0].severity != "note" else None,
        findings=tuple(findings),
        gaps=facts.gaps,
        not_judged=tuple(not_judged),
        facts=facts,
    )


def healthy_cpu() -> Report:
    return report(CPU_FACTS, "healthy")


def broken_pair() -> Report:
    """peft imports a name that this transformers has removed."""
    raised = Failure(
        kind="raised",
        chain=(("ImportError", "cannot import name 'HybridCache' from 'transformers'"),),
        modules=("peft",),
        frames=(f"{SITE}/peft/peft_model.py:37 in <module>",),
    )
    runs = (
        *IMPORTS[:5],
        StageRun(stage="import-peft", outcome="failed", seconds=0.9, peak_bytes=410 * MIB, failure=raised),
        *blocked("import-peft", "import-trl"),
        SMOKE[0],
        *blocked("import-peft", "lora-step", "qlora-step", "save-load", "sft-step"),
    )
    facts = msgspec.structs.replace(
        CPU_FACTS, packages=packages(peft="0.17.0"), trial=Trial(device="cpu", runs=runs)
    )
    return report(facts, "broken", (OLD_PEFT, POLLUTED_PATH, CUDA_NUMBER, NEW_MATRIX))


OLD_PEFT = Finding(
    id="peft/too-old-for-transformers",
    severity="error",
    confidence="confirmed",
    title="peft 0.17.0 imports HybridCache, which transformers 5.24.0 no longer has",
    why=(
        "Transformers 5 removed the cache classes of version 4. Releases of peft before 0.18.0 import one of"
        " them at the top of peft_model.py, so that nothing of peft can be imported.\n\n"
        "Neither package declares it: pip check is content with this pair."
    ),
    breaks=("import-peft", "import-trl", "lora-step", "qlora-step", "sft-step"),
    evidence=(Evidence("peft", "0.17.0", ">=0.18.0"), Evidence("transformers", "5.24.0", "<5")),
    fixes=(
        Fix("Upgrade peft", ((PYTHON, "-m", "pip", "install", "peft>=0.18.0"),), "environment", True),
        Fix(
            "Go back to transformers 4 and to what goes with it",
            ((PYTHON, "-m", "pip", "install", "transformers>=4.56,<5", "huggingface-hub<1"),),
            "environment",
            False,
        ),
    ),
    symptoms=(
        Finding(
            id="trl/needs-newer-peft",
            severity="error",
            confidence="confirmed",
            title="trl 1.16.0 cannot be imported while peft 0.17.0 cannot",
            breaks=("import-trl",),
        ),
    ),
)
POLLUTED_PATH = Finding(
    id="python/path-pollution",
    severity="warning",
    confidence="likely",
    title="PYTHONPATH brings ~/old/lib into this environment",
    why="What lies there is imported before what is installed.",
    evidence=(Evidence("PYTHONPATH", "~/old/lib", "unset"),),
    fixes=(Fix("Clear it before training", (("unset", "PYTHONPATH"),), "setting"),),
)
CUDA_NUMBER = Finding(
    id="driver/cuda-number-misread",
    severity="note",
    confidence="confirmed",
    title="nvidia-smi's CUDA number is the most that the driver offers, not what torch uses",
)
NEW_MATRIX = Finding(
    id="doctor/matrix-outdated",
    severity="note",
    confidence="confirmed",
    title="trl 1.16.0 is newer than the newest trl that was reviewed, 1.15.2",
)


def truncated_library() -> Report:
    """The native library of bitsandbytes is cut short: loading it kills the process."""
    died = Failure(kind="died", signal="SIGBUS", modules=("bitsandbytes",))
    runs = (
        *IMPORTS[:2],
        StageRun(stage="import-bitsandbytes", outcome="failed", seconds=1.1, failure=died),
        *IMPORTS[3:],
        *blocked("import-bitsandbytes", "load-4bit", "qlora-step", "save-load"),
        SMOKE[1],
        SMOKE[4],
    )
    fault = FileFault(
        package="bitsandbytes",
        version="0.50.2",
        altered=("bitsandbytes/libbitsandbytes_cpu.so",),
        altered_count=1,
        truncated=("bitsandbytes/libbitsandbytes_cpu.so",),
    )
    facts = msgspec.structs.replace(
        CPU_FACTS,
        files=FileCheck(checked=15602, hashed=0, faults=(fault,)),
        trial=Trial(device="cpu", runs=runs),
        bitsandbytes_runtime=None,
        gaps=(*NO_GPU, Gap(about="bitsandbytes_runtime", kind="failed", reason="import-bitsandbytes failed")),
    )
    return report(facts, "broken", (CORRUPT_LIBRARY,))


CORRUPT_LIBRARY = Finding(
    id="bitsandbytes/native-library-corrupt",
    severity="error",
    confidence="confirmed",
    title="libbitsandbytes_cpu.so has 1,000,000 of its 2,417,688 bytes; loading it kills Python with SIGBUS",
    why="The download or the disk failed during the installation, and pip does not look at the file again.",
    breaks=("import-bitsandbytes", "load-4bit", "qlora-step"),
    evidence=(
        Evidence(f"{SITE}/bitsandbytes/libbitsandbytes_cpu.so", "1000000 bytes", "2417688 bytes"),
        Evidence(
            "import bitsandbytes",
            "Fatal Python error: Bus error\n\nCurrent thread 0x7f (most recent call first):",
        ),
    ),
    fixes=(
        Fix(
            "Install the same release again",
            (
                (PYTHON, "-m", "pip", "cache", "remove", "bitsandbytes"),
                (PYTHON, "-m", "pip", "install", "--force-reinstall", "--no-deps", "bitsandbytes==0.50.2"),
            ),
            "environment",
            True,
        ),
    ),
)


def nothing_installed() -> Report:
    """A fresh virtual environment."""
    facts = Facts(
        system=SYSTEM,
        environment={},
        driver_signs=DriverSigns(nvml_error="Driver Not Loaded", nvml_code=9),
        interpreter=msgspec.structs.replace(INTERPRETER, has_pip=False),
        packages=Packages(installed={}),
        files=FileCheck(checked=0, hashed=0),
        hashes=FileCheck(checked=0, hashed=0),
        gaps=(
            *NO_GPU,
            Gap(about="torch", kind="not-applicable", reason="torch is not installed"),
            Gap(about="bitsandbytes", kind="not-applicable", reason="bitsandbytes is not installed"),
            Gap(about="trial", kind="not-applicable", reason="no library of the stack is installed"),
            Gap(about="torch_runtime", kind="not-applicable", reason="torch is not installed"),
            Gap(about="bitsandbytes_runtime", kind="not-applicable", reason="torch is not installed"),
        ),
    )
    needs_stack = tuple(
        NotJudged(id=f"{name}/too-old", missing=("trial",)) for name in ("peft", "transformers")
    )
    return report(facts, "undetermined", not_judged=NEEDS_GPU + needs_stack)


def gpu_workstation() -> Report:
    """Two equal GPUs in a container; /dev/shm is small."""
    cuda = msgspec.structs.replace(TORCH_CPU, version="2.13.0+cu126", cuda_version="12.6", variant="cu126")
    card = Gpu(
        index=0,
        name="NVIDIA GeForce RTX 4090",
        compute_capability="8.9",
        memory_total_bytes=24 * GIB,
        memory_free_bytes=23 * GIB,
    )
    facts = msgspec.structs.replace(
        CPU_FACTS,
        system=msgspec.structs.replace(
            SYSTEM, container="docker", shared_memory_bytes=64 * MIB, cpu_count=32
        ),
        driver_signs=DriverSigns(kernel_version="550.54.15", bus_gpus=2),
        driver=Driver(version="550.54.15", cuda_version="12.4", source="nvml"),
        gpus=(card, msgspec.structs.replace(card, index=1)),
        packages=packages(torch="2.13.0+cu126"),
        torch=cuda,
        torch_runtime=msgspec.structs.replace(
            TORCH_CPU_RUNTIME,
            version="2.13.0+cu126",
            cuda_version="12.6",
            arch_list=("sm_80", "sm_86", "sm_90"),
            cuda_available=True,
            device_count=2,
            devices=(card.name, card.name),
            capabilities=("8.9", "8.9"),
            bf16=True,
        ),
        bitsandbytes=msgspec.structs.replace(BITSANDBYTES, expected="libbitsandbytes_cuda126.so"),
        linkage=cuda_linkage(),
        toolkits=(Toolkit(path="/usr/local/cuda-12.4", version="12.4", found_by="PATH", has_compiler=True),),
        compiling=COMPILING,
        bitsandbytes_runtime=msgspec.structs.replace(
            BITSANDBYTES_RUNTIME, library="libbitsandbytes_cuda126.so", mapped=("libcudart.so.12",)
        ),
        trial=Trial(device="cuda:0", runs=IMPORTS + SMOKE),
        gaps=(),
    )
    return report(facts, "impaired", (SMALL_SHARED_MEMORY, CUDA_NUMBER), not_judged=())


def cuda_linkage() -> Linkage:
    """bitsandbytes finds what torch has mapped already."""
    cudart = Dependency(
        name="libcudart.so.12",
        path=f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12",
        by="already loaded",
        asked_by="libbitsandbytes_cuda126.so",
    )
    library = NativeLibrary(
        package="bitsandbytes",
        path=f"{SITE}/bitsandbytes/libbitsandbytes_cuda126.so",
        dependencies=(cudart,),
        architectures=("sm_80", "sm_86", "sm_90", "compute_90"),
    )
    choice = LibraryChoice(
        library="libbitsandbytes_cuda126.so", because="torch is built for CUDA 12.6", is_there=True
    )
    return Linkage(libraries=(TORCH_LIBRARY, library), choice=choice)


SMALL_SHARED_MEMORY = Finding(
    id="system/shared-memory-too-small",
    severity="warning",
    confidence="confirmed",
    title="/dev/shm holds 64 MiB; NCCL and data loaders need more than that",
    why="Docker gives a container 64 MiB of shared memory unless it is told otherwise.",
    breaks=("multi-gpu",),
    evidence=(Evidence("/dev/shm", "64 MiB", "at least 1 GiB"),),
    fixes=(Fix("Start the container with more", (("docker", "run", "--shm-size=8g", "IMAGE"),), "system"),),
)

MACHINES = {
    "healthy_cpu": healthy_cpu,
    "broken_pair": broken_pair,
    "truncated_library": truncated_library,
    "nothing_installed": nothing_installed,
    "gpu_workstation": gpu_workstation,
}
