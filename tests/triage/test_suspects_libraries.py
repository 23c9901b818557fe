"""Messages of libraries that several faults print: each decision, both ways, and what is left open."""

from __future__ import annotations

import pytest

from doctor.diagnosis import known_rules
from doctor.facts import Facts, Interpreter, Package, Packages, System, TorchBuild
from doctor.matrix.rows import symptom_complaints
from doctor.triage.case import Case
from doctor.triage.suspects import HARMLESS, Ambiguous
from doctor.triage.suspects.libraries import AMBIGUOUS

FIELD = "AttributeError: 'MatmulLtState' object has no attribute 'memory_efficient_backward'"
TRAINER = (
    "ImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=0.20.1`: Please run `pip install`"
)
DEVICE_MAP = (
    "ImportError: Using `low_cpu_mem_usage=True` or a `device_map` requires Accelerate: `pip install`"
)
DEVICE = (
    "ValueError: You can't train a model that has been loaded in 8-bit precision on a different device than"
)
ZOO = "ImportError: Unsloth: Please install unsloth_zoo via `pip install unsloth_zoo`"
BITS = "TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'load_in_4bit'"
BOTH = "ImportError: Using `load_in_8bit=True` requires Accelerate: `pip install accelerate` and the latest"
HALF = """RuntimeError: "addmm_impl_cpu_" not implemented for 'Half'"""
NAME = "NameError: name 'LoraConfig' is not defined. Did you mean: 'ModelConfig'?"
TORCH = "NameError: name 'torch' is not defined"
MULTIPLE = "You can't train a model that has been loaded in 8-bit precision on multiple devices"
RUST = "error: can't find Rust compiler"
BNB = "NameError: name 'bnb' is not defined"
PARTIAL = "partially initialized module 'torch' has no attribute 'nn' (most likely due to a circular import)"
UNKNOWN = "ImportError: cannot import name 'LoraConfig' from 'peft' (unknown location)"
METADATA = "importlib.metadata.PackageNotFoundError: No package metadata was found for bitsandbytes"
ENCODING = "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xb5 in position 0: invalid start byte"
NATIVE = "ModuleNotFoundError: No module named 'numpy._core._multiarray_umath'"
STALE = "python/stale-or-other-environment"
SPREAD = "script/quantized-model-spread-over-devices"


def case_of(
    text: str,
    *absent: str,
    os: str = "",
    python: str = "",
    cpu: bool = False,
    **versions: str,
) -> Case:
    """A case whose text and versions are given; packages are named with _ for -."""
    installed = {
        name.replace("_", "-"): Package(
            name=name.replace("_", "-"), version=version, location="", installer="pip"
        )
        for name, version in versions.items()
    }
    facts = Facts(
        packages=Packages(installed=installed, is_partial=True, absent=absent),
        system=system(os) if os else None,
        interpreter=interpreter(python) if python else None,
        torch=TorchBuild(version="2.6.0+cpu", cuda_version=None, hip_version=None, variant="cpu")
        if cpu
        else None,
    )
    return Case(facts, text)


def system(os: str) -> System:
    """A machine of which the system alone is known."""
    return System(
        os=os,
        name=os,
        kernel="",
        arch="x86_64",
        libc="",
        cpu="",
        cpu_count=1,
        ram_total_bytes=1,
        ram_available_bytes=1,
        disk_free_bytes=1,
        shared_memory_bytes=None,
        container=None,
        wsl=False,
    )


def interpreter(version: str) -> Interpreter:
    """A Python of which the version alone is known."""
    return Interpreter(
        executable="python",
        version=version,
        implementation="CPython",
        prefix="",
        base_prefix="",
        kind="venv",
        site_folders=(),
        user_site=None,
        externally_managed=False,
        has_pip=True,
        writable=True,
        noise="",
    )


def told(case: Case) -> list[str]:
    """The suspects that are left: the one that is shown, else those that nothing excludes."""
    row = next(one for one in AMBIGUOUS if case.says(one.message))
    shown = [suspect.id for suspect in row.suspects if suspect.holds(case)]
    left = [suspect.id for suspect in row.suspects if suspect.holds(case) is None]
    return shown[:1] or list(dict.fromkeys(left))


