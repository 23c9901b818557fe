"""Messages about files that the loader finds and cannot take: damaged, of Windows, of another cuDNN."""

from __future__ import annotations

from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.telling import always, certainly, one_of, says, untold

LOADING = (
    Ambiguous(
        r"re:file too short|invalid ELF header|not a valid Win32 application",
        (
            Suspect(
                "bitsandbytes/native-library-corrupt",
                certainly(says("libbitsandbytes")),
                "it is bitsandbytes'",
            ),
            Suspect("driver/library-not-loadable", certainly(says("libcuda.so")), "it is the driver's"),
            Suspect(
                "torch/native-library-corrupt", certainly(says("torch/lib/", "/nvidia/")), "torch loads it"
            ),
            Suspect("python/files-missing-or-altered", always),
        ),
    ),
    Ambiguous(
        r"re:WinError (?:126|127|1114|182|193|998)\b",
        (
            Suspect(
                "torch/torchvision-mismatch",
                certainly(says(r"re:torch(?:vision|audio)\\")),
                "torchvision or torchaudio is loaded",
            ),
            Suspect(
                "bitsandbytes/cuda-libraries-not-found",
                certainly(says(r"re:libbitsandbytes\w{0,30}\.dll")),
                "bitsandbytes is loaded",
            ),
            Suspect(
                "torch/windows-runtime-missing",
                certainly(
                    says(
                        r"re:torch[\\/]{1,2}lib[\\/]{1,2}",
                        r"re:\b(?:c10|fbgemm|shm|torch_python|torch_cpu|libomp140|asmjit)\w{0,20}\.dll",
                    )
                ),
                "a library of torch is loaded",
            ),
        ),
    ),
    Ambiguous(
        one_of(
            r"cuDNN version incompatibility",
            r"libcudnn\w{0,20}\.so[.\d]{0,8}: undefined\s{1,4}symbol",
            r"CUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH",
            r"Could not load library libcudnn",
            r"Unable to load any of \{libcudnn",
            r"(?:libcudnn\w{0,30}|cudnn\w{0,30}64_\d)\.(?:so|dll)\S{0,20}: cannot open",
            r"Invalid handle\. Cannot load symbol cudnn",
        ),
        (
            Suspect(
                "cuda/cudnn-shadowed",
                certainly(says("incompatib", "undefined symbol", "LD_LIBRARY_PATH", "VERSION_MISMATCH")),
                "a cuDNN of another release is loaded",
            ),
            Suspect("cuda/cudnn-missing", always, "no cuDNN is found"),
        ),
    ),
    Ambiguous(
        one_of(
            r"CUDNN_STATUS_NOT_INITIALIZED",
            r"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
            r"GET was unable to find an engine",
            r"Unable to find a valid cuDNN",
            r"unable to find an engine to execute",
        ),
        (
            Suspect("workload/does-not-fit", certainly(says("out of memory")), "memory runs out as well"),
            Suspect(
                "torch/gpu-arch-missing",
                certainly(says("no kernel image", "not compatible with the current PyTorch")),
                "torch has no kernels for the GPU",
            ),
            Suspect("cuda/cudnn-shadowed", untold),
            Suspect("workload/does-not-fit", untold),
        ),
        "Does LD_LIBRARY_PATH name a folder with another cuDNN, and is memory left on the GPU?",
        (
            "python",
            "-c",
            "import os, torch; print(os.environ.get('LD_LIBRARY_PATH'), torch.backends.cudnn.version())",
        ),
    ),
)
