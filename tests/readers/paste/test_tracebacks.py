"""Exceptions with their frames, in every shape in which they are pasted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste.frames import module_of
from doctor.readers.paste.tracebacks import read
from tests.readers.paste.pastes import complaints, only

PYTHON = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    model = peft.load(
            ~~~~~~~~~^
  File "/opt/conda/lib/python3.10/site-packages/peft/__init__.py", line 22, in <module>
    from .auto import AutoPeftModel
  [Previous line repeated 3 more times]
ImportError: cannot import name 'Cache' from 'transformers' (/opt/t.py)
"""


def test_a_traceback_of_python() -> None:
    one = only(PYTHON)
    assert (one.kind, one.level, one.line) == ("ImportError", "error", 8)
    assert one.message == "cannot import name 'Cache' from 'transformers' (/opt/t.py)"
    outer, inner = one.frames
    assert (outer.file, outer.line, outer.function, outer.module) == ("/home/u/train.py", 3, "<module>", "")
    assert (inner.module, inner.code) == ("peft", "from .auto import AutoPeftModel")


@pytest.mark.parametrize("first", range(7))
def test_it_may_begin_anywhere(first: int) -> None:
    one = complaints("\n".join(PYTHON.split("\n")[first:]))[-1]
    assert one.text.startswith("ImportError: cannot import name 'Cache'")
    assert len(one.frames) == (2 if first < 2 else 1 if first < 5 else 0)


def test_it_may_end_before_the_exception() -> None:
    one = only("\n".join(PYTHON.split("\n")[:6]))
    assert (one.kind, one.level, one.message) == ("", "line", "from .auto import AutoPeftModel")
    assert len(one.frames) == 2


def test_indentation_may_be_lost() -> None:
    one = only("\n".join(line.strip() for line in PYTHON.split("\n")))
    assert (one.kind, one.frames[1].code) == ("ImportError", "from .auto import AutoPeftModel")


def test_a_chain_begins_with_its_cause() -> None:
    first, last = complaints(
        PYTHON
        + """
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/u/train.py", line 5, in <module>
    go()
RuntimeError: Failed to import peft.tuners because of the following error (look up to see its traceback):
cannot import name 'Cache' from 'transformers' (/opt/t.py)
I have tried to install it again.
"""
    )
    assert (first.kind, last.kind) == ("ImportError", "RuntimeError")
    assert first.chain == last.chain != 0
    assert (first.is_wrapper, last.is_wrapper) == (False, True)
    assert last.message.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "kinds", "cause"),
    [
        (
            "RuntimeError: Failed to import transformers.trainer because of the following error (look up to "
            "see its traceback):\nNo module named 'transformers.modeling_layers'",
            ["", "RuntimeError"],
            "No module named 'transformers.modeling_layers'",
        ),
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCalledProcessError: "
            "Command '['/usr/bin/gcc', '-lcuda']' returned non-zero exit status 1.\n\nSet TORCH_LOGS",
            ["CalledProcessError", "torch._dynamo.exc.BackendCompilerFailed"],
            "Command '['/usr/bin/gcc', '-lcuda']' returned non-zero exit status 1.",
        ),
        (
            "torch._inductor.exc.InductorError: ImportError: libcuda.so.1: cannot open shared object file",
            ["ImportError", "torch._inductor.exc.InductorError"],
            "libcuda.so.1: cannot open shared object file",
        ),
    ],
)
def test_a_message_that_passes_another_on(text: str, kinds: list[str], cause: str) -> None:
    found = complaints(text)
    assert [one.kind for one in found[:2]] == kinds
    assert found[0].message == cause
    assert found[1].is_wrapper and found[0].chain == found[1].chain != 0


@pytest.mark.parametrize(
    "line",
    [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.",
        "ModuleNotFoundError: Could not import module 'A'. Are this object's requirements defined correctly?",
        "ImportError: Unsloth: Please install unsloth_zoo via `pip install unsloth_zoo`",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "ERROR: Failed building wheel for tokenizers",
        "error: subprocess-exited-with-error",
        "ninja: build stopped: subcommand failed.",
    ],
)
def test_wrappers(line: str) -> None:
    assert only(line).is_wrapper


def test_what_stands_below_a_wrapper_belongs_to_it() -> None:
    cause, wrapper = complaints(
        "RuntimeError: Caught ImportError in DataLoader worker process 0.\nOriginal " + PYTHON
    )
    assert (cause.kind, wrapper.kind) == ("ImportError", "RuntimeError")
    assert cause.chain == wrapper.chain != 0 and wrapper.is_wrapper


