"""Pastes of ill will: nothing raises, nothing is obeyed, nothing secret is told, in any format."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from doctor.facts import Facts
from doctor.findings import CONFIDENCES, SEVERITIES, Report, Verdict
from doctor.render import html, json_report, paste_markdown, paste_terminal, reply
from doctor.stack import STACK
from doctor.triage.inputs import of_stream
from doctor.triage.run import judged

HF, HEX = "hf_Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7", "0123456789abcdef0123456789abcdef01234567"
SECRETS = (HF, HEX, "alicesmith", "gpu-node-17", "203.0.113.77", "hunter2hunter")
EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "150"))  # of each law; see docs/fuzzing.md
PAIR = """ImportError: cannot import name 'HybridCache' from 'transformers'

peft==0.17.1
transformers==5.24.0
"""

# Of terminals, and what reorders or hides text.
CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
REAL = st.sampled_from(
    [
        PAIR,
        "Traceback (most recent call last):\n",
        '  File "/home/alicesmith/t.py", line 3, in <module>\n',
        "    import torch\n",
        "ImportError: libcudart.so.12: cannot open shared object file\n",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
        "UserWarning: The NVIDIA driver on your system is too old (found version 12040).\n",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
        "PyTorch version: 2.3.0+cu121\n",
        "CUDA used to build PyTorch: 12.1\nOS: Ubuntu 22.04.3 LTS (x86_64)\n",
        "GPU 0: NVIDIA A100-SXM4-80GB\n",
        "- `transformers` version: 4.44.0\n- Python version: 3.10.12\n",
        "### Environment\n\n",
        "```\n",
        "> ",
        "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2 |\n",
        "bitsandbytes 0.43.1\n",
        "ModuleNotFoundError: No module named 'peft'\n",
        "pip install 'peft>=0.14' && rm -rf ~\n",
        "[rank0]: ",
        "TypeError: f() got an unexpected keyword argument 'evaluation_strategy'\n",
        "我用的是 torch 2.3，报错\n",
        "AttributeError: module 'torch' has no attribute 'compile'\n",
        "alicesmith@gpu-node-17:~/x$ python t.py\n",
        f"wandb login {HEX}\n",
        f"export HF_TOKEN={HF}\n",
        "MASTER_ADDR=203.0.113.77\n",
        "password=hunter2hunter\n",
        "Aug 12 10:38:30 gpu-node-17 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1\n",
    ]
)
HOSTILE = st.sampled_from(
    [
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x9b2J",
        "\x00",
        "\r",
        "\x08",
        "\u202e",
        "\u2066",
        "\u200b",
        "\ud800",
        "\n",
        "<script>alert(1)</script>",
        "</details>",
        "<!--",
        "![x](http://evil.example/x.png)",
        "<img src=x>",
        "[x](javascript:alert(1))",
        "@everyone ",
        "#12 ",
        "GH-12 ",
        "o/r#3 ",
        "https://evil.example/ ",
        "````",
        "~~~\n",
        "`",
        "$(touch pwned)",
        "`touch pwned`",
        "'; rm -rf / #",
        "|",
        "&lt;b&gt;",
        "{{7*7}}",
        "${{ github.token }}",
        "a" * 300,
        "==",
        "::error::x",
        "\t",
        " ",
        "%0A",
        "peft; curl evil.example",
        "\\",
        '"',
        "'",
    ]
)
PASTES = st.lists(REAL | HOSTILE | st.text(max_size=30), max_size=12).map("".join)
BYTES = st.builds(
    lambda text, junk, at: text[:at] + junk + text[at:],
    PASTES.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=6),
    st.integers(0, 200),
)


def report_of(data: bytes) -> Report:
    (source,) = of_stream(io.BytesIO(data), "standard input")
    return judged(source, Facts())


def pages(report: Report) -> dict[str, str]:
    markdown = paste_markdown.render([report])
    return {
        "json": json_report.render(report),
        "terminal": paste_terminal.render([report], width=80),
        "markdown": markdown,
        "reply": reply.render(report),
        "labels": reply.labels(report),
        "html": html.render(markdown),
    }


def tokens(markdown: str) -> Iterator[Token]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for token in parser.parse(markdown):
        yield token
        yield from token.children or ()


# What we write ourselves: the footer, and what keeps "@name" and "#1" from being calls.
OURS = {"<sub>", "</sub>", "<!-- -->"}


def assert_inert(markdown: str) -> None:
    """No token of Markdown but those of our own."""
    for token in tokens(markdown):
        assert token.type not in ("link_open", "image", "html_block"), token
        assert token.type != "html_inline" or token.content in OURS, token
        if token.type == "text":
            assert not re.search(r"@\w|#\d|GH-\d|evil\.example", token.content), token


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from strings(list(pair))
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


# A word of a command that we write: an option, a name, a version; or a program of ours after "-c".
WORD = re.compile(r"[\w@%+:,./\[\]~-]{1,200}|[\w.\[\]-]{1,80}(?:(?:[<>=!~]=|[<>])[\w.+!*]{1,40},?){1,4}")
FOREIGN = ("touch", "pwned", "rm -rf", "evil.example", "github.token", "alert(")


@settings(max_examples=EXAMPLES, deadline=None)
@example(b"")
@example(b"\xff\xfe")
@given(BYTES)
def test_any_bytes_give_a_report_of_the_contract(data: bytes) -> None:
    report = report_of(data)
    assert report.verdict in get_args(Verdict)
    assert all(one.severity in SEVERITIES and one.confidence in CONFIDENCES for one in report.findings)
    assert json_report.read(json_report.render(report)) == report
    for name, page in pages(report).items():
        assert not CONTROL.search(page), name


@settings(max_examples=EXAMPLES, deadline=None)
@example(PAIR + "@everyone #12 <b>x</b> ![x](http://evil.example/x.png)")
@given(PASTES)
def test_a_paste_is_shown_in_markdown_and_never_obeyed(text: str) -> None:
    report = report_of(text.encode("utf-8", "surrogatepass"))
    assert_inert(reply.render(report))
    assert_inert(paste_markdown.render([report]))


@settings(max_examples=EXAMPLES, deadline=None)
@given(PASTES)
def test_commands_are_ours(text: str) -> None:
    report = report_of(text.encode("utf-8", "surrogatepass"))
    for command in [c for one in report.findings for fix in one.fixes for c in fix.commands]:
        line = " ".join(command)
        assert not any(word in line for word in FOREIGN), command
        assert "\n" not in line


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(SECRETS), min_size=1, max_size=3), PASTES)
def test_no_planted_secret_is_told(secrets: list[str], text: str) -> None:
    planted = {
        HF: f"\nlogin(token='{HF}')\nImportError: {HF}\n",
        HEX: f"\nwandb login {HEX}\nRuntimeError: key {HEX}\n",
        "alicesmith": "\nalicesmith@box:~/x$ ls\nOSError: /data/alicesmith/x is missing, alicesmith\n",
        "gpu-node-17": "\nroot@gpu-node-17:/# ls\nRuntimeError: gpu-node-17 is down\n",
        "203.0.113.77": "\nRuntimeError: cannot connect to 203.0.113.77:29500\n",
        "hunter2hunter": "\nRuntimeError: password=hunter2hunter is wrong\n",
    }
    report = report_of((text + "".join(planted[one] for one in secrets)).encode("utf-8", "surrogatepass"))
    for name, page in pages(report).items():
        assert [one for one in secrets if one in page] == [], name


@pytest.mark.parametrize("count", [3])
def test_files_keep_their_order(count: int) -> None:
    issues = [{"number": at, "title": "t", "body": PAIR} for at in range(count)]
    found = list(of_stream(io.BytesIO(json.dumps(issues).encode()), "dump"))
    assert [one.name for one in found] == [f"#{at}" for at in range(count)]


def test_packages_in_commands_are_those_that_the_rules_name() -> None:
    report = report_of(PAIR.encode())
    installed = [word for one in report.findings for fix in one.fixes for c in fix.commands for word in c[4:]]
    assert installed and all(re.split(r"[<>=!~\[]", word)[0] in STACK for word in installed)


@pytest.mark.parametrize("depth", [10, 2_000, 200_000])
def test_deep_json_is_a_text_as_any_other(depth: int) -> None:
    data = b'{"body":' * depth + b"1" + b"}" * depth
    assert [judged(one, Facts()).verdict for one in of_stream(io.BytesIO(data), "deep")] == ["undetermined"]
