"""The import stages of the trial's child: each import as a script writes it, then what it shows."""

import importlib.util
import os
import re
import sys

# The CUDA libraries that torch brings and that bitsandbytes must share.
CUDA_LIBRARIES = ("libcudart", "libcublas", "libcusparse", "libnvJitLink", "libcudnn")
# Of the C library, which comes with the system and is one file for all.
GLIBC = re.compile(
    r"(?:ld-|(?:lib(?:c|m|dl|rt|util|pthread|resolv|anl|mvec|crypt|nsl|BrokenLocale|nss_\w+)[.-]))"
)
SHARED_OBJECT = re.compile(r"lib[^/]*\.so(?:\.[\d.]+)?$")
MANY = 300  # a process with everything imported maps some two hundred


def version_of(module):
    """The version a module gives itself, "" where it gives none."""
    return str(getattr(module, "__version__", ""))


def import_torch(record):
    """``import torch``; what it says of its build without a question to the driver."""
    import torch

    build = getattr(torch, "version", None)
    record.details.update(
        version=version_of(torch),
        file=getattr(torch, "__file__", None) or "",
        cuda_version=getattr(build, "cuda", None),
        hip_version=getattr(build, "hip", None),
        arch_list=arch_list_of(torch),
        objects=shared_objects(),
    )
    for name in ("Tensor", "nn"):
        getattr(torch, name)  # a folder left by an uninstall imports too, and has neither


def arch_list_of(torch):
    """The GPU architectures torch was built for. ``torch.cuda.get_arch_list`` would ask the driver first."""
    read = getattr(getattr(torch, "_C", None), "_cuda_getArchFlags", None)
    return (read() or "").split() if read else []


def import_bitsandbytes(record):
    """``import bitsandbytes``, its 4-bit layer, and the native library behind it."""
    import bitsandbytes

    record.details.update(
        version=version_of(bitsandbytes),
        file=getattr(bitsandbytes, "__file__", None) or "",
    )
    bitsandbytes.nn.Linear4bit  # noqa: B018
    record.details.update(native_library())


def native_library():
    """The native library of bitsandbytes in this process, the CUDA ones beside it, and what stands for it."""
    handle = getattr(sys.modules.get("bitsandbytes.cextension"), "lib", None)
    files = mapped_files()
    own = [name for name in files if name.startswith("libbitsandbytes")]
    return {
        # Beside a CUDA library the CPU one counts for nothing.
        "library": min(own, key=lambda name: "_cpu" in name, default=None) if files else opened_file(handle),
        "mapped": [name for name in files if name.startswith(CUDA_LIBRARIES)],
        "handle": "" if handle is None else type(handle).__name__,
        "objects": shared_objects(),
    }


def mapped_files():
    """The names of the files mapped into this process, sorted; empty where the system does not tell."""
    return sorted({os.path.basename(path) for path in mapped_paths()})


def mapped_paths():
    """The files mapped into this process, links followed, as the kernel tells them."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
            return {line.rstrip("\n").split(None, 5)[-1] for line in lines if "/" in line}
    except OSError:
        return set()


def shared_objects():
    """Paths of the native libraries mapped so far, without the C library's and Python's own modules."""
    found = []
    for path in sorted(mapped_paths()):
        name = os.path.basename(path)
        if SHARED_OBJECT.match(name) and not GLIBC.match(name):
            found.append(path)
    return found[:MANY]


def opened_file(handle):
    """The name of the file that bitsandbytes opened, None for none.

    Read from the attributes alone: the mock that stands for a missing library answers to every name.
    """
    attributes = getattr(handle, "__dict__", {})
    opened = attributes.get("_lib", handle)
    path = getattr(opened, "__dict__", {}).get("_name")
    return os.path.basename(path) if isinstance(path, str) else None


def import_transformers(record):
    """What a LoRA script takes from transformers, whose lazy modules load only when something is taken."""
    import transformers
    from transformers import (  # noqa: F401
        AutoModelForCausalLM,
        BitsAndBytesConfig,
        LlamaConfig,
        Trainer,
        TrainingArguments,
    )

    record.details.update(version=version_of(transformers))


def import_accelerate(record):
    """What a LoRA script takes from accelerate."""
    import accelerate
    from accelerate import Accelerator  # noqa: F401

    record.details.update(version=version_of(accelerate))


def import_peft(record):
    """What a LoRA script takes from peft."""
    import peft
    from peft import (  # noqa: F401
        LoraConfig,
        PeftModel,
        get_peft_model,
        prepare_model_for_kbit_training,
    )

    record.details.update(version=version_of(peft))


def import_trl(record):
    """What a LoRA script takes from trl; SFTConfig came with 0.9."""
    import trl
    from trl import SFTTrainer  # noqa: F401

    record.details.update(version=version_of(trl))
    if importlib.util.find_spec("trl.trainer.sft_config"):
        from trl import SFTConfig  # noqa: F401


def import_flash_attn(record):
    """The attention kernels that transformers takes by itself where they are installed."""
    import flash_attn

    record.details.update(version=version_of(flash_attn))
