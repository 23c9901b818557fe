"""nvidia-smi in every form and era, whole, collapsed and cut."""

from __future__ import annotations

import string
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import nvidia_smi

from .saying import blocks, told, values

MIB = 1 << 20

BRANCH_470 = """\
Sun Nov 29 12:00:00 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0  On |                  N/A |
| 30%   38C    P8     9W / 350W |    490MiB / 12288MiB |      0%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    0   N/A  N/A      1034      G   /usr/lib/xorg/Xorg                 35MiB |
|    0   N/A  N/A    211034      C   /opt/conda/bin/python3            450MiB |
+-----------------------------------------------------------------------------+
"""
BRANCH_470_SAYS = [
    ("driver", "", "470.57.02"),
    ("driver cuda", "", "11.4"),
    ("gpu", "0", "NVIDIA GeForce ..."),
    ("gpu memory", "0", str(12288 * MIB)),
    ("gpu memory free", "0", str((12288 - 490) * MIB)),
    ("gpu process", "0", f"Xorg {35 * MIB}"),
    ("gpu process", "0", f"python3 {450 * MIB}"),
]
WINDOWS = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 546.12                 Driver Version: 546.12       CUDA Version: 12.3     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                     TCC/WDDM  | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA GeForce RTX 3050 ...  WDDM  | 00000000:01:00.0 Off |                  N/A |
| N/A   52C    P0               7W /  60W |      0MiB /  4096MiB |      0%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|    0   N/A  N/A      1752    C+G   Insufficient Permissions                N/A        |
|    0   N/A  N/A      2424    C+G   ...b3d8bbwe\\WinStore.App.exe            N/A        |
+---------------------------------------------------------------------------------------+
"""
WSL = """\
| NVIDIA-SMI 545.46                 Driver Version: 546.80       CUDA Version: ERR!     |
|=========================================+======================+======================|
|   0  NVIDIA GeForce RTX 3060 ...    On  | 00000000:01:00.0  On |                  N/A |
| N/A   54C    P8              16W /  80W |    816MiB /  6144MiB |      3%      Default |
|                                         |                      |                  N/A |
"""
BRANCH_610 = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA B200                    On  |   00000000:63:00.0 Off |                    0 |
| N/A   26C    P0            139W / 1000W |       0MiB / 183359MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
SHARED_MEMORY = """\
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
|                                         |                        |                  N/A |
"""
JETSON = """\
| NVIDIA-SMI 540.4.0                Driver Version: 540.4.0      CUDA Version: N/A      |
|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |
| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |
|                                         |                      |                  N/A |
"""
OLDEST = """\
+------------------------------------------------------+
| NVIDIA-SMI 331.62     Driver Version: 331.62         |
|-------------------------------+----------------------+----------------------+
|   0  GeForce GTX 680     Off  | 0000:03:00.0     N/A |                  N/A |
| 30%   35C  N/A     N/A /  N/A |      9MiB /  4095MiB |     N/A      Default |
"""
MIG = """\
| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |
|   1  NVIDIA A100-SXM...  On   | 00000000:47:00.0 Off |                   On |
| N/A   38C    P0    84W / 400W |     26MiB / 40960MiB |     N/A      Default |
|                               |                      |              Enabled |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|
|                  |                      |        ECC|                       |
|==================+======================+===========+=======================|
|  1    3   0   0  |  14366MiB / 19968MiB | 28      0 |  2   0    1    0    0 |
|                  |      4MiB / 32767MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
| Processes:                                                                  |
|    1     3    0      1234      C   python                          14300MiB |
"""


def collapsed(text: str) -> str:
    """As Markdown shows a table that stands in no code block."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def unframed(text: str) -> str:
    """Without rules and bars."""
    lines = (line.replace("|", " ") for line in text.split("\n") if not line.startswith("+"))
    return "\n".join(" ".join(line.split()) for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        BRANCH_470,
        collapsed(BRANCH_470),
        unframed(BRANCH_470),
        BRANCH_470.replace("|", "\\|"),
        BRANCH_470.replace("|", "│"),
        "\n".join(line for line in BRANCH_470.split("\n") if "+--" not in line),
        BRANCH_470.replace("\n", "\n\n"),
    ],
)
def test_the_table_before_530_however_it_was_pasted(text: str) -> None:
    assert told(nvidia_smi, text) == BRANCH_470_SAYS


@pytest.mark.parametrize(
    "line", ["Usage: train.py [-h]", " 10%|#    | 1/10 [00:10<01:30]", "100% of runs fail", "Killed"]
)
def test_lines_below_a_table_are_none_of_it(line: str) -> None:
    [block] = blocks(nvidia_smi, f"{BRANCH_470}{line}\n")
    assert block.last == BRANCH_470.count("\n")


