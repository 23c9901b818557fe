"""Messages of the loader: a library that is not found, a symbol that is in none, a version too old."""

from __future__ import annotations

import re

from doctor.triage.case import Case
from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.telling import (
    Test,
    all_of,
    always,
    any_of,
    certainly,
    mentions,
    one_of,
    opposite,
    says,
    untold,
)

# "libcudart.so.11.0: cannot open shared object file"
LOST = re.compile(r"lib(?:cudart|cublas|cublasLt|cusparse|cusolver|nvJitLink)\.so\.(\d{1,2})")
FLASH = says("flash_attn", "flash-attn", "flash_attention", "FlashAttention")
# Extensions that are built for one torch and one CUDA each.
EXTENSION_NAMES = (
    *("vllm", "exllama", "exllamav2", "exllamav2_ext", "exllama_kernels", "exllamav2_kernels", "mamba-ssm"),
    *("causal-conv1d", "causal_conv1d_cuda", "selective_scan_cuda", "apex", "fused_layer_norm_cuda"),
    *("autoawq", "awq_ext", "awq_inference_engine", "auto-gptq", "autogptq_cuda_256", "gptqmodel"),
    *("sageattention", "flashinfer", "transformer-engine", "grouped_gemm", "torch_scatter", "torch_sparse"),
    *("pytorch3d", "detectron2", "mmcv", "natten", "sgl-kernel", "sglang", "lmdeploy", "torchcodec"),
    *("deep_gemm", "llmcompressor"),
)
EXTENSIONS = mentions(*EXTENSION_NAMES)
BITSANDBYTES = says(
    "bitsandbytes native library",
    "/bitsandbytes/",
    r"\bitsandbytes",
    "libbitsandbytes",
    "bitsandbytes.cextension",
    "CUDA SETUP",
    "bitsandbytes library load error",
)
TORCH = says(
    "_preload_cuda_deps",
    "_load_global_deps",
    "from torch._C import",
    "libtorch_cuda",
    "libtorch_global_deps",
    "libtorch_python",
    "libc10_cuda",
    r"re:\n *import torch\n[^\n]{0,300}\n?(?:ImportError|OSError): lib",
)
OVERRIDE = re.compile(r"BNB_CUDA_VERSION[\"']?\]?\s{0,3}=")
ASK = "Which module is imported in the last frames above this line, and for which CUDA is torch built?"
PRINT = ("python", "-c", "import torch; print(torch.__version__, torch.version.cuda)")


def wants_other_major(case: Case) -> bool | None:
    """Is the library that is lost of another CUDA major than torch's, or than the toolkit's?"""
    found = LOST.search(case.text)
    torch = case.facts.torch.cuda_version if case.facts.torch else None
    if found is None or not torch:
        return None
    return torch.partition(".")[0] != found[1]


def lists_another_extension(case: Case) -> bool:
    """Is a compiled package installed, and flash-attn is not named?"""
    return not case.version("flash-attn") and any(case.version(name) for name in EXTENSION_NAMES)


def is_overridden(case: Case) -> bool | None:
    """Is BNB_CUDA_VERSION set, or the name that was built with it a doubled one?"""
    doubled = case.says(r"re:libbitsandbytes_cuda\d{2,3}_nocublaslt\d{2,3}")
    value = case.variable("BNB_CUDA_VERSION")
    return bool(value) or doubled or OVERRIDE.search(case.text) is not None


def lost(message: str, *likeliest: Suspect) -> Ambiguous:
    """A library of CUDA that the loader does not find: who asks for it is at fault, or torch lacks it."""
    return Ambiguous(
        message,
        (
            Suspect(
                "bitsandbytes/override-variable-wrong",
                certainly(all_of(BITSANDBYTES, is_overridden, wants_other_major)),
                "BNB_CUDA_VERSION selects a library for another CUDA than torch's",
            ),
            Suspect(
                "bitsandbytes/cuda-libraries-not-found", certainly(BITSANDBYTES), "bitsandbytes asks for it"
            ),
            Suspect("flash-attn/cuda-major-mismatch", certainly(FLASH), "flash-attn asks for it"),
            Suspect(
                "xformers/torch-mismatch", certainly(says("xformers", "xFormers")), "xformers asks for it"
            ),
            Suspect("torch/torchvision-mismatch", certainly(VISION), "torchvision or torchaudio asks for it"),
            Suspect("extension/cuda-major-mismatch", certainly(EXTENSIONS), "an extension asks for it"),
            Suspect("cuda/libraries-missing", certainly(TORCH), "torch asks for it"),
            *likeliest,
        ),
        ASK,
        PRINT,
    )


VISION = says(
    "libtorchaudio",
    "_torchaudio",
    "torchvision/_C",
    r"torchvision\_C",
    "torchvision/image.so",
    "torchaudio/lib",
)
MANGLED = one_of(
    r"[Ss]ymbol not found(?: in flat namespace)?:? ?'?_{1,3}ZN?K?\d{0,2}(?:3c10|2at|5torch)",
    r"undefined\s{1,4}symbol:? ?_ZN?K?\d{0,2}(?:3c10|2at|5torch|c10|torch)",
    r"undefined\s{1,4}symbol:? ?\w{0,60}(?:c10|at6Tensor|torch)",
)
TORCHS_OWN = r"re:torch/lib/lib(?:torch|c10)\w{0,20}\.so: undefined\s{1,4}symbol:? ?_Z"


def foreign(symptom: str) -> Test:
    """Does an object of this name lack a symbol, or does its package stand in the text?"""
    return certainly(says(symptom))


