"""What stands around the lines of a paste is taken off, and no line is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import clean as cleaning
from doctor.readers.paste import prefixes
from doctor.readers.paste.clean import clean, cleaned


@pytest.mark.parametrize(
    ("raw", "text", "speaker", "level"),
    [
        ("[rank3]:   File 'x'", "  File 'x'", "rank3", ""),
        ("[default0]:Traceback", "Traceback", "default0", ""),
        ("[1,0]<stderr>:ImportError: x", "ImportError: x", "1,0", ""),
        ("(worker pid=12, ip=10.0.0.1) ImportError: x", "ImportError: x", "worker pid=12, ip=10.0.0.1", ""),
        (
            "(EngineCore_0 pid=7) ERROR 08-12 10:38:30 [core.py:586]   File",
            "  File",
            "EngineCore_0 pid=7",
            "ERROR",
        ),
        ("service-1  | ImportError: x", "ImportError: x", "service-1", ""),
        ("web_1 |   File", "  File", "web_1", ""),
        ("Aug 12 10:38:30 host unit[77]: ImportError: x", "ImportError: x", "", ""),
        ("Aug  2 10:38:30 gpu kernel: NVRM: Xid 79", "NVRM: Xid 79", "", ""),
        ("[  123.456789] NVRM: Xid 79", "NVRM: Xid 79", "", ""),
        ("2024-01-01 10:00:00,123 - INFO - hello", "hello", "", "INFO"),
        ("2024-01-01 10:00:00,123 - my.app - ERROR - hello", "hello", "", "ERROR"),
        ("2024-01-01T10:00:00.123456789Z   File", "  File", "", ""),
        ("[2024-01-01 10:00:00,123] [WARNING] [real_accelerator.py:162:abort] Set", "Set", "", "WARNING"),
        ("2025-04-15 11:02:10.123 | ERROR    | my.app:wrapper:215 - It broke", "It broke", "", "ERROR"),
        ("[2024-07-01 10:00:00,1] torch.distributed.run: [WARNING] Set", "Set", "", "WARNING"),
        ("E0812 10:38:30.123456 140123 torch/api.py:826] failed", "failed", "", "ERROR"),
        ("[INFO|trainer.py:571] 2024-03-04 12:12:12,345 >> Using", "Using", "", "INFO"),
        ("12:34:56-789012 ERROR    could not load", "could not load", "", "ERROR"),
        ("WARNING:xformers:xFormers can't load", "xFormers can't load", "", "WARNING"),
    ],
)
def test_prefixes(raw: str, text: str, speaker: str, level: str) -> None:
    assert cleaned(raw) == ((text, speaker, level),)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("[bitsandbytes.cextension|ERROR]Could not load", "bitsandbytes: Could not load"),
        ("WARNING:bitsandbytes.cextension:bitsandbytes was", "bitsandbytes was"),
        ("ERROR:bitsandbytes.cextension:Traceback (most", "Traceback (most"),
    ],
)
def test_a_logger_is_named_where_its_words_do_not(raw: str, text: str) -> None:
    assert clean(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07", "red link"),
        ("a\u202eb\u200bc\x00d\ud800", "abcd\ufffd"),
        ("> > quoted", "quoted"),
        ("&gt; peft&gt;=1 &amp;lt;", "peft>=1 &lt;"),
        ("```python", ""),
        ("~~~", ""),
        ("```ImportError: x```", "ImportError: x"),
        ("`ImportError: x`", "ImportError: x"),
        ("`a` is not supported, use `b`", "`a` is not supported, use `b`"),
        ("<details><summary>Log</summary>", "Log"),
        ("<pre>a<br>b</pre>", "a b"),
        ("<env>/lib", "<env>/lib"),
        ("│ ❱ 3125 │   raise X      │", "❱ 3125 │   raise X"),
        ("╭──── Traceback (most recent call last) ────╮", "Traceback (most recent call last)"),
        ("╰──────╯", ""),
        ("      ╰─> [18 lines of output]", "      ╰─> [18 lines of output]"),
        ("  × No solution found", "  × No solution found"),
        ("torch：2.1\xa0＝ ‘x’ “y”", "torch:2.1 = 'x' \"y\""),
        (
            " 20%|██   | 2/10 [00:01<00:10, 1.0it/s]Traceback (most recent call last):",
            "Traceback (most recent call last):",
        ),
        (" 1%|\r 2%|\r 3%|", " 3%|"),
        ("ImportError: x\r 3%|", "ImportError: x"),
        ("peft\r", "peft"),
    ],
)
def test_markup(raw: str, text: str) -> None:
    assert clean(raw) == text


@pytest.mark.parametrize(
    "line",
    [
        ">>> import torch",
        "peft>=0.14",
        "| 0  NVIDIA A100 |  00000 |   40MiB / 40960MiB |",
        "+------+-------+",
        "| torch | 2.1 |",
        "|-------|-----|",
        "torch | 2.1",
        "torch                     2.1.0    py3.10_cuda12.1    pytorch",
        "[pip3] torch==2.1",
        "GPU 0: NVIDIA A100",
        "    ~~~~~~^^^",
        "ERROR: Could not find a version that satisfies",
        "WARNING: The NVIDIA Driver was not detected.",
        "(base) user@host:~$ pip install peft",
        "CUDA SETUP: Loading binary",
        "- `peft` version: 0.14.0",
        "----> 5 model = f(x)",
        "Mon Jan  1 10:00:00 2024",
    ],
)
def test_what_stays(line: str) -> None:
    assert clean(line) == line


@given(st.text())
def test_no_line_is_lost(raw: str) -> None:
    assert clean(raw).count("\n") == raw.count("\n")


PIECES = [
    "[rank0]: ",
    "> ",
    "&gt;",
    "```",
    "\r",
    "\x1b]",
    "│",
    "╭─",
    "<br>",
    "2024-01-01 10:00:00 ",
    "ERROR",
    "\n",
    " | ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_no_line_of_pieces_is_lost(raw: str) -> None:
    assert clean(raw).count("\n") == raw.count("\n")


@pytest.mark.parametrize(
    "bait", ["\x1b]", "[", "(", "> ", "&gt;", "<p ", "`", "\r", "│", " ", "-", "[12:34:56]", "%|"]
)
def test_long_lines_of_bait(bait: str) -> None:
    assert "\n" not in clean(bait * 300_000)


def test_quantifiers_are_bounded() -> None:
    """No pattern of a prefix repeats without bound what could be taken apart in several ways."""
    for pattern in (*prefixes.SPEAKERS, *prefixes.LOGGERS, prefixes.BEGINS, cleaning.QUOTE, cleaning.TAG):
        assert not re.search(r"\)[*+]|\.[*+]|\.\{\d+,\}", pattern.pattern), pattern.pattern