def test_the_table_of_windows() -> None:
    assert told(nvidia_smi, WINDOWS) == [
        ("driver", "", "546.12"),
        ("driver cuda", "", "12.3"),
        ("os", "", "win32"),
        ("gpu", "0", "NVIDIA GeForce RTX 3050 ..."),
        ("os", "", "win32"),
        ("gpu memory", "0", str(4096 * MIB)),
        ("gpu memory free", "0", str(4096 * MIB)),
        ("gpu process", "0", "WinStore.App.exe"),
    ]


def test_in_wsl_the_driver_of_windows_counts_and_err_is_no_number() -> None:
    assert told(nvidia_smi, WSL)[:2] == [
        ("driver", "", "546.80"),
        ("gpu", "0", "NVIDIA GeForce RTX 3060 ..."),
    ]
    assert values(nvidia_smi, WSL, "driver cuda") == []


def test_a_table_that_complains_stays_for_those_who_look_for_complaints() -> None:
    lost = BRANCH_470.replace("30%   38C    P8     9W / 350W", "ERR!  ERR! ERR!    ERR! / ERR!")
    assert [block.is_whole for block in blocks(nvidia_smi, lost)] == [False]
    assert [block.is_whole for block in blocks(nvidia_smi, BRANCH_470)] == [True]


def test_the_header_of_610() -> None:
    assert told(nvidia_smi, BRANCH_610) == [
        ("driver", "", "610.43.02"),
        ("driver cuda", "", "13.3"),
        ("gpu", "0", "NVIDIA B200"),
        ("gpu memory", "0", str(183359 * MIB)),
        ("gpu memory free", "0", str(183359 * MIB)),
        ("gpu mig", "0", "disabled"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            SHARED_MEMORY,
            [("driver", "", "580.95.05"), ("driver cuda", "", "13.0"), ("gpu", "0", "NVIDIA GB10")],
        ),
        (JETSON, [("driver", "", "540.4.0"), ("gpu", "0", "Orin (nvgpu)")]),
        (
            OLDEST,
            [
                ("driver", "", "331.62"),
                ("gpu", "0", "GeForce GTX 680"),
                ("gpu memory", "0", str(4095 * MIB)),
                ("gpu memory free", "0", str(4086 * MIB)),
            ],
        ),
    ],
)
def test_tables_without_one_or_the_other_column(text: str, said: list[tuple[str, str, str]]) -> None:
    assert told(nvidia_smi, text) == said
    assert told(nvidia_smi, collapsed(text)) == said


def test_mig() -> None:
    said = told(nvidia_smi, MIG)
    assert ("gpu mig", "1", "enabled") in said and ("gpu mig", "1", "MIG device 0") in said
    assert values(nvidia_smi, MIG, "gpu memory") == [str(40960 * MIB)]
    assert values(nvidia_smi, MIG, "gpu process") == [f"python {14300 * MIB}"]


def test_a_table_that_is_cut_above_and_below() -> None:
    lines = BRANCH_470.split("\n")
    assert told(nvidia_smi, "\n".join(lines[8:10])) == BRANCH_470_SAYS[2:5]
    assert told(nvidia_smi, "\n".join(lines[18:20])) == BRANCH_470_SAYS[5:]
    assert told(nvidia_smi, "\n".join(lines[:9])) == BRANCH_470_SAYS[:3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NVIDIA-SMI 470.57.02 Driver Version: 470.57.02 CUDA Version: 11.4", ["470.57.02", "11.4"]),
        ("Driver Version: 535.104.05   CUDA Version: 12.2", ["535.104.05", "12.2"]),
        ("- Driver Version: 390.116", ["390.116"]),
        ("NVIDIA-SMI 535.54.03; Driver Version: 535.54.03; CUDA Version: 12.2", ["535.54.03", "12.2"]),
        ("NVIDIA-SMI 550.54.15", ["550.54.15"]),
        ("nvidia-smi says CUDA Version: 12.9", ["12.9"]),
        ("nvidia-smi shows that the CUDA version is 12", []),
        ("CUDA Version: 11.8", []),  # of what, is not told
        ("Driver Version: 31.0.15.3623", []),  # as Windows counts its drivers
        ("It requires Driver Version: 535.104 or newer", []),
        ("Driver Version: none", []),
    ],
)
def test_one_line_of_it(line: str, said: list[str]) -> None:
    assert [value for _, _, value in told(nvidia_smi, line)] == said


def test_a_sentence_around_the_header_is_left_to_others() -> None:
    [block] = blocks(nvidia_smi, "I have NVIDIA-SMI 470.57.02 Driver Version: 470.57.02 and it crashes")
    assert not block.is_whole


