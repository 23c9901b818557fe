"""Properties of the readers of environment reports: nothing raises, and nothing is lost."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.readers.paste import (
    accelerate_env,
    collect_env,
    ds_report,
    issue_form,
    llamafactory_env,
    transformers_env,
    trl_env,
)

from .saying import blocks

READERS: tuple[ModuleType, ...] = (
    *(collect_env, transformers_env, accelerate_env, trl_env, llamafactory_env),
    *(ds_report, issue_form),
)
Said = tuple[str, str, str]
Line = tuple[str, tuple[Said, ...]]  # as it is printed, and what it says

number = st.integers(0, 30)
release = st.builds("{}.{}.{}".format, number, number, number)
torch = st.builds("{}{}".format, release, st.sampled_from(["", "+cu121", "+cu128", ".dev20250310+cu128"]))
python = st.builds("3.{}.{}".format, st.integers(6, 14), number)
gpu_name = st.sampled_from(
    ["NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090", "Tesla T4", "Quadro RTX 5000"]
)
kernel = st.sampled_from(["5.15.0-91-generic", "4.18.0-477.27.1.el8_8.x86_64", "5.10.104-tegra"])
libc = st.sampled_from(["2.31", "2.35", "2.39"])
package = st.sampled_from(
    ["transformers", "peft", "accelerate", "bitsandbytes", "trl", "flash-attn", "numpy"]
)


@st.composite
def platform(draw: st.DrawFn) -> tuple[str, tuple[Said, ...]]:
    name, glibc, arch = draw(kernel), draw(libc), draw(st.sampled_from(["x86_64", "aarch64"]))
    said = (("os", "", "linux"), ("kernel", "", name), ("arch", "", arch), ("libc", "", f"glibc {glibc}"))
    return f"Linux-{name}-{arch}-with-glibc{glibc}", said


@st.composite
def of_collect_env(draw: st.DrawFn) -> list[Line]:
    machine, system = draw(platform())
    version, py, driver = draw(torch), draw(python), draw(st.integers(400, 599))
    names = draw(st.lists(gpu_name, min_size=1, max_size=4))
    packages = draw(st.lists(st.tuples(package, release), max_size=5))
    return [
        (f"PyTorch version: {version}", (("package", "torch", version),)),
        ("Is debug build: False", ()),
        ("CUDA used to build PyTorch: 12.1", (("torch cuda", "", "12.1"),)),
        ("ROCM used to build PyTorch: N/A", ()),
        ("Libc version: glibc-2.35", (("libc", "", "glibc 2.35"),)),
        (f"Python version: {py} (main, Nov 20 2023) [GCC 11.4.0] (64-bit runtime)", (("python", "", py),)),
        (f"Python platform: {machine}", system),
        ("Is CUDA available: True", (("torch sees gpu", "", "yes"),)),
        ("CUDA runtime version: 11.8.89", (("toolkit", "", "11.8"),)),
        *((f"GPU {place}: {name}", (("gpu", str(place), name),)) for place, name in enumerate(names)),
        (f"Nvidia driver version: {driver}.54.14", (("driver", "", f"{driver}.54.14"),)),
        ("Is XNNPACK available: True", ()),
        *((f"[pip3] {name}=={value}", (("package", name, value),)) for name, value in packages),
        ("[conda] Could not collect", ()),
    ]


@st.composite
def of_transformers(draw: st.DrawFn) -> list[Line]:
    machine, system = draw(platform())
    version, py = draw(torch), draw(python)
    packages = draw(st.lists(st.tuples(package, release), max_size=5, unique_by=lambda one: one[0]))
    packages = [(name, value) for name, value in packages if name != "transformers"]
    sees = draw(st.booleans())
    return [
        ("- `transformers` version: 4.41.2", (("package", "transformers", "4.41.2"),)),
        (f"- Platform: {machine}", system),
        (f"- Python version: {py}", (("python", "", py),)),
        ("- Huggingface_hub version: 0.23.4", (("package", "huggingface-hub", "0.23.4"),)),
        ("- Safetensors version: 0.4.3", (("package", "safetensors", "0.4.3"),)),
        ("- Accelerate config: \tnot found", ()),
        (
            f"- PyTorch version (GPU?): {version} ({sees})",
            (("package", "torch", version), ("torch sees gpu", "", "yes" if sees else "no")),
        ),
        ("- Flax version (CPU?/GPU?/TPU?): not installed (NA)", ()),
        ("- Using GPU in script?: <fill in>", ()),
        *((f"- `{name}` version: {value}", (("package", name, value),)) for name, value in packages),
    ]


@st.composite
def part_of(draw: st.DrawFn, report: st.SearchStrategy[list[Line]]) -> list[Line]:
    """A report of which any lines are lost, with blank lines in between."""
    kept = [line for line in draw(report) if draw(st.integers(0, 9)) < 8]
    blank: Line = ("", ())
    return [one for line in kept for one in ([line, blank] if draw(st.integers(0, 9)) == 0 else [line])]


@given(st.one_of(part_of(of_collect_env()), part_of(of_transformers())))
def test_whatever_is_kept_is_read_back_from_its_line(lines: list[Line]) -> None:
    text = "\n".join(line for line, _ in lines)
    found = sorted(
        (one.line, one.topic, one.name, one.value)
        for reader in READERS
        for block in blocks(reader, text)
        for one in block.statements
    )
    assert found == sorted((place, *one) for place, (_, said) in enumerate(lines, 1) for one in said)


@given(st.one_of(of_collect_env(), of_transformers()))
def test_one_line_says_the_same(lines: list[Line]) -> None:
    text = " ".join(line for line, _ in lines)
    found = [
        (one.topic, one.name, one.value)
        for reader in READERS
        for block in blocks(reader, text)
        for one in block.statements
    ]
    assert sorted(found) == sorted(one for _, said in lines for one in said)


PIECES = [
    *(
        "PyTorch version",
        "GPU",
        "GPU 0",
        "CUDA",
        "OS",
        "- `transformers` version",
        "Python",
        "CPU:",
        "显卡",
        "版本",
    ),
    *(
        "[pip3]",
        "[conda]",
        "\\[pip3\\]",
        "torch version",
        " ......",
        "### ",
        "**",
        "- [x] ",
        "| ",
        "|---|---|",
        "\n",
    ),
    *(
        ": ",
        "：",
        ":",
        "(",
        ")",
        "[",
        "]",
        "2.1.0",
        "+cu121",
        "True",
        "N/A",
        "not installed",
        "Linux-5.1-x86_64-with",
    ),
    *(
        "-glibc2.35",
        "8卡",
        "x2",
        "MIG 1g.5gb",
        "name='",
        "Could not collect",
        " ",
        "\t",
        "\x00",
        "\u202e",
        "é",
        "٣.٤",
    ),
]


@settings(max_examples=300)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=60))
def test_nothing_raises(pieces: list[str]) -> None:
    for reader in READERS:
        blocks(reader, "".join(pieces))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__.rpartition(".")[2])
@pytest.mark.parametrize(
    "line",
    [
        "GPU: ",
        "a: ",
        "[pip3] torch==",
        "torch version ......",
        "|",
        "(",
        "#",
        "**",
        "Linux-",
        "- ",
        "x",
        "：",
        "[",
    ],
)
def test_a_line_without_end_is_no_harm(reader: ModuleType, line: str) -> None:
    for block in blocks(reader, line * 400_000):
        assert all(len(one.value) <= 300 for one in block.statements)
        assert len(block.statements) < 20_000
