"""What paths in tracebacks and prompts tell of an environment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import paths

from .saying import blocks, told


@pytest.mark.parametrize(
    ("line", "topic", "value"),
    [
        ('  File "/usr/local/lib/python3.11/dist-packages/peft/__init__.py", line 1', "python", "3.11"),
        ('  File "/opt/conda/lib/python3.10/site-packages/peft/x.py", line 2', "executable", "/opt/conda"),
        (r'  File "C:\Python310\lib\site-packages\torch\x.py", line 3', "python", "3.10"),
        (
            r'  File "C:\Users\someone\miniconda3\envs\llm\lib\site-packages\x.py"',
            "executable",
            r"C:\Users\someone\miniconda3\envs\llm",
        ),
        (r"D:\ai\venv\Lib\site-packages\torch", "os", "win32"),
        ("OSError: [WinError 126] The specified module", "os", "win32"),
        ("/Users/someone/venv/lib/python3.12/site-packages", "os", "darwin"),
        ("flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol", "python", "3.10"),
        ("flash_attn_2_cuda.cpython-310-aarch64-linux-gnu.so: undefined symbol", "arch", "aarch64"),
        ("libcudart.so.12: cannot open shared object file", "os", "linux"),
        ("LD_LIBRARY_PATH=/usr/lib/wsl/lib", "wsl", "yes"),
        ('  File "/kaggle/working/train.py", line 3', "container", "kaggle"),
        ('  File "/content/drive/MyDrive/train.py", line 3', "container", "colab"),
        ("root@0123456789ab:/app# python train.py", "container", "docker"),
    ],
)
def test_a_path_tells(line: str, topic: str, value: str) -> None:
    assert (topic, "", value) in told(paths, line)


@pytest.mark.parametrize(
    "line",
    ["", "a/b", "torch.nn.Linear", "root@autodl-container-1234:~# ls", "see docs/Users/guide", "x.solution"],
)
def test_what_is_no_path_of_an_environment_tells_nothing(line: str) -> None:
    assert told(paths, line) == []


def test_each_thing_is_told_once_and_no_line_is_taken_away() -> None:
    line = '  File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main'
    found = blocks(paths, "\n".join([line] * 5))
    assert [block.first for block in found] == [1]
    assert not found[0].is_whole


@given(
    st.lists(
        st.sampled_from(["/lib/python3.", "1", "/site-packages", "C:\\", ".so", ":", " ", "~"]), max_size=30
    )
)
def test_no_path_makes_it_raise(parts: list[str]) -> None:
    blocks(paths, "".join(parts))