LINKING = (
    lost(
        r"re:libcudart\.so[.\d]{0,8}: cannot open shared object file",
        Suspect(
            "extension/cuda-major-mismatch",
            certainly(lists_another_extension),
            "a package with CUDA code of its own is installed",
        ),
        Suspect("flash-attn/cuda-major-mismatch", untold),
        Suspect("extension/cuda-major-mismatch", untold),
        Suspect("bitsandbytes/cuda-libraries-not-found", opposite(wants_other_major)),
    ),
    lost(
        r"re:libcu(?:sparse|blas|blasLt)\.so\.\d[\d.]{0,8}: cannot open shared object file",
        Suspect("bitsandbytes/cuda-libraries-not-found", untold),
        Suspect("cuda/libraries-missing", opposite(wants_other_major)),
    ),
    lost(
        r"re:lib(?:curand|cufft|cusolver|cupti|nvrtc|nccl|nvToolsExt|cusparseLt|cufile|nvshmem_host|nvJitLink)"
        r"\.so\.\d[\d.]{0,8}: cannot open shared object file",
        Suspect("cuda/libraries-missing", always),
    ),
    Ambiguous(
        r"re:lib(?:torch|c10)\w{0,30}\.so: cannot open shared object file",
        (
            Suspect("flash-attn/torch-abi-mismatch", certainly(FLASH), "flash-attn asks for it"),
            Suspect("torch/torchvision-mismatch", certainly(VISION), "torchvision or torchaudio asks for it"),
            Suspect("xformers/torch-mismatch", certainly(says("xformers")), "xformers asks for it"),
            Suspect("extension/torch-abi-mismatch", untold),
        ),
        "Which module is imported in the last frames above this line?",
    ),
    Ambiguous(
        MANGLED,
        (
            Suspect("torch/torchvision-mismatch", certainly(VISION), "torchvision or torchaudio lacks it"),
            Suspect(
                "flash-attn/torch-abi-mismatch",
                foreign(
                    one_of(
                        r"flash_attn[\w.-]{0,90}\.so:? undefined\s{1,4}symbol",
                        r"flash_attn_2_cuda",
                        r"fused_dense_lib",
                        r"rotary_emb",
                    )
                ),
                "flash-attn lacks it",
            ),
            Suspect(
                "xformers/torch-mismatch",
                foreign(r"re:xformers[/\\]\S{0,120}undefined\s{1,4}symbol|xformers/_C"),
                "xformers lacks it",
            ),
            Suspect("torchao/incompatible", foreign(r"re:torchao[/\\]\S{0,120}\.so"), "torchao lacks it"),
            Suspect("extension/torch-abi-mismatch", certainly(EXTENSIONS), "an extension lacks it"),
            Suspect(
                "torch/files-of-two-releases",
                certainly(says(TORCHS_OWN)),
                "a library of torch itself lacks it",
            ),
            Suspect(
                "extension/torch-abi-mismatch",
                foreign(r"re:\.(?:cpython-3\d{1,2}-[\w-]{1,30}|abi3)\.so:? undefined\s{1,4}symbol"),
                "an extension lacks it",
            ),
            Suspect("flash-attn/torch-abi-mismatch", any_of(FLASH, says("attn"))),
            Suspect("extension/torch-abi-mismatch", untold),
        ),
        "Which file does the line name that lacks the symbol?",
    ),
    Ambiguous(
        r"re:undefined\s{1,4}symbol:? ?(?:p?nccl)\w{1,60}",
        (
            Suspect(
                "cuda/mixed-majors",
                lambda case: has_two_majors(case, "nvidia-nccl"),
                "NCCL is there for two CUDA majors",
            ),
            Suspect("cuda/nccl-conflict", always),
        ),
    ),
    Ambiguous(
        one_of(
            r"undefined\s{1,4}symbol:? ?(?:cublasLt|cublas|cusparse|cudnn)\w{1,60}",
            r"undefined\s{1,4}symbol:? ?_{0,2}cuda\w{1,60},? version libcudart",
            r"symbol cu\w{3,60},? version libcu\w{2,30}\.so[.\d]{0,8} not defined in file",
        ),
        (
            Suspect(
                "cuda/cudnn-shadowed",
                certainly(says(r"re:undefined\s{1,4}symbol:? ?cudnn")),
                "cuDNN lacks it",
            ),
            Suspect("cuda/libraries-shadowed", always),
        ),
    ),
    Ambiguous(
        r"re:DLL load failed while importing (?:flash_attn|xformers|_C|libtriton|\w{1,40}_cuda)\w{0,40}",
        (
            Suspect(
                "flash-attn/torch-abi-mismatch",
                certainly(says("importing flash_attn")),
                "flash-attn is imported",
            ),
            Suspect(
                "triton/windows-library-not-loadable",
                certainly(says("importing libtriton")),
                "triton is imported",
            ),
            Suspect("xformers/torch-mismatch", certainly(says("xformers")), "xformers is imported"),
            Suspect(
                "torch/windows-runtime-missing",
                certainly(says("importing _C:", r"torch\__init__", r"\torch\lib")),
                "torch is imported",
            ),
            Suspect("extension/torch-abi-mismatch", untold),
        ),
    ),
)


def has_two_majors(case: Case, stem: str) -> bool | None:
    """Are wheels of NVIDIA for two CUDA majors told of?"""
    installed = case.facts.packages.installed if case.facts.packages else {}
    majors = {name for name in installed if name.startswith(stem)}
    return len(majors) > 1
