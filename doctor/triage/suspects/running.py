"""Messages of a GPU at work: it has no such kernel, or the kernel fails."""

from __future__ import annotations

from doctor.matrix.gpu_code import fit
from doctor.rules.builds import NO_CODE
from doctor.triage.case import Case
from doctor.triage.suspects import HARMLESS, Ambiguous, Suspect
from doctor.triage.suspects.linking import EXTENSIONS
from doctor.triage.suspects.sharing import P2P_GPUS
from doctor.triage.suspects.telling import (
    all_of,
    always,
    any_of,
    by_rule,
    capabilities_of,
    certainly,
    has_broken_gpu,
    lacks_feature,
    on_jetson,
    one_of,
    opposite,
    says,
    torch_is_cpu,
    untold,
    without,
)

NO_KERNEL = one_of(
    r"[Nn]o kernel image is available",
    r"nvrtc: error: invalid value for --gpu-architecture",
    r"CUBLAS_STATUS_ARCH_MISMATCH",
    r"CUDA_ERROR_NO_BINARY_FOR_GPU",
    r"cudaErrorNoKernelImageForDevice",
)
OPS = says(r"re:csrc[/\\](?:ops|pythonInterface)\.(?:cu|hip)", r"re:bitsandbytes[/\\]\S{0,40}ops\.(?:cu|hip)")
INTEGRATED = says(
    r"re:\bgfx(?:902|90c|1036|1035|1103)\b",
    one_of(
        r"Radeon(?:\(TM\))? (?:Vega \d{0,2} ?)?Graphics",
        r"Radeon Vega(?: \d{1,2})? Graphics",
        r"integrated (?:AMD )?(?:GPU|graphics)",
        r"\biGPU\b",
    ),
)
DISCRETE = says(one_of(r"\bRX ?[5-9]\d00", r"\b[67]\d00 ?XTX?\b", r"\bMI[123]\d\d", r"Radeon (?:Pro )?W[67]"))
SEVERAL = says(
    one_of(r"device_map", r"[Mm]ulti[- ]?GPU", r"\b(?:two|both) GPUs", r"\b[2-8] ?[x*×] ?(?:RTX ?)?40[5-9]0")
)


def has_several(case: Case) -> bool | None:
    """Do several GPUs share the work?"""
    return len(case.facts.gpus or ()) > 1 or SEVERAL(case)


def lacks_torch_code(case: Case) -> bool | None:
    """Has torch's build no code for the GPU: by the list it prints, or by the tables?"""
    torch, capabilities = case.facts.torch, capabilities_of(case)
    runtime = case.facts.torch_runtime
    if runtime and runtime.arch_list and capabilities:
        cuda = (torch.cuda_version if torch else "") or ""
        return all(fit(runtime.arch_list, one, cuda) in NO_CODE for one in capabilities)
    return by_rule("torch/gpu-arch-missing")(case)