DECIDED = [
    (case_of(FIELD, peft="0.12.0", bitsandbytes="0.45.0"), "peft/too-old"),
    (case_of(FIELD, peft="0.12.0", bitsandbytes="0.36.0"), "bitsandbytes/too-old"),
    (case_of(FIELD, peft="0.13.2"), "peft/too-old"),
    (case_of(FIELD, bitsandbytes="0.46.1"), "peft/too-old"),
    (case_of(FIELD, xformers="0.0.29"), "peft/too-old"),
    (case_of(FIELD, transformers="4.28.0"), "bitsandbytes/too-old"),
    (case_of(f"model = prepare_model_for_int8_training(model)\n{FIELD}"), "bitsandbytes/too-old"),
    (case_of(TRAINER, "accelerate"), "accelerate/missing"),
    (case_of(TRAINER, accelerate="0.19.0"), "accelerate/too-old"),
    (case_of(TRAINER, accelerate="0.25.0"), STALE),
    (case_of(f"I have installed it, and still get\n{TRAINER}"), STALE),
    (case_of(f"{TRAINER}\n我已经安装了 accelerate"), STALE),
    (case_of(f"after restarting the kernel\n{DEVICE_MAP}"), STALE),
    (case_of(DEVICE_MAP, "accelerate"), "accelerate/missing"),
    (case_of(BOTH, "accelerate", bitsandbytes="0.37.2"), "accelerate/missing"),
    (case_of(BOTH, "bitsandbytes", accelerate="0.18.0"), "bitsandbytes/missing"),
    (case_of(BOTH, cpu=True), "torch/cpu-only-build"),
    (case_of(BOTH, accelerate="0.18.0", bitsandbytes="0.37.2"), STALE),
    (case_of(f"torch 2.4.1+cpu\n{HALF}"), "torch/cpu-only-build"),
    (case_of(f"/usr/lib/python3/dist-packages/trl/trainer/utils.py\n{NAME}"), "peft/missing"),
    (case_of(f"/site-packages/transformers/trainer.py\n{TORCH}"), "transformers/torch-too-old"),
    (case_of(DEVICE, accelerate="0.19.0"), "accelerate/too-old"),
    (case_of(DEVICE, accelerate="0.20.0"), SPREAD),
    (case_of(f"{DEVICE} or device_map={{'':torch.xpu.current_device()}}"), SPREAD),
    (case_of(MULTIPLE), "accelerate/too-old"),
    (case_of(f"{MULTIPLE} in any distributed mode."), SPREAD),
    (case_of(DEVICE, accelerate="0.27.2"), SPREAD),
    (case_of(f"torchrun --nproc_per_node 2 train.py\n{DEVICE}"), SPREAD),
    (case_of(f'device_map="auto"\n{DEVICE}'), SPREAD),
    (case_of(DEVICE.replace("8-bit", "8-bit or 4-bit")), SPREAD),
    (case_of(ZOO, cpu=True), "torch/cpu-only-build"),
    (case_of(ZOO, os="win32"), "torch/cpu-only-build"),
    (
        case_of(f"NotImplementedError: Unsloth: No NVIDIA GPU found? Unsloth currently only\n{ZOO}"),
        "torch/cpu-only-build",
    ),
    (
        case_of(f"cannot import name 'patch' from 'unsloth_zoo.patching_utils'\n{ZOO}", os="win32"),
        "unsloth/zoo-mismatch",
    ),
    (case_of(f"ModuleNotFoundError: No module named 'unsloth_zoo'\n{ZOO}"), "unsloth/zoo-missing"),
    (case_of(ZOO, "unsloth-zoo"), "unsloth/zoo-missing"),
    (case_of(BITS, transformers="5.2.0"), "transformers/removed-argument"),
    (case_of(BITS, transformers="4.29.2"), "transformers/too-old"),
    (case_of(BITS, trl="1.0.0"), "transformers/removed-argument"),
    (case_of(f"Building wheel for tokenizers (pyproject.toml)\n{RUST}"), "tokenizers/no-wheel"),
    (case_of(f"ERROR: Failed building wheel for safetensors\n{RUST}"), "python/no-wheel-for-version"),
    (case_of(BNB, "bitsandbytes"), "bitsandbytes/missing"),
    (case_of(f"torch 2.1.0+cpu\n{BNB}"), "torch/cpu-only-build"),
    (case_of(f"ImportError: {PARTIAL} (/env/lib/python3.10/site-packages/torch/__init__.py)"), STALE),
    (case_of(f"WARNING: Ignoring invalid distribution -eft\n{UNKNOWN}"), "python/files-missing-or-altered"),
    (case_of(METADATA, bitsandbytes="0.45.0"), "python/metadata-unreadable"),
    (case_of(f"/lib/importlib/metadata/__init__.py\n{ENCODING}"), "python/metadata-unreadable"),
    (case_of(f"/x/python3.12/site-packages/numpy\n{NATIVE}", python="3.11.8"), "python/path-pollution"),
]
OPEN = [
    (case_of(FIELD), ["peft/too-old", "bitsandbytes/too-old"]),
    (case_of(FIELD, bitsandbytes="0.41.0"), ["peft/too-old"]),
    (case_of(TRAINER), ["accelerate/missing", STALE]),
    (case_of(BOTH), ["bitsandbytes/missing", "accelerate/missing", "torch/cpu-only-build"]),
    (case_of(HALF), ["script/half-precision-on-cpu"]),
    (case_of(NAME), ["script/name-not-imported"]),
    (case_of(TORCH), ["script/name-not-imported"]),
    (case_of(DEVICE), ["accelerate/too-old", SPREAD]),
    (case_of(ZOO), ["torch/cpu-only-build", "unsloth/zoo-mismatch", "unsloth/zoo-missing"]),
    (case_of(ZOO, unsloth_zoo="2025.3.1"), ["torch/cpu-only-build", "unsloth/zoo-mismatch"]),
    (case_of(BITS), ["transformers/too-old", "transformers/removed-argument"]),
    (case_of(BITS, transformers="4.44.2"), []),
    (case_of(RUST), ["tokenizers/no-wheel", "python/no-wheel-for-version"]),
    (case_of(BNB, bitsandbytes="0.41.0"), ["torch/cpu-only-build"]),
    (case_of(f"AttributeError: {PARTIAL}"), ["python/module-shadowed"]),
    (case_of(UNKNOWN), ["python/module-shadowed", "python/files-missing-or-altered"]),
    (case_of(METADATA), ["bitsandbytes/missing"]),
    (case_of(ENCODING), ["script/data-encoding"]),
    (case_of(NATIVE, python="3.11.8"), ["python/files-missing-or-altered"]),
]


@pytest.mark.parametrize(("case", "id"), DECIDED)
def test_what_the_paste_shows_decides(case: Case, id: str) -> None:
    assert told(case) == [id]


@pytest.mark.parametrize(("case", "ids"), OPEN)
def test_what_nothing_excludes_is_left_the_likeliest_first(case: Case, ids: list[str]) -> None:
    assert told(case) == ids


@pytest.mark.parametrize("row", AMBIGUOUS, ids=[row.message[:60] for row in AMBIGUOUS])
def test_every_row_holds_together(row: Ambiguous) -> None:
    known = {rule.id for rule in known_rules()} | {HARMLESS}
    assert {suspect.id for suspect in row.suspects} <= known
    assert list(symptom_complaints(row.message)) == []
    # What can be left open between two is asked.
    assert row.question or [suspect.holds(case_of("")) for suspect in row.suspects].count(None) < 2


@pytest.mark.parametrize("row", AMBIGUOUS, ids=[row.message[:60] for row in AMBIGUOUS])
def test_no_test_raises_where_nothing_is_told(row: Ambiguous) -> None:
    assert all(suspect.holds(Case(Facts(), "")) in (True, False, None) for suspect in row.suspects)
