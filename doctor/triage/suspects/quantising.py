"""Messages of bitsandbytes about its own native library, from the banners of 2022 to the errors of today."""

from __future__ import annotations

from doctor.triage.case import Case
from doctor.triage.suspects import HARMLESS, Ambiguous, Suspect
from doctor.triage.suspects.linking import is_overridden
from doctor.triage.suspects.telling import (
    Test,
    all_of,
    always,
    any_of,
    certainly,
    driver_is_too_old,
    hides_gpus,
    in_container,
    on_mac,
    on_windows,
    on_wsl,
    one_of,
    says,
    torch_is_cpu,
    untold,
    without,
)
from doctor.versions import comparable

# What bitsandbytes calls its library's functions.
NATIVE_CALL = (
    r"c(?:get|adam|lion|quantize|dequantize|gemm|percentile|extract|int8|igemm|transform|optimizer)_?\w"
)
FIRST_FOR_WINDOWS = "0.43.0"
NO_LIBRARY = says(
    "Required library version not found: libbitsandbytes",
    "Could not find the bitsandbytes CUDA binary",
    "Configured CUDA binary not found",
    "No compatible CUDA binary found",
    r"re:[Ll]ibrary not found: \S{0,200}libbitsandbytes_cuda",
)
CPU_LIBRARY = says(
    r"re:Loading binary \S{0,300}libbitsandbytes_cpu",
    r"re:\bbin \S{0,300}libbitsandbytes_cpu",
    "Defaulting to libbitsandbytes_cpu",
    "libbitsandbytes_cpu.so: undefined symbol",
)
FAILED = says(
    "CUDA Setup failed despite",
    "CUDA SETUP: Setup Failed",
    "CUDA detection failed",
    "NameError: name 'str2optimizer",
)
# What no release says that has a library for Windows.
ANCIENT_ON_WINDOWS = says(
    *("WindowsPath", "cuda_setup", "CUDA SETUP: ", "CUDA_SETUP: ", "libbitsandbytes_cpu.so"),
    *("UserWarning: The installed version", "despite GPU being available"),
)
NO_LIBCUDA = says("libcuda.so not found! Do you have", "libcuda.so: cannot open shared object file")


def is_older_than(first: str) -> Test:
    """Is bitsandbytes older than a release?"""

    def holds(case: Case) -> bool | None:
        have, bound = comparable(case.version("bitsandbytes") or ""), comparable(first)
        return have < bound if have and bound else None

    return holds


def was_replaced(case: Case) -> bool | None:
    """Does an installer's log show that torch was exchanged?"""
    return case.says(r"re:Successfully uninstalled torch-\d[\d.]{1,8}\+cu\d{3}") or None


MAC = Suspect("bitsandbytes/macos-unsupported", certainly(on_mac), "it is a Mac")
WINDOWS = Suspect(
    "bitsandbytes/no-windows-binary",
    certainly(
        all_of(
            on_windows,
            any_of(
                is_older_than(FIRST_FOR_WINDOWS),
                ANCIENT_ON_WINDOWS,
            ),
        )
    ),
    "it is Windows, for which this release has no library",
)
CPU_TORCH = Suspect("torch/cpu-only-build", certainly(torch_is_cpu), "torch is a build for the CPU")
HIDDEN = Suspect("gpu/hidden-by-environment", certainly(hides_gpus), "CUDA_VISIBLE_DEVICES leaves no GPU")
OLD_DRIVER = Suspect(
    "driver/too-old-for-cuda-runtime", certainly(driver_is_too_old), "the driver is too old for torch"
)
WSL = Suspect(
    "driver/libcuda-not-on-path",
    certainly(all_of(on_wsl, without(NO_LIBRARY))),
    "it is WSL, where libcuda lies apart",
)
NO_DRIVER_LIBRARY = Suspect("driver/libcuda-not-on-path", certainly(NO_LIBCUDA), "libcuda is not found")
NOT_GIVEN = Suspect(
    "gpu/none-visible-in-container",
    certainly(all_of(in_container, says("No GPU detected", "WARNING: No GPU"))),
    "no GPU is seen in the container",
)
OVERRIDDEN = Suspect(
    "bitsandbytes/override-variable-wrong", certainly(is_overridden), "BNB_CUDA_VERSION is set"
)
MISSING = Suspect(
    "bitsandbytes/native-library-missing", certainly(NO_LIBRARY), "no library for this CUDA is found"
)
LOADED_CPU = Suspect("bitsandbytes/cpu-library-loaded", certainly(CPU_LIBRARY), "the CPU library is taken")
NOT_FOUND = Suspect(
    "bitsandbytes/cuda-libraries-not-found",
    certainly(
        says(
            r"re:lib(?:cudart|cublas|cublasLt|cusparse)\.so\.\d[\d.]{0,8}: cannot open",
            "main CUDA runtime library was not detected",
        )
    ),
    "CUDA's libraries are not found",
)
ROCM = Suspect(
    "bitsandbytes/rocm-library-missing",
    certainly(says(r"re:libbitsandbytes_(?:rocm|hip)", "ROCm Setup failed")),
    "the library for ROCm is asked for",
)
STARTS = (
    Suspect(
        "driver/libcuda-mismatch", certainly(says("Error 803", "unsupported display driver / cuda driver"))
    ),
    Suspect("driver/fabric-manager-not-running", certainly(says("system not yet initialized"))),
)
# Why the library for the CPU is taken, from what lies deepest.
DEEPER = (
    ROCM,
    MAC,
    WINDOWS,
    OVERRIDDEN,
    *STARTS,
    OLD_DRIVER,
    MISSING,
    NOT_FOUND,
    CPU_TORCH,
    HIDDEN,
    NOT_GIVEN,
    WSL,
    NO_DRIVER_LIBRARY,
)
BANNER = (
    WINDOWS,
    MAC,
    *STARTS,
    OLD_DRIVER,
    OVERRIDDEN,
    MISSING,
    CPU_TORCH,
    NOT_GIVEN,
    WSL,
    NO_DRIVER_LIBRARY,
    NOT_FOUND,
    LOADED_CPU,
)

