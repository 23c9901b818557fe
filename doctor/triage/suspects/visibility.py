"""Messages of programs that see no GPU: hidden, not passed in, no driver, or a torch without CUDA."""

from __future__ import annotations

from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.telling import (
    all_of,
    always,
    any_of,
    certainly,
    driver_is_too_old,
    has_driver,
    hides_gpus,
    in_container,
    is_divided,
    mentions,
    on_jetson,
    on_mac,
    on_wsl,
    one_of,
    says,
    torch_is_cpu,
    untold,
    without,
)

QUANTIZES = any_of(
    mentions("bitsandbytes", "quantization", "quantize", "qlora", "4-bit", "8-bit", "4bit", "8bit")
)
NO_DRIVER = says(
    "Found no NVIDIA driver on your system",
    r"re:nvidia-smi[:'\"]{0,2}:? (?:command )?not found",
    "'nvidia-smi' is not recognized",
    "command not found: nvidia-smi",
)
NOT_PASSED_IN = says("The NVIDIA Driver was not detected", "could not select device driver")
IS = r"(?: is| ?[-=]>| returns?| returned| gives| shows| =|:|\s{0,2}#|\s{0,3}>>>|为|返回|是|\s)?"
ASK = "Does torch have CUDA in it, which devices may it see, and does a driver answer?"
PRINT = (
    "python",
    "-c",
    "import os, torch; print(torch.__version__, torch.version.cuda, torch.cuda.device_count(),"
    " os.environ.get('CUDA_VISIBLE_DEVICES'))",
)

CPU_BUILD = Suspect("torch/cpu-only-build", torch_is_cpu, "torch is a build for the CPU")
HIDDEN = Suspect("gpu/hidden-by-environment", hides_gpus, "CUDA_VISIBLE_DEVICES leaves no GPU that is there")
MAC = Suspect("bitsandbytes/macos-unsupported", on_mac, "it is a Mac")
NOT_GIVEN = Suspect(
    "gpu/none-visible-in-container", any_of(NOT_PASSED_IN, in_container), "it runs in a container"
)
NOT_INSTALLED = Suspect("driver/not-installed", NO_DRIVER, "no driver answers")
# What keeps CUDA from starting says so in a line of its own; that a program sees no GPU only follows.
ROOTS = (
    Suspect("driver/fabric-manager-not-running", certainly(says("system not yet initialized"))),
    Suspect("driver/library-version-mismatch", certainly(says(r"re:[Dd]river/library version mismatch"))),
    Suspect(
        "driver/too-old-for-cuda-runtime",
        certainly(driver_is_too_old),
        "the driver is older than torch's CUDA",
    ),
    Suspect(
        "driver/libcuda-mismatch",
        certainly(
            says(
                "unsupported display driver / cuda driver combination", "forward compatibility was attempted"
            )
        ),
    ),
    Suspect("driver/uvm-broken", certainly(says("CUDA unknown error"))),
    Suspect("gpu/hardware-fault", certainly(says("fallen off the bus", "uncorrectable ECC error"))),
)


def sees_none(*likeliest: Suspect) -> tuple[Suspect, ...]:
    """The suspects behind a program that sees no GPU, after what keeps CUDA from starting."""
    rest = (
        one
        for one in (CPU_BUILD, HIDDEN, NOT_GIVEN, NOT_INSTALLED)
        if one.id not in {two.id for two in likeliest}
    )
    return (*ROOTS, ON_JETSON, *likeliest, *rest)


def row(message: str, *likeliest: Suspect) -> Ambiguous:
    """A message of a program that sees no GPU."""
    return Ambiguous(message, sees_none(*likeliest), ASK, PRINT)


IS_MAC = MAC._replace(holds=certainly(on_mac))
QUANTIZING_MAC = Suspect(
    "bitsandbytes/macos-unsupported", certainly(all_of(on_mac, QUANTIZES)), "it is a Mac"
)
CUDA_ON_MAC = Suspect("script/cuda-on-macos", certainly(on_mac), "it is a Mac, which has no CUDA")
ON_JETSON = Suspect("torch/jetson-wheel-not-l4t", certainly(on_jetson), "it is a Jetson")
DIVIDED = Suspect("gpu/mig-visibility", certainly(is_divided), "the GPU is divided by MIG")
SEEN_CPU = CPU_BUILD._replace(holds=certainly(torch_is_cpu))