@pytest.mark.parametrize(
    "refusal",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
        "latest NVIDIA driver is installed and running.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "Failed to initialize NVML: Unknown Error",
        "nvidia-smi: command not found",
        "No devices were found",
    ],
)
def test_refusals_belong_to_nobody(refusal: str) -> None:
    assert blocks(nvidia_smi, refusal) == []
    whole = [block for block in blocks(nvidia_smi, f"{BRANCH_470}{refusal}\n") if block.is_whole]
    assert [block.last for block in whole] == [BRANCH_470.count("\n")]


def test_the_version_of_the_library_is_read_beside_the_refusal() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161"
    [block] = blocks(nvidia_smi, text)
    assert [one.value for one in block.statements] == ["535.161"]
    assert not block.is_whole


def test_list_of_gpus_without_their_uuids() -> None:
    text = (
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5a2c1d3e-7b64-4f0a-9c1e-2f3b4c5d6e7f)\n"
        "  MIG 1g.5gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)\n"
        "GPU 1: Tesla T4 (UUID: [removed])\n"
    )
    assert told(nvidia_smi, text) == [
        ("gpu", "0", "NVIDIA A100-SXM4-40GB"),
        ("gpu mig", "0", "MIG 1g.5gb"),
        ("gpu", "1", "Tesla T4"),
    ]


def test_gpustat() -> None:
    text = "[0] NVIDIA GeForce RTX 4090 | 50'C,  73 % | 12894 / 24564 MB | someone(12874M)"
    assert told(nvidia_smi, text) == [
        ("gpu", "0", "NVIDIA GeForce RTX 4090"),
        ("gpu memory", "0", str(24564 * MIB)),
        ("gpu memory free", "0", str((24564 - 12894) * MIB)),
    ]


def test_device_query() -> None:
    text = (
        'Device 0: "Orin"\n'
        "  CUDA Driver Version / Runtime Version          12.6 / 12.2\n"
        "  CUDA Capability Major/Minor version number:    8.7\n"
        "  Total amount of global memory:                 54793 MBytes (57454317568 bytes)\n"
    )
    assert told(nvidia_smi, text) == [
        ("gpu", "0", "Orin"),
        ("driver cuda", "", "12.6"),
        ("gpu capability", "0", "8.7"),
        ("gpu memory", "0", "57454317568"),
    ]


def test_versions_of_the_program() -> None:
    text = "NVIDIA-SMI version  : 550.54.15\nNVML version        : 550.54\nDRIVER version      : 550.54.15\n"
    said = told(nvidia_smi, text + "CUDA Version        : 12.4\n")
    assert set(said) == {("driver", "", "550.54.15"), ("driver cuda", "", "12.4")}


INVENTORY = """\
==============NVSMI LOG==============

Timestamp                                 : Wed Aug 12 20:36:37 2020
Driver Version                            : 535.104.05
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:18:00.0
    Product Name                          : NVIDIA A100-PCIE-40GB
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    Driver Model
        Current                           : N/A
    GPU UUID                              : GPU-95ef7c5d-fc11-835b-cd38-2020193cf8e0
    FB Memory Usage
        Total                             : 40960 MiB
        Reserved                          : 606 MiB
        Used                              : 26 MiB
        Free                              : 40327 MiB
    BAR1 Memory Usage
        Total                             : 65536 MiB
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA L40S
    Processes                             : None
Traceback (most recent call last):
  File "train.py", line 3, in <module>
RuntimeError: CUDA error: unknown error
"""


def test_inventory() -> None:
    said = [
        ("driver", "", "535.104.05"),
        ("driver cuda", "", "12.2"),
        ("gpu", "0", "NVIDIA A100-PCIE-40GB"),
        ("gpu mig", "0", "enabled"),
        ("gpu memory", "0", str(40960 * MIB)),
        ("gpu memory free", "0", str(40327 * MIB)),
        ("gpu", "1", "NVIDIA L40S"),
    ]
    for text in (INVENTORY, collapsed(INVENTORY)):
        [whole] = [
            block for block in blocks(nvidia_smi, text) if block.is_whole and len(block.statements) > 2
        ]
        assert [(one.topic, one.name, one.value) for one in whole.statements] == said
        assert "Traceback" in text.split("\n")[whole.last]


def test_what_the_container_tool_tells() -> None:
    text = (
        "NVRM version:   535.104.05\nCUDA version:   12.2\n\nDevice Index:   0\nDevice Minor:   0\n"
        "Model:          NVIDIA GeForce RTX 3060\nBrand:          GeForce\nArchitecture:   8.6\n"
    )
    assert told(nvidia_smi, text) == [
        ("driver", "", "535.104.05"),
        ("driver cuda", "", "12.2"),
        ("gpu", "0", "NVIDIA GeForce RTX 3060"),
        ("gpu capability", "0", "8.6"),
    ]