QUANTISING = (
    Ambiguous(
        one_of(
            r"libbitsandbytes_cpu\.so: undefined symbol",
            r"name 'str2optimizer",
            r"function 'c\w{3,60}' not found",
            rf"'NoneType' object has no attribute '{NATIVE_CALL}",
            r"compiled without GPU support",
        ),
        (*DEEPER, Suspect("bitsandbytes/cpu-library-loaded", always)),
    ),
    Ambiguous(
        one_of(
            r"CUDA Setup failed despite",
            r"CUDA SETUP: Setup Failed",
            r"CUDA detection failed",
            r"Method 'c\w{1,60}' not available in CPU-only version",
        ),
        (*DEEPER, Suspect("bitsandbytes/cpu-library-loaded", always)),
    ),
    Ambiguous(
        one_of(
            r"Required library version not found: libs?bitsandbytes",
            r"libbitsandbytes_\w{2,30}\.(?:so|dylib): cannot open shared object file",
            r"(?:CUDA|ROCm) VERSION MISMATCH",
            r"Could not find the bitsandbytes \w{2,5} binary",
            r"(?:Configured|No compatible) \w{2,5} binary (?:not )?found",
            r"[Ll]ibrary not found: \S{0,200}libbitsandbytes_",
        ),
        (
            ROCM,
            OVERRIDDEN,
            MAC,
            Suspect(
                "torch/replaced-by-other-install", certainly(was_replaced), "torch was exchanged on the way"
            ),
            Suspect("bitsandbytes/native-library-missing", always),
        ),
    ),
    Ambiguous(
        one_of(
            r"did not contain .{0,80}as expected! Searching further",
            r"libcudart\.so not found in any environmental path",
            r"No libcudart\.so found!",
            r"Found duplicate \[?'?libcudart",
        ),
        (
            *BANNER,
            Suspect("bitsandbytes/cpu-library-loaded", certainly(FAILED), "its setup failed"),
            Suspect(HARMLESS, always),
        ),
    ),
    Ambiguous(
        one_of(
            r"WARNING: No GPU detected! Check your CUDA paths",
            r"libcuda\.so not found! Do you have a CUDA driver installed",
        ),
        (
            MAC,
            WINDOWS,
            *STARTS,
            OLD_DRIVER,
            CPU_TORCH,
            HIDDEN,
            WSL,
            Suspect("gpu/none-visible-in-container", certainly(in_container), "it runs in a container"),
            Suspect("driver/libcuda-not-on-path", untold),
            Suspect("driver/not-installed", untold),
        ),
        "Does nvidia-smi answer in this place, and where is libcuda.so.1?",
        ("sh", "-c", "nvidia-smi -L; ldconfig -p | grep libcuda"),
    ),
    Ambiguous(
        "argument of type 'WindowsPath' is not iterable",
        (Suspect("bitsandbytes/no-windows-binary", always),),
    ),
    Ambiguous(
        "bnb modules are not available",
        (MAC, Suspect("bitsandbytes/missing", untold), CPU_TORCH),
        "Which bitsandbytes does the running Python see?",
        ("python", "-m", "pip", "show", "bitsandbytes"),
    ),
    Ambiguous(
        one_of(
            r"bit quantization requires (?:the latest version of bitsandbytes|Accelerate)",
            r"requires the latest version of bitsandbytes",
        ),
        (
            MAC,
            Suspect(
                "accelerate/missing",
                certainly(lambda case: is_absent(case, "accelerate")),
                "accelerate is not installed",
            ),
            Suspect(
                "bitsandbytes/missing",
                certainly(lambda case: is_absent(case, "bitsandbytes")),
                "bitsandbytes is not installed",
            ),
            CPU_TORCH,
            Suspect("bitsandbytes/too-old", certainly(is_older_than("0.41.3")), "bitsandbytes is old"),
            Suspect(
                "python/stale-or-other-environment",
                certainly(lambda case: bool(case.version("bitsandbytes") and case.version("accelerate"))),
                "both are said to be installed",
            ),
            Suspect("bitsandbytes/too-old", untold),
            Suspect("python/stale-or-other-environment", untold),
            Suspect("torch/cpu-only-build", untold),
        ),
        "Which bitsandbytes and accelerate does the running Python see, and does torch see a GPU?",
        (
            "python",
            "-c",
            "import accelerate, bitsandbytes as b, torch; print(b.__version__, torch.cuda.is_available())",
        ),
    ),
)


def is_absent(case: Case, package: str) -> bool:
    """Is a package said not to be installed?"""
    return any(one.topic == "absent" and one.name == package for one in case.paste.statements)