def test_an_exception_group() -> None:
    found = complaints(
        """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/u/g.py", line 8, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/usr/lib/python3/dist-packages/peft/__init__.py", line 3, in go
    |     from transformers import (
    | ImportError: cannot import name 'Cache' from 'transformers'
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/u/g.py", line 4, in two
    |     async def two(): raise ValueError("bad")
    |                      ^^^^^^^^^^^^^^^^^^^^^^^
    | ValueError: bad
    +------------------------------------
"""
    )
    assert [(one.kind, one.is_wrapper) for one in found] == [
        ("ImportError", False),
        ("ValueError", False),
        ("ExceptionGroup", True),
    ]
    assert len({one.chain for one in found}) == 1
    assert found[0].frames[0].module == "peft"


def test_ranks_that_write_at_the_same_time() -> None:
    one = only(
        """\
[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/u/train.py", line 3, in <module>
[rank0]:   File "/home/u/train.py", line 3, in <module>
[rank0]:     trainer.train()
[rank1]:     trainer.train()
[rank1]: torch.OutOfMemoryError: CUDA out of memory. GPU 1 has 3 bytes
[rank0]: torch.OutOfMemoryError: CUDA out of memory. GPU 0 has 4 bytes
"""
    )
    assert (one.kind, one.times, one.rank) == ("torch.OutOfMemoryError", 2, 1)
    assert [frame.code for frame in one.frames] == ["trainer.train()"]


def test_chains_of_ranks_are_counted_whole() -> None:
    chain = (
        PYTHON + "\nDuring handling of the above exception, another exception occurred:\n\nValueError: b\n"
    )
    text = "".join(f"[rank{rank}]: {line}\n" for rank in range(3) for line in chain.split("\n"))
    assert [(one.kind, one.times) for one in complaints(text)] == [("ImportError", 3), ("ValueError", 3)]


IPYTHON = """\
---------------------------------------------------------------------------
ImportError                               Traceback (most recent call last)
Cell In[3], line 5
      3 from peft import X
----> 5 model = f(x)

File ~/envs/x/lib/python3.10/site-packages/peft/__init__.py:22, in f(args)
     20     from .a import b
---> 22 from .x import y
     23     def f():

ImportError: cannot import name 'Z' from 'y' (/path)

---------------------------------------------------------------------------
NOTE: If your import is failing due to a missing package, you can
manually install dependencies using either !pip or !apt.
"""
OLD_IPYTHON = """\
ImportError                               Traceback (most recent call last)
<ipython-input-3-abc> in <module>
      1 import x
----> 5 model = f(x)

/usr/local/lib/python3.10/dist-packages/peft/__init__.py in f(args)
     20     from .a import b
---> 22 from .x import y

ImportError: cannot import name 'Z' from 'y' (/path)
"""


@pytest.mark.parametrize("text", [IPYTHON, OLD_IPYTHON])
def test_notebooks(text: str) -> None:
    one = only(text)
    assert one.text == "ImportError: cannot import name 'Z' from 'y' (/path)"
    assert [(frame.line, frame.code) for frame in one.frames] == [
        (5, "model = f(x)"),
        (22, "from .x import y"),
    ]
    assert (one.frames[1].module, one.frames[1].function) == ("peft", "f")


def test_a_notebook_that_ends_early() -> None:
    one = only("\n".join(IPYTHON.split("\n")[:9]))
    assert (one.kind, one.level, one.message) == ("ImportError", "error", "from .x import y")


def test_the_boxes_of_rich() -> None:
    one = only(
        """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/u/train.py:4 in <module>                                               │
│                                                                              │
│   3 import peft                                                              │
│ ❱ 4 peft.go(1)                                                               │
│                                                                              │
│ /home/u/miniconda3/envs/a_long_name/lib/python3.11/site-packages/transformers │
│ /trainer.py:3 in go                                                          │
│                                                                              │
│ ❱ 3 │   │   from transformers import (                                       │
╰──────────────────────────────────────────────────────────────────────────────╯
ImportError: cannot import name 'EncoderDecoderCache' from 'transformers'
(/home/u/miniconda3/envs/a_long_name/lib/python3.11/site-packages/transformers/__init__.py)
"""
    )
    assert one.kind == "ImportError" and "\n" not in one.message
    assert [(frame.line, frame.code) for frame in one.frames] == [
        (4, "peft.go(1)"),
        (3, "from transformers import ("),
    ]
    assert one.frames[1].module == "transformers.trainer"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be "
            "asynchronously reported.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n\nMore",
            3,
        ),
        ("ImportError: a\n# Environment\n", 1),
        ("ImportError: a\n- `peft` version: 0.1\n", 1),
        ("ImportError: a\nHow can I solve this?\n", 1),
        ("ImportError: a\n怎么解决\n", 1),
        ("OSError: [WinError 126] 找不到指定的模块。\nError loading torch.dll\n", 2),
        ("ImportError: a\n$ pip list\n", 1),
        ("    ImportError: a\nb\n", 1),
        ("RuntimeError: \n        CUDA Setup failed despite GPU being available.\n", 1),
        ("RuntimeError: Error(s) in loading state_dict for X:\n\tsize mismatch for lm_head.weight: a", 2),
        ("OSError: a\n" + "line\n" * 90, 40),
        ("OSError: " + "a" * 9000, 1),
    ],
)
def test_where_a_message_ends(text: str, message: int) -> None:
    one = complaints(text)[0]
    assert one.message.count("\n") + 1 == message
    assert len(one.message) <= 4000