QUERIED = [
    ("gpu", "0", "NVIDIA GeForce RTX 3090"),
    ("driver", "", "535.104.05"),
    ("gpu memory", "0", str(24576 * MIB)),
]


@pytest.mark.parametrize(
    "text",
    [
        "name, driver_version, memory.total [MiB]\nNVIDIA GeForce RTX 3090, 535.104.05, 24576 MiB\n"
        "Thanks, all, of you",
        "$ nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader,nounits\n"
        "NVIDIA GeForce RTX 3090, 535.104.05, 24576\n",
        "My card:\nNVIDIA GeForce RTX 3090, 535.104.05, 24576 MiB\nis it enough?",
    ],
)
def test_queried_fields(text: str) -> None:
    assert told(nvidia_smi, text) == QUERIED


def test_queried_fields_that_the_driver_does_not_tell() -> None:
    head = "index, name, memory.total [MiB], memory.used [MiB]"
    text = f"{head}\n0, NVIDIA GB10, [N/A], [N/A]\n1, Tesla T4, 15360 MiB, 360 MiB"
    assert told(nvidia_smi, text) == [
        ("gpu", "0", "NVIDIA GB10"),
        ("gpu", "1", "Tesla T4"),
        ("gpu memory", "1", str(15360 * MIB)),
        ("gpu memory free", "1", str(15000 * MIB)),
    ]


@pytest.mark.parametrize(
    "text", ["name, place, animal", "A100, H100 and others", "8.6, 12.1", "GPU0 GPU1 CPU Affinity"]
)
def test_lists_of_other_things_are_no_rows(text: str) -> None:
    assert told(nvidia_smi, text) == []


class Card(NamedTuple):
    name: str
    used: int
    total: int
    mig: str


WORDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
CARDS = st.builds(
    Card,
    st.lists(WORDS, min_size=0, max_size=2).map(lambda words: " ".join(["NVIDIA", *words])),
    st.integers(0, 999),
    st.integers(1_000, 999_999),
    st.sampled_from(["N/A", "Enabled", "Disabled"]),
)
# By the branch at which a form begins: widths of the three columns, and what the header calls the versions.
FORMS = {
    470: ((31, 22, 22), "Driver Version", "CUDA Version"),
    535: ((41, 22, 22), "Driver Version", "CUDA Version"),
    570: ((41, 24, 22), "Driver Version", "CUDA Version"),
    610: ((41, 24, 22), "KMD Version", "CUDA UMD Version"),
}


def printed(branch: int, cards: list[Card]) -> str:
    """The table as that branch of the driver prints it."""
    widths, driver, cuda = FORMS[branch]
    rule = "+" + "+".join("-" * width for width in widths) + "+"

    def row(left: str, middle: str, right: str) -> str:
        cells = (left.ljust(widths[0]), middle.rjust(widths[1]), right.rjust(widths[2]))
        return "|" + "|".join(cells) + "|"

    head = f" NVIDIA-SMI {branch}.86.10   {driver}: {branch}.86.10   {cuda}: 12.4 ".ljust(sum(widths) + 2)
    lines = [rule, f"|{head}|", rule, row(" GPU  Name ", " Bus-Id ", " ECC "), row("", "", " MIG M. "), rule]
    for index, card in enumerate(cards):
        held = f"{card.used:>6}MiB / {card.total:>6}MiB "
        lines.append(row(f" {index:3}  {card.name:20} Off ", "00000000:01:00.0 Off ", "N/A "))
        lines.append(row(" 30%   38C    P8   9W / 350W", held, "0%      Default "))
        lines += [row("", "", f"{card.mig} "), rule]
    return "\n".join(lines)


@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(CARDS, min_size=1, max_size=9),
    st.sampled_from([str, collapsed, unframed]),
)
def test_a_printed_table_is_read_back(branch: int, cards: list[Card], pasted: type[str]) -> None:
    text = pasted(printed(branch, cards))
    assert values(nvidia_smi, text, "driver") == [f"{branch}.86.10"]
    assert values(nvidia_smi, text, "driver cuda") == ["12.4"]
    said = told(nvidia_smi, text)
    for index, card in enumerate(cards):
        assert ("gpu", str(index), card.name) in said
        assert ("gpu memory", str(index), str(card.total * MIB)) in said
        assert ("gpu memory free", str(index), str((card.total - card.used) * MIB)) in said
        modes = [value for topic, name, value in said if (topic, name) == ("gpu mig", str(index))]
        assert modes == ([] if card.mig == "N/A" else [card.mig.lower()])
    assert len(values(nvidia_smi, text, "gpu")) == len(cards)
    assert [block.is_whole for block in blocks(nvidia_smi, text)] == [True]
