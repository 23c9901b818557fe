"""Lists of packages as the tools print them, whole, cut, quoted or indented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import package_list

from .saying import blocks, told

PIP = """\
$ pip list
Package                   Version        Editable project location
------------------------- -------------- ---------------------------
accelerate                1.2.1
llamafactory              0.9.2.dev0     /home/someone/LLaMA-Factory
nvidia-cublas-cu12        12.4.5.8
torch                     2.6.0+cu124
typing_extensions         4.12.2

[notice] A new release of pip is available: 24.0 -> 25.0
"""
CONDA = """\
# packages in environment at /opt/conda/envs/llm:
#
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                        main
cuda-nvcc                 12.1.105                      0    nvidia
libblas                   3.9.0            21_linux64_mkl    conda-forge
mkl                       2024.1.0           h213fc3f_693
peft                      0.7.1                    pypi_0    pypi
python                    3.10.13              h955ad1f_0
pytorch                   2.1.0           py3.10_cuda11.8_cudnn8.7.0_0    pytorch
pytorch-cuda              11.8                 h7e8668a_5    pytorch
"""
SHOW = """\
Name: peft
Version: 0.10.0
Summary: Parameter-Efficient Fine-Tuning (PEFT)
Home-page: https://github.com/huggingface/peft
Author: The HuggingFace team
License: Apache
Location: /usr/local/lib/python3.10/dist-packages
Requires: accelerate, huggingface-hub, torch, transformers
Required-by: trl
"""
TREE = """\
tuning v0.1.0
├── peft v0.14.0
│   ├── accelerate v1.2.1
│   │   └── numpy v2.2.1
│   └── torch v2.5.1 (extra: cuda)
└── trl v0.13.0
"""


def releases(text: str) -> dict[str, str]:
    return {name: value for topic, name, value in told(package_list, text) if topic == "package"}


def test_pip_list_is_read_to_its_end_and_no_further() -> None:
    (block,) = blocks(package_list, PIP)
    assert (block.first, block.last, block.is_whole) == (2, 8, True)
    assert releases(PIP) == {
        "accelerate": "1.2.1",
        "llamafactory": "0.9.2.dev0",
        "nvidia-cublas-cu12": "12.4.5.8",
        "torch": "2.6.0+cu124",
        "typing-extensions": "4.12.2",
    }


@pytest.mark.parametrize(
    "text",
    [
        PIP,
        "\n".join(f"    {line}" for line in PIP.split("\n")),
        "\n".join(line for line in PIP.split("\n") if "---" not in line),
        "\n".join(line for line in PIP.split("\n") if not line.startswith("Package")),
        "\n".join(f"| {'|'.join(line.split())} |" for line in PIP.split("\n")[1:8]),
    ],
    ids=["as it is", "indented", "without its rule", "without its header", "in Markdown"],
)
def test_the_same_list_in_other_clothes_says_the_same(text: str) -> None:
    assert releases(text) == releases(PIP)


def test_a_row_that_is_cut_says_nothing() -> None:
    text = "Package    Version\n---------- -------\ntorch      2.6...\ntransfo... 4.40.1\npeft       0.14.0"
    assert releases(text) == {"peft": "0.14.0"}


def test_conda_tells_the_build_of_torch_its_folder_and_its_compiler() -> None:
    said = told(package_list, CONDA)
    assert said == [
        ("executable", "", "/opt/conda/envs/llm"),
        ("toolkit", "", "12.1"),
        ("package", "mkl", "2024.1.0"),
        ("package", "peft", "0.7.1"),
        ("python", "", "3.10.13"),
        ("package", "torch", "2.1.0"),
        ("torch cuda", "", "11.8"),
        ("torch cuda", "", "11.8"),
    ]


@pytest.mark.parametrize(
    ("build", "cuda"),
    [
        ("py3.10_cuda11.3_cudnn8.3.2_0", "11.3"),
        ("cuda120_py310h1234567_200", "12.0"),
        ("cuda126_mkl_py312hb2c1b32_301", "12.6"),
        ("cpu_py310hd11e9c7_0", "none"),
        ("cpu_generic_py311h1a3ebd5_1", "none"),
        ("py3.10_cpu_0", "none"),
        ("py310h1234567_0", ""),
    ],
)
def test_a_build_of_conda_tells_cuda_from_cpu(build: str, cuda: str) -> None:
    said = told(package_list, f"pytorch   2.1.0   {build}   conda-forge")
    assert said == [("package", "torch", "2.1.0"), *([("torch cuda", "", cuda)] if cuda else [])]


def test_pip_show_is_one_package() -> None:
    (block,) = blocks(package_list, SHOW)
    assert (block.first, block.last) == (1, 8)
    assert releases(SHOW) == {"peft": "0.10.0"}


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("torch==2.3.0+cu121", "torch", "2.3.0+cu121"),
        ("  - torch==2.3.0  # via peft", "torch", "2.3.0"),
        ("transformers[torch]==4.40.1 ; python_version >= '3.9'", "transformers", "4.40.1"),
        ("huggingface_hub == 0.25.2", "huggingface-hub", "0.25.2"),
        ("pytorch==1.13.1", "torch", "1.13.1"),
        (
            "torch @ https://download.pytorch.org/whl/nightly/cu128/"
            "torch-2.7.0.dev20250310%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=2f",
            "torch",
            "2.7.0.dev20250310+cu128",
        ),
        ("numpy @ file:///croot/numpy_and_numpy_base_1708/work/dist/x.whl", "numpy", ""),
        ("peft @ git+https://github.com/huggingface/peft@a3a3a5f8", "peft", ""),
        ("-e git+https://github.com/huggingface/trl@0f26049#egg=trl", "trl", ""),
        ("# Editable install with no version control (llamafactory==0.9.1)", "llamafactory", "0.9.1"),
        ("pytorch=2.1.0=py3.10_cuda11.8_cudnn8.7.0_0", "torch", "2.1.0"),
        ("├── safetensors [required: >=0.4.3, installed: 0.4.5]", "safetensors", "0.4.5"),
        (
            "Requirement already satisfied: bitsandbytes>=0.43 in /opt/venv/lib/python3.10/site-packages"
            " (from -r requirements.txt (line 3)) (0.43.1)",
            "bitsandbytes",
            "0.43.1",
        ),
    ],
)
def test_a_line_that_names_a_release(line: str, name: str, version: str) -> None:
    assert told(package_list, line) == [("package", name, version)]


def test_a_tree_is_read_with_all_its_branches() -> None:
    assert releases(TREE) == {
        "tuning": "0.1.0",
        "peft": "0.14.0",
        "accelerate": "1.2.1",
        "numpy": "2.2.1",
        "torch": "2.5.1",
        "trl": "0.13.0",
    }


def test_what_uv_takes_away_is_no_longer_there() -> None:
    assert releases(" - torch==2.5.0\n + torch==2.6.0\n ~ peft==0.14.0") == {
        "torch": "2.6.0",
        "peft": "0.14.0",
    }
    assert releases(" - torch==2.5.0\n - peft==0.14.0") == {"torch": "2.5.0", "peft": "0.14.0"}


def test_what_pip_installed_is_there() -> None:
    line = "Successfully installed torch-2.3.0+cu121 flash-attn-2.5.8 typing_extensions-4.12.2"
    assert releases(line) == {"torch": "2.3.0+cu121", "flash-attn": "2.5.8", "typing-extensions": "4.12.2"}


def test_pip_check_tells_what_is_absent_and_what_is_out_of_step() -> None:
    (block,) = blocks(package_list, "peft 0.18.0 requires transformers, which is not installed.")
    assert not block.is_whole
    assert told(package_list, "peft 0.18.0 requires transformers, which is not installed.") == [
        ("package", "peft", "0.18.0"),
        ("absent", "transformers", ""),
    ]
    line = "pytorch-lightning 1.9.0 has requirement torchmetrics>=0.7.0, but you have torchmetrics 0.5.0."
    assert releases(line) == {"pytorch-lightning": "1.9.0", "torchmetrics": "0.5.0"}
    line = "trl 0.9.6 requires transformers>=4.31.0, but you have transformers 4.30.2 which is incompatible."
    assert releases(line) == {"trl": "0.9.6", "transformers": "4.30.2"}
    assert told(package_list, "WARNING: Package(s) not found: peft, trl") == [
        ("absent", "peft", ""),
        ("absent", "trl", ""),
    ]


def test_complaints_of_pip_below_each_other_are_no_table() -> None:
    line = "{} 2.0.2 requires torch==2.0.1, but you have torch 1.13.1 which is incompatible."
    found = blocks(package_list, "\n".join(map(line.format, ("torchaudio", "torchdata", "torchtext"))))
    assert [block.is_whole for block in found] == [False] * 3


def test_uv_tells_which_python_it_looked_at() -> None:
    assert told(package_list, "Using Python 3.11.7 environment at: .venv") == [
        ("python", "", "3.11.7"),
        ("executable", "", ".venv"),
    ]


@pytest.mark.parametrize(("line", "bounds"), [("peft>=0.14,<0.17", ">=0.14,<0.17"), ("numpy <2", "<2")])
def test_bounds_are_asked_for_and_not_there(line: str, bounds: str) -> None:
    ((topic, _, value),) = told(package_list, line)
    assert (topic, value) == ("requirement", bounds)


def test_rows_without_a_header_need_a_known_name() -> None:
    assert releases("torch 2.7.0\nflash-attn 2.7.4.post1") == {"torch": "2.7.0", "flash-attn": "2.7.4.post1"}
    assert releases("apples 3\npears 4.5") == {}
    assert releases("torch 2.7.0") == {}  # a sentence of two words is left to those who read prose


def test_poetry_show_has_a_mark_for_what_is_not_installed_as_locked() -> None:
    text = (
        "accelerate     1.2.1  Accelerate\npeft       (!) 0.14.0 Fine-tuning\ntorch          2.5.1  Tensors"
    )
    assert releases(text) == {"accelerate": "1.2.1", "peft": "0.14.0", "torch": "2.5.1"}


def test_what_is_no_package_in_a_list_keeps_its_own_name() -> None:
    assert told(package_list, "torch 2.1.0\npython 3.10.4\ncuda 12.1\nubuntu 22.04") == [
        ("package", "torch", "2.1.0"),
        ("python", "", "3.10.4"),
        ("cuda", "", "12.1"),
        ("distribution", "", "Ubuntu 22.04"),
    ]


@pytest.mark.parametrize("heading", ["Works with:", "## Solution", "After the upgrade:", "Fixed by"])
def test_a_list_of_an_environment_that_works_is_left_out(heading: str) -> None:
    assert told(package_list, f"{heading}\n\n```\npeft==0.13.2\n```") == []


def test_a_list_under_another_heading_is_read() -> None:
    assert releases("Not working:\npeft==0.14.0") == {"peft": "0.14.0"}


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(?:-[a-z0-9]{1,6})?", fullmatch=True)
VERSIONS = st.from_regex(
    r"[1-9][0-9]{0,3}\.[0-9]{1,3}(?:\.[0-9]{1,2})?(?:\.post[0-9]|rc[0-9]|\+cu[0-9]{3})?", fullmatch=True
)


@given(st.dictionaries(NAMES, VERSIONS, min_size=1, max_size=9))
def test_whatever_pip_prints_is_read_back(installed: dict[str, str]) -> None:
    width = max(len(name) for name in installed)
    table = [f"{'Package':<{width}} Version", f"{'-' * max(width, 7)} -------"]
    table += [f"{name:<{width}} {version}" for name, version in installed.items()]
    found = releases("\n".join(table))
    frozen = releases("\n".join(f"{name}=={version}" for name, version in installed.items()))
    special = {"python", "cuda", "cudnn", "driver", "ubuntu", "gpu", "nvidia-driver", "bnb", "hub", "swift"}
    wanted = {name: version for name, version in installed.items() if name not in special}
    assert {name: found.get(name) for name in wanted} == wanted
    assert {name: frozen.get(name) for name in wanted} == wanted


@given(st.text(max_size=400))
def test_no_text_makes_it_raise(text: str) -> None:
    blocks(package_list, text)


@given(
    st.lists(st.sampled_from([*PIP.split("\n"), *CONDA.split("\n"), *TREE.split("\n"), "", "x"]), max_size=20)
)
def test_pieces_of_lists_in_any_order_do_not_make_it_raise(lines: list[str]) -> None:
    blocks(package_list, "\n".join(lines))
