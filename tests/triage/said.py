"""What the terminal of each environment of the zoo showed, and what triage must make of it.

`pytest tests/zoo/test_saying.py --write-zoo` writes the captures anew, with what `check` names in each.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).with_name("captured")
EXPECTED = FOLDER / "expected.json"  # by the name of an environment: what check names first, or null

# A process that hangs shows nothing; neither does a file that nothing here loads; and what only the driver's
# library knows, a CUDA build of torch would say, and no process here has one.
HANGS, NOT_LOADED, OF_THE_DRIVER = "it hangs", "nothing loads it here", "only the driver's library knows"
SILENT = {
    **dict.fromkeys(("torch_sleeps", "torch_spins", "peft_hangs"), HANGS),
    **dict.fromkeys(("nvml_hangs", "cuda_hangs", "nvidia_smi_hangs"), HANGS),
    "bitsandbytes_cuda_library_cut": NOT_LOADED,
    "bitsandbytes_without_cpu_library": NOT_LOADED,
    "bitsandbytes_checkout_here": "the checkout imports all the same",
    "sitecustomize_exits": "no Python says a word",
    "bitsandbytes_without_libraries": "torch's own code stands in, slowly",
    "flash_attn_segfaults": NOT_LOADED,
    "peft_metadata_missing": "what is installed imports all the same",
    "triton_has_no_compiler": NOT_LOADED,
    "triton_has_no_libcuda_to_link": NOT_LOADED,
    "linking_nccl_of_another_cuda": NOT_LOADED,
    "linking_runtime_deleted_and_system_s": "the system's library stands in",
    "linking_runtime_file_deleted": "another library stands in",
    "linking_runtime_uninstalled": "another library stands in",
    **dict.fromkeys(
        (
            *("cuda_100", "cuda_34", "cuda_46", "cuda_802", "cuda_803", "cuda_804", "cuda_999"),
            *("cuda_segfaults", "nvml_without_symbols"),
        ),
        OF_THE_DRIVER,
    ),
}
# Words that cannot tell what is seen by looking at the files, and what they are told as instead.
OTHERWISE = {
    "accelerate_0_20_3": "python/pkg-resources-removed",  # which accelerate of that age imports
    "bitsandbytes_0_41_0": "bitsandbytes/scipy-missing",  # it asks for scipy before anybody asks its age
    **dict.fromkeys(
        ("empty", "empty_without_pip", "python38_empty", "python38_with_old_peft"), "torch/missing"
    ),
    "peft_0_11_0": "peft/too-old",  # by its release, for uses that nobody tried
    "peft_source_gone": "python/stale-or-other-environment",  # it is listed and has no module
    "user_site_holds_broken_wandb": "python/protobuf-too-new",  # as its own words have it
    "accelerate_written_to_a_full_disk": "python/stale-or-other-environment",  # a name is not there
    "libtorch_cut": "torch/native-library-corrupt",  # which it is
    "linking_torch_cuda_cut": "torch/native-library-corrupt",
    "linking_cudnn_deleted": "cuda/cudnn-missing",  # which it is
    "linking_library_for_arm": "bitsandbytes/native-library-missing",  # bitsandbytes says no more
    "torch_edited": "torch/import-failed",
    "yaml_without_folder": "python/stale-or-other-environment",  # it is listed and has no module
    "nvidia_smi_fails": "driver/not-installed",
    "nvml_absent": "driver/not-installed",
    "nvml_driver_not_loaded": "driver/not-installed",
    "nvml_empty": "driver/not-installed",
    "nvml_is_text": "driver/not-installed",
    "nvml_of_another_machine": "driver/not-installed",
    "nvml_unknown_error": "driver/device-nodes-not-usable",
    "torch_alone_prints_rubbish": "transformers/missing",  # it is missing, and torch raises nothing
}
# The doctor's own measurements show it, and no library says a word.
MEASURED = "bitsandbytes/weights-repacked-in-evaluation"


def wanted(name: str, checked: str | None) -> str | None:
    """What triage must name first where check names ``checked``."""
    if name in SILENT:
        return None
    return OTHERWISE.get(name, None if checked == MEASURED else checked)


def expected() -> dict[str, str | None]:
    """What check names first, by environment."""
    known: dict[str, str | None] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return known
