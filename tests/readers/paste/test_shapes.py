"""Lines that complain without a traceback."""

from __future__ import annotations

import pytest

from doctor.readers.paste.kinds import exception_in, looks_like_exception
from tests.readers.paste.pastes import complaints, only


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/ld: cannot find -lcuda",
        "collect2: error: ld returned 1 exit status",
        "/tmp/x/cuda_utils.c:6:10: fatal error: Python.h: No such file or directory",
        "a.cu(12): error: identifier is undefined",
        "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
        "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
        "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl.sync.bfly.i32",
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "ERROR: Could not find a version that satisfies the requirement torch==2.9 (from versions: none)",
        "× No solution found when resolving dependencies:",
        "error: can't find Rust compiler",
        "Killed",
        "Segmentation fault (core dumped)",
        "train.sh: line 3: 12345 Bus error               (core dumped) python train.py",
        "Illegal instruction (core dumped)",
        "Fatal Python error: Segmentation fault",
        "zsh: illegal hardware instruction  python train.py",
        "bash: nvcc: command not found",
        "Error no kernel image is available for execution on the device at line 167 in file ops.cu",
        "Process finished with exit code -1073741819 (0xC0000005)",
        "Error: Could not load library libcudnn_cnn_infer.so.8",
    ],
)
def test_programs_speak(line: str) -> None:
    one = only(line)
    assert (one.kind, one.message, one.level) == ("", line, "error")


@pytest.mark.parametrize(
    "line",
    [
        "cannot import name 'AdamW' from 'transformers'",
        "DPOTrainer.get_batch_logps() got an unexpected keyword argument 'average_log_prob'",
        "unexpected keyword argument 'load_in_4bit'",
        "`DataCollatorForCompletionOnlyLM` not found",
        "undefined symbol: iJIT_NotifyEvent",
        "Cannot import name 'shard_checkpoint' from 'transformers.modeling_utils'",
        "has model type `gemma3` but Transformers does not recognize this architecture.",
        "you need flash_attn package version to be greater or equal than 2.1.0. Detected version 2.0.4",
        "libcusparse.so.11: cannot open shared object file: No such file or directory",
        "'sm_120' is not a recognized processor for this target (ignoring processor)",
        "peft 0.10.0 requires transformers>=4.30, but you have transformers 4.2 which is incompatible.",
        "The current PyTorch install supports CUDA capabilities sm_50, and it is not compatible.",
        "CUDA SETUP: Required library version not found: libbitsandbytes_cuda122.so.",
        "libbitsandbytes_cuda124_nocublaslt124.so",
        "loss=nan",
        "valueerror: due to a serious vulnerability issue in `torch.load`",
    ],
)
def test_libraries_speak(line: str) -> None:
    one = only(line)
    assert (one.kind, one.message, one.level) == ("", line, "line")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "### I get ImportError: cannot import name 'A' from 'b'",
            "ImportError",
            "cannot import name 'A' from 'b'",
        ),
        ("I see `KeyError: 'qwen3'` when I load it", "KeyError", "'qwen3'"),
        (
            "训练时报错RuntimeError: FlashAttention only supports Ampere",
            "RuntimeError",
            "FlashAttention only supports Ampere",
        ),
        ("导入报错 cannot import name 'A' from 'b'，怎么解决？", "", "cannot import name 'A' from 'b'"),
        (
            "微调时报错:`use_cache=True` is incompatible with it 怎么办",
            "",
            "`use_cache=True` is incompatible with it",
        ),
        ("When I run it, \"cannot import name 'A' from 'b'\" appears", "", "cannot import name 'A' from 'b'"),
        ("I get SFTTrainer.__init__() got an unexpected keyword argument 'a'", "", None),
        (
            r'{"log":"Traceback:\n  File \"a.py\"\nOSError: libcudart.so.12: gone\n"}',
            "OSError",
            "libcudart.so.12: gone",
        ),
    ],
)
def test_sentences_quote(text: str, kind: str, message: str | None) -> None:
    one = only(text)
    assert (one.kind, one.level) == (kind, "line")
    assert one.message == (message or "SFTTrainer.__init__() got an unexpected keyword argument 'a'")


