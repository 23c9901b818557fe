"""Error lines that people met, and the faults that they are known for: each its own, or one of several."""

from __future__ import annotations

import pytest

from doctor.facts import Facts
from doctor.matrix.messages import message_rules
from doctor.rules import code_rules
from doctor.triage.case import Case
from doctor.triage.suspecting import suspicions
from doctor.triage.suspects import HARMLESS

# By the subject of the fault, then the fault; lines as they stand in logs, paths shortened.
MET: dict[str, dict[str, tuple[str, ...]]] = {
    "driver": {
        "too-old-for-cuda-runtime": (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update",
            "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11",
            "CUDA error: CUDA driver version is insufficient for CUDA runtime version",
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your",
            "version 470.129.06 was detected and compatibility mode is UNAVAILABLE.",
        ),
        "too-old-for-ptx": (
            "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
            "Triton Error [CUDA]: device kernel image is invalid",
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain",
        ),
        "library-version-mismatch": (
            "Failed to initialize NVML: Driver/library version mismatch",
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknow",
            "NVRM: API mismatch: the client has the version 550.90.07, but",
        ),
        "not-installed": (
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
            "bash: nvidia-smi: command not found",
            "'nvidia-smi' is not recognized as an internal or external command,",
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that",
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open",
            "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found",
        ),
        "module-not-loaded": (
            "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.",
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
            "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic",
        ),
        "bound-to-vfio": ("\tKernel driver in use: vfio-pci",),
        "gpu-not-supported": (
            "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
            "NVRM: installed in this system is supported through the NVIDIA 470.xx Legacy drivers.",
        ),
        "libcuda-mismatch": (
            "Error 803: system has unsupported display driver / cuda driver combination",
            "Error 804: forward compatibility was attempted on non supported HW",
            "ggml_cuda_init: forward compatibility was attempted on non supported HW",
        ),
        "stub-library": ("CUDA error: CUDA driver is a stub library",),
        "libcuda-not-on-path": (
            "CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed? If you are on a",
        ),
        "fabric-manager-not-running": (
            "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
            "torch.AcceleratorError: CUDA error: system not yet initialized",
            "fabric manager NVIDIA GPU driver interface version 550.54.15 don't match with driver version 55",
        ),
        "uvm-broken": (
            "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env va",
            "modprobe: FATAL: Module nvidia_uvm not found in directory /lib/modules/6.1",
            "cuInit failed: CUDA_ERROR_UNKNOWN",
        ),
        "memory-sharing-fails": ("CUDA driver initialization failed, you might not have a CUDA gpu.",),
        "device-nodes-not-usable": ("Failed to initialize NVML: Unknown Error",),
        "hangs": ("nvidia-container-cli: initialization error: driver rpc error: timed out: unknown",),
    },
    "gpu": {
        "none-visible-in-container": (
            "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.",
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]',
            'could not select device driver "nvidia" with capabilities: [[gpu]]',
            "docker: Error response from daemon: failed to discover GPU vendor from CDI: no known GPU vendor",
            "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
            "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
        ),
        "hidden-by-environment": (
            "RuntimeError: No CUDA GPUs are available",
            "torch.AcceleratorError: CUDA error: no CUDA-capable device is detected",
            "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected",
        ),
        "held-by-other-process": (
            "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
            "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
        ),
        "hardware-fault": (
            "RuntimeError: CUDA error: uncorrectable ECC error encountered",
            "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error",
            "Unable to determine the device handle for GPU 0000:0A:00.0: GPU is lost.  Reboot the system to",
            "NVRM: Xid (PCI:0000:65:00): 79, pid=1183, GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:18:00): 48, pid=3010, An uncorrectable double bit error (DBE) has been dete",
        ),
        "mig-visibility": (
            "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at",
            "ValueError: invalid literal for int() with base 10: 'MIG-5b1c2f0c-7f1d-5d0a-a5ad-2f1f8a9c7d11'",
        ),
        "bf16-unsupported": (
            "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cu",
            "ValueError: Your setup doesn't support bf16/gpu. You need Ampere+ GPU with cuda>=11.0",
            "ValueError: bf16 mixed precision requires PyTorch >= 1.10 and a supported device.",
            "RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16.",
            "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU h",
            "Your device does not support bf16.",
        ),
        "int8-unsupported": (
            "Exception: cublasLt ran into an error!",
            "cuBLAS API failed with status 15",
        ),
        "peer-to-peer-unsupported": (
            "Using RTX 4000 series doesn't support faster communication broadband via P2P or IB.",
            "failed to open IPC handle : 217 peer access is not supported between these two devices",
        ),
        "not-started": ("No devices were found", "NVRM: RmInitAdapter failed! (0x62:0xffff:2477)"),
        "display-timeout": ("RuntimeError: CUDA error: the launch timed out and was terminated",),
    },
    "torch": {
        "cpu-only-build": (
            "AssertionError: Torch not compiled with CUDA enabled",
            "NotImplementedError: Unsloth: No NVIDIA GPU found? Unsloth currently only supports GPUs!",
            "NotImplementedError: Unsloth cannot find any torch accelerator? You need a GPU.",
            "NotImplementedError: Unsloth currently only works on NVIDIA GPUs and Intel GPUs.",
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If yo",
            "xFormers was built for:     PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.1.0+cpu)",
        ),
        "gpu-arch-missing": (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
            "Tesla K80 with CUDA capability sm_37 is not compatible with the current PyTorch installation.",
            "The current PyTorch install supports CUDA capabilities sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 co",
            "ggml_cuda: CUDA_ERROR_NO_BINARY_FOR_GPU",
        ),
        "torchvision-mismatch": (
            "RuntimeError: operator torchvision::nms does not exist",
            "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.",
            "Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision versions are",
            "RuntimeError: Detected that PyTorch and TorchAudio were compiled with different CUDA versions.",
            "OSError: /e/torchaudio/lib/libtorchaudio.so: undefined symbol: _ZN3c105ErrorC2ENS_14Sour",
        ),
        "mkl-mismatch": ("torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",),
        "windows-runtime-missing": (
            r'OSError: [WinError 126] Nicht gefunden. Error loading "C:\e\torch\lib\shm.dll" or one of',
            r'OSError: [WinError 1114] A DLL initialization routine failed. Error loading "C:\e\torch\lib\c1',
            "Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.",
        ),
        "replaced-by-other-install": ("      Successfully uninstalled torch-2.6.0+cu124",),
        "cuda-not-usable": (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda",
        ),
        "native-library-corrupt": ("OSError: /e/torch/lib/libtorch_cuda.so: file too short",),
        "files-of-two-releases": (
            "ImportError: /site-packages/torch/lib/libtorch_python.so: undefined symbol: _ZN5torch3jit17pars",
        ),
    },
    "cuda": {
        "libraries-missing": (
            "ImportError: libcufft.so.11: cannot open shared object file: No such file or directory",
            "ImportError: libcusparseLt.so.0: cannot open shared object file: No such file or directory",
            "ImportError: libnccl.so.2: cannot open shared object file: No such file or directory",
        ),
        "nvjitlink-shadowed": (
            "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
            "symbol __nvJitLinkCreate_12_8 version libnvJitLink.so.12 not defined in file libnvJitLink.so.12",
        ),
        "cudnn-shadowed": (
            "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found",
            "Could not load library libcudnn_ops.so.9. Error: libcudnn_ops.so.9: undefined symbol: _Z",
            "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        ),
        "cudnn-missing": (
            "Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared",
            "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
            "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_",
        ),
        "nccl-conflict": ("libtorch_cuda.so: undefined symbol: ncclCommRegister",),
        "toolkit-mismatch": (
            "RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile",
            "CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 12.6 does not match the",
            "RuntimeError: FlashAttention is only supported on CUDA 11.7 and above.",
        ),
        "nvcc-missing": (
            "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
            "deepspeed.ops.op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to comp",
            "/bin/sh: 1: nvcc: not found",
            "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'",
            "/usr/bin/ld: cannot find -lcurand: No such file or directory",
        ),
        "toolkit-too-old-for-gpu": ("nvcc fatal   : Unsupported gpu architecture 'compute_120'",),
        "libraries-shadowed": (
            "Inconsistency detected by ld.so: dl-version.c: 205: _dl_check_map_versions:",
        ),
    },
    "bitsandbytes": {
        "native-library-missing": (
            "CUDA SETUP: Required library version not found: libbitsandbytes_cuda112.so. Maybe you need to c",
            "Could not find the bitsandbytes CUDA binary at WindowsPath('C:/e/libbitsandbytes_cuda126.dll')",
            "RuntimeError: Configured CUDA binary not found at /e/bitsandbytes/libbitsandbytes_cuda130.so",
            "RuntimeError: No compatible CUDA binary found at /e/bitsandbytes/libbitsandbytes_cuda117.so",
            "Library not found: /src/bitsandbytes/libbitsandbytes_cuda124.so. Maybe you need to compile it",
        ),
        "native-library-corrupt": ("OSError: /e/bitsandbytes/libbitsandbytes_cuda126.so: file too short",),
        "cpu-library-loaded": (
            "AttributeError: /e/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: cadam32bit_grad_fp32",
            "AttributeError: 'NoneType' object has no attribute 'cquantize_blockwise_fp16_nf4'",
            "NameError: name 'str2optimizer32bit' is not defined",
            "CUDA Setup failed despite GPU being available. Please run the following command to get more inf",
            "UserWarning: The installed version of bitsandbytes was compiled without GPU support. 8-bit opti",
            "Method 'cget_managed_ptr' not available in CPU-only version of bitsandbytes.",
        ),
        "override-variable-wrong": (
            "Required library version not found: libbitsandbytes_cuda118_nocublaslt118.so",
            "RuntimeError: BNB_CUDA_VERSION='12.4': value must be digits only (e.g. '124' for 12.4).",
        ),
        "cuda-libraries-not-found": (
            "Could not load bitsandbytes native library: libcusparse.so.12: cannot open shared object file",
            "🚨 CUDA SETUP ERROR: Missing dependency: libcublasLt.so.12 🚨",
            "libcublas.so.11: cannot open shared object file: No such file or directory",
        ),
        "gpu-arch-missing": (
            "Error no kernel image is available for execution on the device at line 62 in file /csrc/ops.cu",
        ),
        "wrong-cuda-library": ("Error named symbol not found at line 529 in file /src/csrc/ops.cu",),
        "weights-repacked-in-evaluation": ("AssertionError: N must be divisible by block_n",),
        "no-windows-binary": ("TypeError: argument of type 'WindowsPath' is not iterable",),
        "macos-unsupported": (
            "dlopen(/e/libbitsandbytes_cpu.so, 6): '/e/libbitsandbytes_cpu.so' (not a mach-o file)",
        ),
        "rocm-library-missing": (
            "RuntimeError: Configured ROCm binary not found at /e/bitsandbytes/libbitsandbytes_rocm72.so",
            "Could not find the bitsandbytes ROCm binary at PosixPath('/e/libbitsandbytes_rocm63.so')",
            "OSError: /e/bitsandbytes/libbitsandbytes_rocm62.so: undefined symbol: _Z36__device_stub__kOptim",
        ),
    },
    "flash-attn": {
        "too-new": ("Requires Flash-Attention version >=2.7.1,<=2.7.4 but got 2.8.0.post2.",),
        "torch-abi-mismatch": (
            "ImportError: /e/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZNK3c1011",
            "ImportError: /e/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN2at4_op",
            "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could n",
            "ImportError: flash_attn_2_cuda undefined symbol",
        ),
        "cuda-major-mismatch": (
            "ImportError: libcudart.so.12: cannot open shared object file: No such file",
        ),
        "gpu-too-old": (
            "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
            "RuntimeError: Expected is_sm8x || is_sm90 to be true, but got false.",
        ),
    },
    "xformers": {
        "torch-mismatch": (
            "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:",
            "    PyTorch 2.5.1+cu124 with CUDA 1204 (you have 2.6.0+cu126)",
            "    xFormers wasn't build with CUDA support",
        ),
    },
    "triton": {
        "libcuda-not-linkable": (
            "/usr/bin/ld: cannot find -lcuda: No such file or directory",
            "AssertionError: libcuda.so cannot found!",
        ),
        "gpu-too-new": (
            "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
            "'sm_120' is not a recognized processor for this target (ignoring processor)",
            "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl.sync.bfly.i32",
        ),
        "python-headers-missing": (
            "/tmp/tmpab/main.c:5:10: fatal error: Python.h: No such file or directory",
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
            "error: command 'gcc' failed: No such file or directory",
        ),
        "cache-not-writable": ("PermissionError: [Errno 13] Permission denied: '/home/u/.triton/cache/a'",),
        "windows-library-not-loadable": (
            "ImportError: DLL load failed while importing libtriton: Eine DLL-",
        ),
    },
    "extension": {
        "torch-abi-mismatch": (
            "ImportError: /e/exllamav2_ext.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9S",
            "ImportError: /e/vllm/_C.abi3.so: undefined symbol: _ZN3c106detail23torchInternalAssertFailENS",
        ),
        "gpu-arch-missing": (
            "File /e/exllama_kernels.py: CUDA error: no kernel image is available for execution on the devic",
        ),
        "compiler-too-new": (
            "#error -- unsupported GNU version! gcc versions later than 12 are not supported!",
        ),
    },
    "rocm": {
        "gfx-not-in-build": (
            "RuntimeError: HIP error: invalid device function",
            '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"',
            "Error invalid device function at line 98 in file /src/csrc/ops.hip",
        ),
        "device-not-usable": (
            "Unable to open /dev/kfd read-write: Permission denied",
            "RuntimeError: No HIP GPUs are available",
        ),
    },
    "system": {
        "glibc-too-old": (
            "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by",
            "/lib64/libm.so.6: version 'GLIBC_2.29' not found",
        ),
        "libstdcxx-too-old": (
            "ImportError: /opt/conda/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /e/",
            "OSError: /lib64/libstdc++.so.6: version `CXXABI_1.3.13' not found",
        ),
        "shared-memory-too-small": (
            "Error while creating shared memory segment /dev/shm/nccl-Vd1y2d (size 9637888)",
            "RuntimeError: DataLoader worker (pid 2412) is killed by signal: Bus error. It is possible that",
            "Error: failed to extend /dev/shm/nccl-fjwOOB to 5967876 bytes, error: No space left on device (",
        ),
        "memory-lock-limited": ("misc/ibvwrap.cc:160 NCCL WARN Call to ibv_reg_mr failed",),
        "library-missing": (
            "ImportError: libnuma.so.1: cannot open shared object file: No such file or directory",
            "OSError: libnvpl_lapack_lp64_gomp.so.0: cannot open shared object file: No such file or directo",
        ),
        "paging-file-too-small": (
            "OSError: [WinError 1455] The paging file is too small for this operation",
        ),
        "openmp-loaded-twice": (
            "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already",
        ),
        "build-tools-missing": ("error: Microsoft Visual C++ 14.0 or greater is required. Get it with",),
    },
    "numpy": {
        "abi-mismatch": (
            "A module that was compiled using NumPy 1.x cannot be run in",
            "AttributeError: _ARRAY_API not found",
            "RuntimeError: Numpy is not available",
            "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C h",
            "RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is 0x2000",
        ),
    },
    "script": {
        "token-id-out-of-range": ("RuntimeError: CUDA error: device-side assert triggered",),
        "device-not-there": ("RuntimeError: CUDA error: invalid device ordinal",),
        "flash-attention-in-float32": ("RuntimeError: FlashAttention only support fp16 and bf16 data type",),
        "fp8-on-old-gpu": (
            "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes",
        ),
        "compile-on-old-gpu": (
            "Found Tesla P100 which is too old to be supported by the triton GPU compiler, which",
        ),
        "disk-full": (
            "OSError: [Errno 28] No space left on device",
            "OSError: [Errno 122] Disk quota exceeded",
        ),
        "ranks-share-a-gpu": ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",),
        "cuda-before-fork": (
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with",
        ),
    },
    "workload": {
        "does-not-fit": ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",),
    },
}
LINES = [
    (f"{subject}/{fault}", line)
    for subject, faults in MET.items()
    for fault, lines in faults.items()
    for line in lines
]
SUBJECTS = {*MET} - {"script", "workload"}
# What is seen by looking alone, and prints nothing of its own.
WORDLESS = {
    *(
        "driver/crashes",
        "driver/library-not-loadable",
        "driver/linux-driver-in-wsl",
        "driver/cuda-start-failed",
    ),
    *("driver/cuda-number-misread", "driver/witnesses-disagree", "gpu/throttled", "gpu/pcie-degraded"),
    *("gpu/not-allocated-by-slurm", "cuda/mixed-majors", "cuda/libraries-mismatched"),
    *("bitsandbytes/native-library-not-loaded", "bitsandbytes/quantises-on-gpu-only"),
    *("bitsandbytes/jetson-wheel-not-l4t", "torch/built-for-another-vendor"),
}
# Known by what else the paste says: the message alone points at another fault first.
TOLD_APART = {
    *(
        "driver/not-answering",
        "system/disk-full",
        "gpu/exclusive-compute-mode",
        "rocm/integrated-gpu-selected",
    ),
    *("extension/cuda-major-mismatch", "torch/jetson-wheel-not-l4t", "rocm/hidden-by-environment"),
}
EXPECTED_OTHERWISE = ("/import-failed", "/import-crashed", "/import-hung", "/missing")
HEALTHY = (
    "UserWarning: /opt/conda did not contain ['libcudart.so', 'libcudart.so.11.0'] as expected! Searching fu",
    "CUDA_SETUP: WARNING! libcudart.so not found in any environmental path. Searching in backup paths...",
    "CUDA SETUP: Loading binary /e/bitsandbytes/libbitsandbytes_cuda118.so...",
    "The detected CUDA version (12.2) has a minor version mismatch with the version that was used to compile",
    "Installed CUDA version 12.1 does not match the version torch was compiled with 11.8 but since the",
    "Epoch 1/3: loss=1.23, 80% of CUDA memory in use",
    "| NVIDIA-SMI 550.90.07    Driver Version: 550.90.07    CUDA Version: 12.4 |",
)


