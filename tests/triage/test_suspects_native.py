"""Messages of driver, GPU and native libraries that several faults print: what decides between them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest

from doctor.facts import (
    DriverSigns,
    Facts,
    Gpu,
    Package,
    Packages,
    TorchBuild,
    Xid,
)
from doctor.triage.case import Case
from doctor.triage.recognition import rule_named
from doctor.triage.suspecting import suspicions
from doctor.triage.suspects import HARMLESS
from doctor.triage.suspects.native import AMBIGUOUS
from doctor.triage.suspects.sharing import others_hold_memory
from doctor.triage.suspects.telling import hides_gpus, in_container, on_jetson, on_mac, on_wsl

NO_GPUS = "RuntimeError: No CUDA GPUs are available"
NO_CUDA = "AssertionError: Torch not compiled with CUDA enabled"
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
CPU_SYMBOL = "AttributeError: /e/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: cget_col_row_stats"
BANNER = "UserWarning: /opt/conda did not contain ['libcudart.so'] as expected! Searching further paths..."
NO_LIBRARY = "CUDA SETUP: Required library version not found: libbitsandbytes_cuda118.so."
NO_CUDART = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"
NO_CUBLAS = "OSError: libcublas.so.12: cannot open shared object file: No such file or directory"
NO_LIBCUDA = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
ERROR_804 = "Error 804: forward compatibility was attempted on non supported HW"
UNKNOWN = "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g."
BUSY = "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"
NO_BF16 = (
    "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0"
)
MANGLED = "cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocation"
ASSERTED = "RuntimeError: CUDA error: device-side assert triggered"
LAUNCH = "RuntimeError: CUDA error: unspecified launch failure"
NO_FUNCTION = "RuntimeError: HIP error: invalid device function"
NCCL_SYSTEM = (
    "torch.distributed.DistBackendError: NCCL error, unhandled system error (run with NCCL_DEBUG=INFO"
)
NCCL_CUDA = "ncclUnhandledCudaError: Call to CUDA function failed."
OLD_OOM = "CUDA out of memory. (GPU 0; 23.69 GiB total capacity; {} already allocated; {} free)"
NEW_OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 23.69 GiB"
    " of which {1} is free. Of the allocated memory {0} is allocated by PyTorch"
)
LATEST = "Using `bitsandbytes` 4-bit quantization requires the latest version of bitsandbytes: `pip"
NVIDIA_SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


def system(**changes: Any) -> Facts:
    """Facts of nothing but a system."""
    assert healthy.FACTS.system
    return Facts(system=healthy.but(healthy.FACTS.system, **changes))


def gpus(*names: str) -> Facts:
    """Facts of nothing but GPUs."""
    return Facts(
        gpus=tuple(
            Gpu(
                index=place,
                name=name,
                compute_capability=None,
                memory_total_bytes=None,
                memory_free_bytes=None,
            )
            for place, name in enumerate(names)
        )
    )


def torch(version: str, variant: str, cuda: str | None) -> Facts:
    """Facts of nothing but torch."""
    return Facts(torch=TorchBuild(version=version, cuda_version=cuda, hip_version=None, variant=variant))


def packages(**versions: str) -> Facts:
    """Facts of nothing but packages."""
    named = {name.replace("_", "-"): version for name, version in versions.items()}
    return Facts(
        packages=Packages(
            installed={
                name: Package(name=name, version=version, location="", installer="")
                for name, version in named.items()
            },
            is_partial=True,
        )
    )


XIDS = Facts(
    driver_signs=DriverSigns(xids=(Xid(address="0000:01:00", code=79, text="GPU has fallen off the bus"),))
)
PROGRAMS_OWN = Facts(driver_signs=DriverSigns(xids=(Xid(address="0000:01:00", code=31, text="MMU fault"),)))
CPU, CUDA_12 = torch("2.6.0+cpu", "cpu", None), torch("2.6.0+cu124", "cu124", "12.4")
WSL, MAC, DOCKER = system(wsl=True), system(os="darwin"), system(container="docker")

# Text, facts, the fault that is named first.
DECIDED: list[tuple[str, Facts, str]] = [
    # A program that sees no GPU.
    (NO_GPUS, Facts(environment={"CUDA_VISIBLE_DEVICES": "3"}), "gpu/hidden-by-environment"),
    (f'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"\n{NO_GPUS}', Facts(), "gpu/hidden-by-environment"),
    (NO_GPUS, DOCKER, "gpu/none-visible-in-container"),
    (f"{NO_GPUS}\nError 802: system not yet initialized", Facts(), "driver/fabric-manager-not-running"),
    (NO_GPUS, CPU, "torch/cpu-only-build"),
    (NO_GPUS, gpus("NVIDIA A100-SXM4-80GB MIG 3g.40gb"), "gpu/mig-visibility"),
    (f"{NO_GPUS} on a Jetson Orin Nano", Facts(), "torch/jetson-wheel-not-l4t"),
    ("Found no NVIDIA driver on your system. Linux-5.15.148-tegra", Facts(), "torch/jetson-wheel-not-l4t"),
    (NO_GPUS, Facts(), "gpu/hidden-by-environment"),
    (NO_CUDA, CUDA_12, "torch/cpu-only-build"),
    (NO_CUDA, MAC, "script/cuda-on-macos"),
    (f"load_in_4bit, bitsandbytes\n{NO_CUDA}", MAC, "bitsandbytes/macos-unsupported"),
    (f"Jetson Orin, JetPack 6\n{NO_CUDA}", Facts(), "torch/jetson-wheel-not-l4t"),
    ("No GPU found. A GPU is needed for quantization.", MAC, "bitsandbytes/macos-unsupported"),
    ("No GPU found. A GPU is needed for quantization.", system(), "torch/cpu-only-build"),
    (
        "bitsandbytes (<0.43.1) requires CUDA, but CUDA is not available. You may",
        MAC,
        "bitsandbytes/macos-unsupported",
    ),
    ("bitsandbytes (<0.43.1) requires CUDA, but CUDA is not available. You may", CPU, "torch/cpu-only-build"),
    ("Found no NVIDIA driver on your system.", DOCKER, "gpu/none-visible-in-container"),
    ("Found no NVIDIA driver on your system.", WSL, "driver/libcuda-not-on-path"),
    ("Found no NVIDIA driver on your system.", Facts(), "driver/not-installed"),
    ("nvidia-smi: command not found", DOCKER, "gpu/none-visible-in-container"),
    ("nvidia-smi: command not found", Facts(), "driver/not-installed"),
    ("torch.cuda.is_available() returns False", CPU, "torch/cpu-only-build"),
    (
        "CUDA error: invalid device ordinal",
        Facts(environment={"CUDA_VISIBLE_DEVICES": ""}),
        "gpu/hidden-by-environment",
    ),
    ("CUDA error: invalid device ordinal", Facts(), "script/device-not-there"),
    (
        "xFormers was built for: PyTorch 2.5.1+cu124 with CUDA 1204 (you have 2.5.1+cpu)",
        Facts(),
        "torch/cpu-only-build",
    ),
    (
        "xFormers was built for: PyTorch 2.5.1+cu124 with CUDA 1204 (you have 2.6.0+cu124)",
        Facts(),
        "xformers/torch-mismatch",
    ),
    ("No HIP GPUs are available\nHIP_VISIBLE_DEVICES=2", Facts(), "rocm/hidden-by-environment"),
    ("No HIP GPUs are available\nls -l /dev/kfd", Facts(), "rocm/device-not-usable"),
    # A driver that does not serve.
    (ERROR_804, gpus("NVIDIA GeForce RTX 3090"), "driver/libcuda-mismatch"),
    (ERROR_804, DOCKER, "driver/too-old-for-cuda-runtime"),
    (f"{ERROR_804}\nDriver/library version mismatch", Facts(), "driver/library-version-mismatch"),
    (ERROR_804, Facts(), "driver/libcuda-mismatch"),
    (UNKNOWN, XIDS, "gpu/hardware-fault"),
    (UNKNOWN, PROGRAMS_OWN, "driver/uvm-broken"),
    (f"Failed to initialize NVML: Unknown Error\n{UNKNOWN}", Facts(), "driver/device-nodes-not-usable"),
    (BUSY, Facts(), "gpu/held-by-other-process"),
    (f"Compute M. E. Process\n{BUSY}", Facts(), "gpu/exclusive-compute-mode"),
    ("No devices were found", Facts(), "gpu/not-started"),
    ("No devices were found on my RTX 5090", Facts(), "driver/gpu-not-supported"),
    (NVIDIA_SMI, WSL, "driver/linux-driver-in-wsl"),
    (f"could not insert 'nvidia'\n{NVIDIA_SMI}", Facts(), "driver/module-not-loaded"),
    (NVIDIA_SMI, Facts(), "driver/not-installed"),
    (NO_LIBCUDA, WSL, "driver/libcuda-not-on-path"),
    (NO_LIBCUDA, DOCKER, "gpu/none-visible-in-container"),
    (f"nvidia-smi works\n{NO_LIBCUDA}", Facts(), "driver/libcuda-not-on-path"),
    (
        "CUDA driver version is insufficient for CUDA runtime version",
        Facts(),
        "driver/too-old-for-cuda-runtime",
    ),
    ("CUDA driver version is insufficient for CUDA runtime version", DOCKER, "gpu/none-visible-in-container"),
    # What the loader does not find, and what lacks a symbol.
    (f"import flash_attn_2_cuda as flash_attn_gpu\n{NO_CUDART}", Facts(), "flash-attn/cuda-major-mismatch"),
    (f"from vllm import LLM\n{NO_CUDART}", Facts(), "extension/cuda-major-mismatch"),
    (
        f"Could not load bitsandbytes native library: {NO_CUDART}",
        Facts(),
        "bitsandbytes/cuda-libraries-not-found",
    ),
    (NO_CUDART, Facts(), "flash-attn/cuda-major-mismatch"),
    (f"torch/__init__.py, in _preload_cuda_deps\n{NO_CUBLAS}", Facts(), "cuda/libraries-missing"),
    (NO_CUBLAS, Facts(), "bitsandbytes/cuda-libraries-not-found"),
    (f"flash_attn_2_cuda.{MANGLED}", Facts(), "flash-attn/torch-abi-mismatch"),
    (f"exllamav2_ext.{MANGLED}", Facts(), "extension/torch-abi-mismatch"),
    (f"/e/xformers/_C.{MANGLED}", Facts(), "xformers/torch-mismatch"),
    (
        "/e/torchaudio/lib/libtorchaudio.so: undefined symbol: _ZN3c104impl",
        Facts(),
        "torch/torchvision-mismatch",
    ),
    (
        "/e/torch/lib/libtorch_python.so: undefined symbol: _ZN5torch3jit",
        Facts(),
        "torch/files-of-two-releases",
    ),
    (
        "import flash_attn_2_cuda\nlibtorch_cuda_cpp.so: cannot open shared object file",
        Facts(),
        "flash-attn/torch-abi-mismatch",
    ),
    (
        "libtorch_cuda.so: undefined symbol: ncclMemAlloc",
        packages(nvidia_nccl_cu11="2.14.3", nvidia_nccl_cu12="2.21.5"),
        "cuda/mixed-majors",
    ),
    (
        "libtorch_cuda.so: undefined symbol: ncclMemAlloc",
        packages(nvidia_nccl_cu12="2.21.5"),
        "cuda/nccl-conflict",
    ),
    ("cuDNN version incompatibility: PyTorch was compiled against (8, 9, 2)", Facts(), "cuda/cudnn-shadowed"),
    ("libcudnn.so.8: cannot open shared object file", Facts(), "cuda/cudnn-missing"),
    (r'[WinError 127] x. Error loading "C:\e\torchvision\_C.pyd"', Facts(), "torch/torchvision-mismatch"),
    (
        r'[WinError 126] x. Error loading "C:\e\torch\lib\c10_cuda.dll"',
        Facts(),
        "torch/windows-runtime-missing",
    ),
    ("/e/libbitsandbytes_cuda126.so: file too short", Facts(), "bitsandbytes/native-library-corrupt"),
    ("/e/tokenizers.abi3.so: file too short", Facts(), "python/files-missing-or-altered"),
    # bitsandbytes and its library.
    (CPU_SYMBOL, Facts(), "bitsandbytes/cpu-library-loaded"),
    (CPU_SYMBOL, CPU, "torch/cpu-only-build"),
    (CPU_SYMBOL, MAC, "bitsandbytes/macos-unsupported"),
    (CPU_SYMBOL, WSL, "driver/libcuda-not-on-path"),
    (f"{NO_LIBRARY}\n{CPU_SYMBOL}", WSL, "bitsandbytes/native-library-missing"),
    (f"C:\\e\\bitsandbytes\\cuda_setup\\main.py\n{CPU_SYMBOL}", Facts(), "bitsandbytes/no-windows-binary"),
    ("CUDA Setup failed despite GPU being available.", system(os="win32"), "bitsandbytes/no-windows-binary"),
    ("CUDA Setup failed despite GPU being available.", system(), "bitsandbytes/cpu-library-loaded"),
    (NO_LIBRARY, Facts(), "bitsandbytes/native-library-missing"),
    (NO_LIBRARY, Facts(environment={"BNB_CUDA_VERSION": "118"}), "bitsandbytes/override-variable-wrong"),
    (
        f"  Successfully uninstalled torch-2.1.0+cu121\n{NO_LIBRARY}",
        Facts(),
        "torch/replaced-by-other-install",
    ),
    (
        "Configured ROCm binary not found at /e/libbitsandbytes_rocm64.so",
        Facts(),
        "bitsandbytes/rocm-library-missing",
    ),
    (BANNER, Facts(), HARMLESS),
    (BANNER, WSL, "driver/libcuda-not-on-path"),
    (
        f"{BANNER}\nCUDA SETUP: Loading binary /e/libbitsandbytes_cpu.so...",
        Facts(),
        "bitsandbytes/cpu-library-loaded",
    ),
    (LATEST, MAC, "bitsandbytes/macos-unsupported"),
    (LATEST, packages(bitsandbytes="0.39.0", accelerate="0.30.0"), "bitsandbytes/too-old"),
    (LATEST, packages(bitsandbytes="0.45.0", accelerate="1.2.0"), "python/stale-or-other-environment"),
    # A GPU at work.
    (NO_KERNEL, Facts(), "torch/gpu-arch-missing"),
    (f"{NO_KERNEL} at line 62 in file /s/csrc/ops.cu", Facts(), "bitsandbytes/gpu-arch-missing"),
    (f"exllama_kernels\n{NO_KERNEL}", Facts(), "extension/gpu-arch-missing"),
    (f"Jetson AGX Orin\n{NO_KERNEL}", Facts(), "torch/jetson-wheel-not-l4t"),
    ("HIP error: no kernel image is available for execution", Facts(), "rocm/gfx-not-in-build"),
    (
        "Error named symbol not found at line 529 in file /s/ops.cu on an Orin",
        Facts(),
        "torch/jetson-wheel-not-l4t",
    ),
    (
        "Error named symbol not found at line 529 in file /s/ops.cu",
        gpus("Tesla V100"),
        "bitsandbytes/wrong-cuda-library",
    ),
    (f"RX 6700 XT and an iGPU\n{NO_FUNCTION}", Facts(), "rocm/integrated-gpu-selected"),
    (f"RX 6700 XT\n{NO_FUNCTION}", Facts(), "rocm/gfx-not-in-build"),
    ("GPU arch: gfx1200\nAMD arch: gfx1036", Facts(), "rocm/integrated-gpu-selected"),
    ("AMD arch: gfx1103", Facts(), HARMLESS),
    (ASSERTED, Facts(), "script/token-id-out-of-range"),
    (ASSERTED, XIDS, "gpu/hardware-fault"),
    (f"2x RTX 4090, a single GPU works\n{ASSERTED}", Facts(), "gpu/peer-to-peer-unsupported"),
    (
        f"RTX 4090, a single GPU works\n{ASSERTED}",
        gpus("RTX 4090", "RTX 4090"),
        "gpu/peer-to-peer-unsupported",
    ),
    ("RuntimeError: CUDA error: out of memory", Facts(), "gpu/held-by-other-process"),
    (f"RTX 4090\n{ASSERTED}", Facts(), "script/token-id-out-of-range"),
    (LAUNCH, XIDS, "gpu/hardware-fault"),
    (f"It fails after suspend.\n{LAUNCH}", Facts(), "driver/uvm-broken"),
    (NO_BF16, gpus("Tesla T4"), "gpu/bf16-unsupported"),
    (NO_BF16, gpus("NVIDIA A100-SXM4-80GB"), "torch/cpu-only-build"),
    (NO_BF16, CPU, "torch/cpu-only-build"),
    (NO_BF16, Facts(), "gpu/bf16-unsupported"),
    ("Exception: cublasLt ran into an error!", gpus("Tesla P100-PCIE-16GB"), "gpu/int8-unsupported"),
    ("Exception: cublasLt ran into an error! on an H100", Facts(), "bitsandbytes/too-old"),
    # Memory, and the way between GPUs.
    (OLD_OOM.format("1.20 GiB", "13.00 MiB"), Facts(), "gpu/held-by-other-process"),
    (OLD_OOM.format("21.50 GiB", "13.00 MiB"), Facts(), "workload/does-not-fit"),
    (NEW_OOM.format("1.20 GiB", "512.00 MiB"), Facts(), "gpu/held-by-other-process"),
    (NEW_OOM.format("21.50 GiB", "512.00 MiB"), Facts(), "workload/does-not-fit"),
    ("CUDA out of memory", Facts(), "workload/does-not-fit"),
    ("CUDA out of memory\nPID    GPU Memory\n3794364 5144MiB", Facts(), "gpu/held-by-other-process"),
    ("/dev/shm/nccl-Vd1y2d: No space left on device", Facts(), "system/shared-memory-too-small"),
    ("OSError: [Errno 28] No space left on device", Facts(), "script/disk-full"),
    (f"{NCCL_SYSTEM}\nError while creating shared memory segment", Facts(), "system/shared-memory-too-small"),
    (NCCL_SYSTEM, DOCKER, "system/shared-memory-too-small"),
    (f"4x RTX 4090\n{NCCL_SYSTEM}", Facts(), "gpu/peer-to-peer-unsupported"),
    (f"{NCCL_CUDA} out of memory", Facts(), "workload/does-not-fit"),
    (NCCL_CUDA, gpus("NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090"), "gpu/peer-to-peer-unsupported"),
]
EXCLUDED = [
    (
        "\"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'",
        Facts(),
        "gpu/bf16-unsupported",
    ),
    (NCCL_CUDA, gpus("NVIDIA H100 80GB HBM3"), "gpu/peer-to-peer-unsupported"),
    ("Exception: cublasLt ran into an error!", gpus("NVIDIA A100-SXM4-80GB"), "gpu/int8-unsupported"),
]


def named(text: str, facts: Facts) -> list[str]:
    """The faults that a paste points at, the likeliest first."""
    return [one.finding.id for one in suspicions(Case(facts, text))]


@pytest.mark.parametrize(("text", "facts", "id"), DECIDED)
def test_what_else_is_told_decides(text: str, facts: Facts, id: str) -> None:
    asked = text.splitlines()
    line = max(place for place, one in enumerate(asked, 1) if one)
    told = suspicions(Case(facts, text))
    assert id in [one.finding.id for one in told if one.line == line][:1] or named(text, facts)[:1] == [id]


@pytest.mark.parametrize(("text", "facts", "id"), EXCLUDED)
def test_what_is_excluded_is_not_blamed(text: str, facts: Facts, id: str) -> None:
    assert id not in named(text, facts)


def test_every_suspect_is_a_fault_that_has_a_page() -> None:
    ids = {suspect.id for row in AMBIGUOUS for suspect in row.suspects} - {HARMLESS}
    assert [id for id in ids if rule_named(id) is None] == []


def test_where_nothing_decides_the_question_is_asked() -> None:
    told = suspicions(Case(Facts(), NO_GPUS))
    assert {one.finding.confidence for one in told} == {"possible"}
    assert {one.question for one in told} != {None} and len({one.question for one in told}) == 1


@pytest.mark.parametrize(
    ("text", "holds"), [(OLD_OOM.format("1.0 GiB", "0 bytes"), True), ("CUDA out of memory", None)]
)
def test_who_holds_the_memory(text: str, holds: bool | None) -> None:
    assert others_hold_memory(Case(Facts(), text)) is holds


@pytest.mark.parametrize(
    ("value", "count", "hides"),
    [
        ("", 0, True),
        ("-1", 0, True),
        ("none", 0, True),
        ("1", 0, True),
        ("0", 0, False),
        ("0,1", 0, False),
        ("1", 2, False),
        ("2", 2, True),
        ("GPU-8932f937", 1, None),
    ],
)
def test_what_a_variable_hides(value: str, count: int, hides: bool | None) -> None:
    shown = gpus(*["Tesla T4"] * count).gpus if count else None
    facts = Facts(gpus=shown, environment={"CUDA_VISIBLE_DEVICES": value})
    assert hides_gpus(Case(facts, "")) is hides


@pytest.mark.parametrize(
    ("test", "text", "facts", "holds"),
    [
        (on_mac, "/opt/homebrew/lib/python3.11", Facts(), True),
        (on_mac, "on my MacBook", system(), False),
        (on_mac, "nothing", Facts(), None),
        (on_wsl, "Linux-5.15.90.1-microsoft-standard-WSL2", Facts(), True),
        (on_wsl, "Linux-6.8.0-45-generic", Facts(), None),
        (in_container, "root@1a2b3c4d5e6f:/workspace#", Facts(), True),
        (in_container, "root@server:/workspace#", Facts(), None),
        (on_jetson, "Linux-5.15.136-tegra-aarch64", Facts(), True),
        (on_jetson, "", gpus("Tesla T4"), False),
    ],
)
def test_where_it_runs(test: Any, text: str, facts: Facts, holds: bool | None) -> None:
    assert test(Case(facts, text)) is holds