def test_warnings_as_they_are_printed() -> None:
    one = only(
        """\
/usr/lib/python3/dist-packages/torch/cuda/__init__.py:235: UserWarning:
NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60.

  warnings.warn(
"""
    )
    assert (one.kind, one.level, one.message.count("\n")) == ("UserWarning", "warning", 1)
    assert (one.frames[0].module, one.frames[0].line, one.frames[0].code) == (
        "torch.cuda",
        235,
        "warnings.warn(",
    )


def test_an_exception_that_python_ignored_is_no_cause() -> None:
    one = only("Exception ignored in: <function A.__del__ at 0x7f>\n" + PYTHON)
    assert (one.kind, one.level) == ("ImportError", "warning")


def test_death_with_the_innermost_frame_first() -> None:
    one = only(
        "Fatal Python error: Segmentation fault\n\nThread 0x00007f (most recent call first):\n"
        '  File "/usr/lib/python3/dist-packages/triton/a.py", line 3 in f\n'
        '  File "/home/u/t.py", line 4 in <module>\n'
    )
    assert [frame.line for frame in one.frames] == [4, 3]
    assert one.frames[-1].module == "triton.a"


def test_endless_recursion_is_cut() -> None:
    frame = '  File "/home/u/a.py", line 1, in f\n    f()\n'
    one = only(
        "Traceback (most recent call last):\n" + frame * 900 + "RecursionError: maximum recursion depth\n"
    )
    assert len(one.frames) == 80


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/opt/conda/lib/python3.10/site-packages/peft/peft_model.py", "peft.peft_model"),
        ("/usr/local/lib/python3.10/dist-packages/peft/tuners/__init__.py", "peft.tuners"),
        (r"C:\env\Lib\site-packages\bitsandbytes\cextension.py", "bitsandbytes.cextension"),
        ("/usr/lib/python3.10/importlib/__init__.py", "importlib"),
        ("<env>/lib/python3.10/site-packages/torch/_ops.py", "torch._ops"),
        ("<env>/transformers/trainer.py", "transformers.trainer"),
        (".../peft/utils/loftq_utils.py", "peft.utils.loftq_utils"),
        ("…/peft/utils/loftq_utils.py", "peft.utils.loftq_utils"),
        ("/home/u/LLaMA-Factory/src/llamafactory/launcher.py", "llamafactory.launcher"),
        (
            "/home/u/.cache/huggingface/modules/transformers_modules/THUDM/chatglm2-6b/modeling_chatglm.py",
            "transformers_modules.THUDM.chatglm2-6b.modeling_chatglm",
        ),
        ("/home/u/transformers/examples/pytorch/run_clm.py", ""),
        ("/home/u/peft/train.py", ""),
        ("/home/u/train.py", ""),
        ("<frozen importlib._bootstrap>", ""),
        ("<stdin>", ""),
    ],
)
def test_modules_of_files(file: str, module: str) -> None:
    assert module_of(file) == module


LINES = st.sampled_from(
    [*PYTHON.split("\n"), *IPYTHON.split("\n"), "[rank0]: ValueError: a:", "  | x", "Killed", "\n"]
)


@given(st.lists(st.one_of(LINES, st.text(max_size=80)), max_size=40))
def test_any_text_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    count = text.count("\n") + 1
    for one in complaints(text):
        assert 1 <= one.line <= count and len(one.message) <= 4000 and one.times >= 1


@given(st.lists(st.text(max_size=200), max_size=20))
def test_origins_may_be_missing(lines: list[str]) -> None:
    assert isinstance(read(lines), tuple)