@pytest.mark.parametrize(
    "text",
    [
        "Error: it does not work",
        "I have a problem with my training, it is slow.",
        "我在微调模型的时候遇到了一个问题",
        "nvcc: release 12.2",
        "gcc: 9.4.0",
        "pip: 24.0",
        "- Accelerate config:    not found",
        "Clang version: Could not collect",
        "Requires: filelock, fsspec, jinja2",
        "    except ImportError: pass",
        "raise ValueError: never",
        '  "error": "none",',
        "onError: retry",
        "Environment: local",
        "pip install transformers[torch]  # fails",
        "note: This error originates from a subprocess, and is likely not a problem with pip.",
        "torch==2.1.0",
    ],
)
def test_what_is_no_complaint(text: str) -> None:
    assert complaints(text) == ()


@pytest.mark.parametrize("level", ["ERROR", "CRITICAL"])
def test_what_a_logger_calls_an_error_is_one(level: str) -> None:
    one = only(f"2024-01-01 10:00:00,123 - my.app - {level} - it went wrong")
    assert (one.level, one.message) == ("error", "it went wrong")


def test_a_line_of_import_alone() -> None:
    line = "from transformers.modeling_layers import GradientCheckpointingLayer"
    assert only(f"### What happened\n\n```\n{line}\n```\n").message == line
    assert only(f"```\n{line}\n```\nKilled\n").message == "Killed"


def test_lines_of_pip_are_complaints_of_their_own() -> None:
    found = complaints(
        """\
  error: subprocess-exited-with-error

  × python setup.py egg_info did not run successfully.
  │ exit code: 1
  ╰─> [3 lines of output]
      Traceback (most recent call last):
        File "/tmp/pip-install-x/flash-attn_1/setup.py", line 9, in <module>
          from packaging.version import parse, Version
      ModuleNotFoundError: No module named 'packaging'
      [end of output]

  note: This error originates from a subprocess, and is likely not a problem with pip.
ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.
peft 0.10 requires transformers>=4.3, but you have transformers 4.2 which is incompatible.
trl 0.10 requires transformers>=4.3, but you have transformers 4.2 which is incompatible.
"""
    )
    cause = [one for one in found if one.kind]
    assert [one.message for one in cause] == ["No module named 'packaging'"]
    assert cause[0].frames[-1].line == 9
    assert [one.message[:8] for one in found if one.line > 13] == ["peft 0.1", "trl 0.10"]
    assert all(one.is_wrapper for one in found if one.line < 9)


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("ImportError", True),
        ("torch.cuda.OutOfMemoryError", True),
        ("ray.exceptions.RayTaskError(ImportError)", True),
        ("pydantic_core._pydantic_core.ValidationError", True),
        ("pkg_resources.VersionConflict", True),
        ("torch._dynamo.exc.Unsupported", True),
        ("binascii.Error", True),
        ("Error", False),
        ("Environment", False),
        ("onError", False),
        ("errors", False),
        ("torch", False),
    ],
)
def test_names_of_exceptions(name: str, looks: bool) -> None:
    assert looks_like_exception(name) is looks


def test_below_frames_any_name_will_do() -> None:
    assert exception_in("jinja2.exceptions.Undefined: x", in_traceback=True)
    assert exception_in("Empty", in_traceback=True) and not exception_in("Empty")
    assert not exception_in("KeyError")


BAIT = [
    "Error: ",
    "a.",
    "a/",
    "`",
    "(",
    "requires 1 ",
    "'a' ",
    "Target modules ",
    "1 ",
    " ",
    "no ",
    "-> ",
    "版",
    "_",
]


@pytest.mark.parametrize("bait", BAIT)
def test_long_lines_are_cut(bait: str) -> None:
    found = complaints(bait * 400_000)
    assert all(len(one.message) <= 4000 for one in found)


@pytest.mark.parametrize(
    "bait", ["ImportError: a\n", '  File "a.py", line 1\n', "Killed\n", "a requires b\n", "x:\n\n"]
)
def test_many_lines_end_in_few_complaints(bait: str) -> None:
    assert len(complaints(bait * 20_000)) <= 300
