"""Error lines that people met, and the rules that know them."""

from __future__ import annotations

import pytest

from doctor.diagnosis import all_rules, symptoms_by_id
from doctor.failures import shows

SYMPTOMS = symptoms_by_id(all_rules())
FLASH = "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol"
NOT_MACHO = "/bitsandbytes/libbitsandbytes_cpu.so' (not a mach-o file)"
NO_DLL = r'[WinError 126] The module could not be found. Error loading "C:\e\torch\lib\fbgemm.dll" or one'
MET = [
    ("bitsandbytes/cpu-library-loaded", "/x/libbitsandbytes_cpu.so: undefined symbol: cget_col_row_stats"),
    ("bitsandbytes/native-library-missing", "Required library version not found: libbitsandbytes_cuda124.so"),
    ("bitsandbytes/native-library-missing", "Library not found: /src/libbitsandbytes_cuda121.so. Maybe you"),
    ("bitsandbytes/override-variable-wrong", "libbitsandbytes_cuda124_nocublaslt124.so"),
    ("bitsandbytes/macos-unsupported", f"dlopen(/x/libbitsandbytes_cpu.so, 0x0006): tried: '{NOT_MACHO}"),
    (
        "bitsandbytes/cuda-libraries-not-found",
        "/envs/t did not contain libcudart.so as expected! Searching further paths...",
    ),
    ("torch/cpu-only-build", "deserialize object on a CUDA device but torch.cuda.is_available() is False."),
    ("torch/cpu-only-build", "Unsloth: No NVIDIA GPU found? Unsloth currently only supports GPUs!"),
    ("torch/windows-runtime-missing", NO_DLL),
    ("gpu/none-visible-in-container", 'could not select device driver "" with capabilities: [[gpu]].'),
    ("gpu/mig-visibility", "device >= 0 && device < num_gpus INTERNAL ASSERT FAILED"),
    ("flash-attn/torch-abi-mismatch", FLASH),
    ("flash-attn/torch-abi-mismatch", "ImportError: flash_attn_2_cuda undefined symbol"),
    ("xformers/torch-mismatch", "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was"),
    ("rocm/integrated-gpu-selected", "HIP error: invalid device function"),
]


@pytest.mark.parametrize(("id", "line"), MET)
def test_a_line_is_known(id: str, line: str) -> None:
    assert any(shows(symptom, line) for symptom in SYMPTOMS[id])