VISIBILITY = (
    Ambiguous(
        "Torch not compiled with CUDA enabled",
        (
            QUANTIZING_MAC,
            CUDA_ON_MAC,
            ON_JETSON,
            CPU_BUILD._replace(holds=always, because="torch says so itself"),
        ),
    ),
    row(
        r"re:Unsloth:? (?:No NVIDIA GPU found|cannot find any torch accelerator|currently only works on)",
        IS_MAC,
        CPU_BUILD,
    ),
    row(
        r"re:deserialize object on a CUDA device but torch\.cuda\.is_available\(\)",
        CUDA_ON_MAC,
        CPU_BUILD,
    ),
    row(
        rf"re:torch\.cuda\.is_available\(\)\)?['\"`]?{IS} {{0,4}}['\"`*]{{0,2}}[Ff]alse",
        CUDA_ON_MAC,
        CPU_BUILD,
    ),
    row("No GPU found. A GPU is needed for quantization", IS_MAC, CPU_BUILD, HIDDEN),
    row("CUDA is required but not available for bitsandbytes", IS_MAC, CPU_BUILD),
    row("(<0.43.1) requires CUDA, but CUDA is not available", IS_MAC, CPU_BUILD, HIDDEN),
    row(
        one_of(r"Flash ?Attention ?2 is not available on CPU", r"Failed to infer device type"),
        CPU_BUILD,
    ),
    row(
        "None of the available devices `available_devices",
        IS_MAC,
        Suspect(
            "python/packages-overlap",
            certainly(lambda case: bool(case.version("bitsandbytes-windows"))),
            "bitsandbytes-windows is installed as well, in the same folder",
        ),
        CPU_BUILD,
    ),
    row("GPU is required to quantize or run quantize", IS_MAC, CPU_BUILD),
    row(
        one_of(
            r"fp16 mixed precision requires a GPU",
            r"FP16 Mixed precision training with AMP",
            r"can only be used on CUDA devices",
        ),
        CUDA_ON_MAC,
        CPU_BUILD,
    ),
    # torch without CUDA says another thing, so a torch that says this has CUDA and no device.
    row("No CUDA GPUs are available", SEEN_CPU, DIVIDED, HIDDEN, NOT_GIVEN, NOT_INSTALLED),
    row(
        one_of(r"no CUDA-capable device is detected", r"CUDA_ERROR_NO_DEVICE", r"cudaErrorNoDevice"),
        SEEN_CPU,
        HIDDEN,
        NOT_GIVEN,
        NOT_INSTALLED,
    ),
    row(
        "CUDA driver version is insufficient for CUDA runtime version",
        NOT_GIVEN._replace(holds=certainly(all_of(in_container, without(has_driver)))),
        Suspect("driver/too-old-for-cuda-runtime", always, "CUDA says so itself"),
    ),
    Ambiguous(
        "Found no NVIDIA driver on your system",
        (
            *ROOTS,
            ON_JETSON,
            Suspect("driver/libcuda-not-on-path", certainly(on_wsl), "it is WSL, where libcuda lies apart"),
            NOT_GIVEN._replace(holds=certainly(NOT_GIVEN.holds)),
            Suspect("driver/libcuda-not-on-path", certainly(has_driver), "a driver answers elsewhere"),
            NOT_INSTALLED._replace(holds=untold),
            NOT_GIVEN._replace(holds=untold),
        ),
        "Does it run in a container, and does nvidia-smi answer in there?",
        ("nvidia-smi",),
    ),
    Ambiguous(
        one_of(
            "nvidia-smi[:'\\\"]{0,2}:? (?:command )?not found",
            r"command not found: nvidia-smi",
            r"'nvidia-smi' is not recognized",
        ),
        (
            Suspect(
                "driver/libcuda-not-on-path", certainly(on_wsl), "it is WSL, whose folder is not on the path"
            ),
            NOT_GIVEN,
            NOT_INSTALLED._replace(holds=always),
        ),
    ),
    Ambiguous(
        r"re:invalid device ordinal|cudaErrorInvalidDevice\b",
        (
            Suspect("gpu/mig-visibility", certainly(is_divided), "the GPU is divided by MIG"),
            HIDDEN._replace(holds=certainly(hides_gpus)),
            Suspect("script/device-not-there", untold),
        ),
        "How many GPUs does torch see, and how many ranks are started?",
        PRINT,
    ),
    Ambiguous(
        one_of(r"xFormers can't load", r"xFormers was built for:", r"with CUDA \d{3,4} \(you have "),
        (
            SEEN_CPU,
            Suspect("xformers/torch-mismatch", always),
        ),
    ),
    Ambiguous(
        "No HIP GPUs are available",
        (
            Suspect("rocm/device-not-usable", certainly(says("/dev/kfd")), "/dev/kfd is spoken of"),
            Suspect(
                "rocm/hidden-by-environment",
                certainly(says(r"re:(?:HIP|ROCR)_VISIBLE_DEVICES *[=:]")),
                "a variable selects GPUs",
            ),
            Suspect("rocm/device-not-usable", untold),
            Suspect("rocm/hidden-by-environment", untold),
        ),
        "May this user open /dev/kfd, and is HIP_VISIBLE_DEVICES set?",
        ("sh", "-c", "ls -l /dev/kfd /dev/dri; id; env | grep VISIBLE"),
    ),
)