def pointed_at(line: str) -> list[str]:
    """The faults that a line is known for, the likeliest first."""
    return list(dict.fromkeys(one.finding.id for one in suspicions(Case(Facts(), line))))


@pytest.mark.parametrize(("id", "line"), LINES)
def test_a_line_is_known(id: str, line: str) -> None:
    assert pointed_at(line)[:1] == [id]


@pytest.mark.parametrize(("id", "line"), LINES)
def test_a_line_of_one_fault_points_at_no_other_unless_it_is_only_possible(id: str, line: str) -> None:
    told = suspicions(Case(Facts(), line))
    assert len(told) == 1 or {one.finding.confidence for one in told} == {"possible"}


def test_every_fault_that_prints_something_has_a_line() -> None:
    rules = [
        rule for rule in (*code_rules(scripts=False), *message_rules()) if rule.id.split("/")[0] in SUBJECTS
    ]
    ids = {rule.id for rule in rules if not rule.id.endswith(EXPECTED_OTHERWISE)}
    assert sorted(ids - {id for id, _ in LINES} - WORDLESS - TOLD_APART) == []


@pytest.mark.parametrize("line", HEALTHY)
def test_a_line_of_a_healthy_machine_accuses_nothing(line: str) -> None:
    assert pointed_at(line) in ([], [HARMLESS])