RUNNING = (
    Ambiguous(
        NO_KERNEL,
        (
            Suspect("rocm/gfx-not-in-build", certainly(says("HIP error", "ops.hip")), "HIP says so"),
            Suspect(
                "torch/jetson-wheel-not-l4t", certainly(all_of(on_jetson, without(OPS))), "it is a Jetson"
            ),
            Suspect("bitsandbytes/gpu-arch-missing", certainly(OPS), "bitsandbytes' own code says so"),
            Suspect(
                "torch/gpu-arch-missing",
                certainly(
                    any_of(says("is not compatible with the current PyTorch installation"), lacks_torch_code)
                ),
                "torch has no code for the GPU",
            ),
            Suspect(
                "xformers/torch-mismatch",
                certainly(says("xformers/ops", r"xformers\ops", "memory_efficient_attention")),
                "xformers' own code says so",
            ),
            Suspect(
                "extension/gpu-arch-missing",
                certainly(
                    any_of(EXTENSIONS, says("flash_attn_2_cuda", "flash_attn/", "exllama", "deepspeed/ops"))
                ),
                "an extension's code says so",
            ),
            Suspect("torch/gpu-arch-missing", untold),
        ),
        "For which GPUs is torch built, and which one is it?",
        (
            "python",
            "-c",
            "import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())",
        ),
    ),
    Ambiguous(
        one_of(
            r"named symbol not found at line \d",
            r"Error invalid device function at line \d+ in file \S{0,200}ops\.cu\b",
        ),
        (
            Suspect("torch/jetson-wheel-not-l4t", certainly(on_jetson), "it is a Jetson"),
            Suspect(
                "bitsandbytes/gpu-arch-missing",
                certainly(by_rule("bitsandbytes/gpu-arch-missing")),
                "its library has no code for the GPU",
            ),
            Suspect("bitsandbytes/wrong-cuda-library", untold),
            Suspect("bitsandbytes/gpu-arch-missing", untold),
        ),
        "Which GPU is it, and which library of bitsandbytes is loaded?",
        ("python", "-m", "bitsandbytes"),
    ),
    Ambiguous(
        one_of(
            r"HIP error: invalid device function",
            r"HIP error: the operation cannot be performed",
            r"hipErrorNoBinaryForGpu",
            r"Error invalid device function at line",
            r"hipErrorInvalidDeviceFunction",
            r"HIP error: shared object initialization failed",
        ),
        (
            Suspect(
                "rocm/integrated-gpu-selected",
                certainly(all_of(INTEGRATED, DISCRETE)),
                "the processor's own graphics is there beside a card",
            ),
            Suspect("rocm/gfx-not-in-build", always),
        ),
    ),
    # ComfyUI names the GPU that torch takes; whether it is the processor's own is told by the others.
    Ambiguous(
        r"re:AMD arch: gfx(?:90[2c]|103[567]|1103)\b",
        (
            Suspect(
                "rocm/integrated-gpu-selected",
                certainly(says(r"re:\bgfx(?:120[01]|110[0-2]|103[0-2]|90[068a]|94[0-2])\b")),
                "a card is there as well",
            ),
            Suspect(HARMLESS, always),
        ),
    ),
    Ambiguous(
        "device-side assert triggered",
        (
            Suspect(
                "gpu/hardware-fault", certainly(has_broken_gpu), "the kernel's log has an Xid of the GPU"
            ),
            Suspect(
                "gpu/peer-to-peer-unsupported",
                certainly(all_of(P2P_GPUS, has_several, says("P2P", "single GPU", "one GPU"))),
                "several consumer GPUs share the work, and one alone does it",
            ),
            Suspect("script/token-id-out-of-range", always),
        ),
    ),
    Ambiguous(
        r"re:CUDA error: (?:unspecified launch|an illegal memory access|misaligned address|an illegal instr)",
        (
            Suspect(
                "gpu/hardware-fault", certainly(has_broken_gpu), "the kernel's log has an Xid of the GPU"
            ),
            Suspect(
                "driver/uvm-broken",
                certainly(says(r"re:(?i:suspend|hibernat|wakes? up|woke up|after sleep)", "休眠", "睡眠")),
                "the machine has slept",
            ),
            Suspect("script/token-id-out-of-range", untold),
            Suspect("gpu/hardware-fault", untold),
        ),
        "What does the kernel's log say of the GPU, and what does the run say with CUDA_LAUNCH_BLOCKING=1?",
        ("sudo", "dmesg"),
    ),
    Ambiguous(
        one_of(
            r"doesn't support bf16/gpu",
            r"does not support bf(?:loat)?16",
            r"bf16 mixed precision requires",
            r"Bfloat16 is only supported on GPUs",
            r"(?<!unscale_cuda). not implemented for 'BFloat16'",
            r"[Ff]eature '[^'\n]{0,40}bf16[^'\n]{0,20}' requires \.target sm_80",
            r"CUBLAS_STATUS_NOT_SUPPORTED[^\n]{0,400}16BF",
            r"setup doesn't support bf16",
        ),
        (
            Suspect(
                "script/fp16-trainable-parameters",
                certainly(says(r"re:(?i:attempt{1,2}ing to unscale fp16)")),
                "bf16 was tried after the scaler had refused float16 weights",
            ),
            Suspect("torch/cpu-only-build", certainly(torch_is_cpu), "torch is a build for the CPU"),
            Suspect("gpu/bf16-unsupported", lacks_feature("bfloat16"), "the GPU is older than bfloat16"),
            Suspect(
                "torch/cpu-only-build",
                certainly(opposite(lacks_feature("bfloat16"))),
                "the GPU has bfloat16, so torch does not see it",
            ),
        ),
        "Which GPU is it, and does torch see it?",
        (
            "python",
            "-c",
            "import torch; print(torch.__version__, torch.cuda.is_available(), torch.cuda.get_device_name())",
        ),
    ),
    Ambiguous(
        one_of(
            r"cublasLt ran into an error",
            r"cuBLAS API failed with status 15",
            r"int8_linear_matmul not implemented",
            r"cublasLt\w{0,20} failed",
        ),
        (
            Suspect(
                "bitsandbytes/too-old", certainly(says(r"re:\bH[12]00\b", r"re:\bsm_90\b")), "it is an H100"
            ),
            Suspect(
                "gpu/int8-unsupported", lacks_feature("int8-tensor-cores"), "the GPU has no int8 kernels"
            ),
        ),
    ),
    Ambiguous(
        r"re:CUBLAS_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED|EXECUTION_FAILED|INTERNAL_ERROR|INVALID_VALUE)",
        (
            Suspect(
                "script/token-id-out-of-range",
                certainly(says("device-side assert", "Assertion `")),
                "an index is out of range as well",
            ),
            Suspect(
                "torch/gpu-arch-missing",
                certainly(any_of(says("not compatible with the current PyTorch"), lacks_torch_code)),
                "torch has no code for the GPU",
            ),
            Suspect(
                "cuda/libraries-shadowed",
                certainly(says(r"re:LD_LIBRARY_PATH\S{0,200}cuda")),
                "LD_LIBRARY_PATH names a CUDA",
            ),
            Suspect("workload/does-not-fit", untold),
            Suspect("script/token-id-out-of-range", untold),
            Suspect("cuda/libraries-shadowed", untold),
        ),
        "Does the same batch run on the CPU, and is memory left on the GPU?",
        ("nvidia-smi",),
    ),
)
