"""GPUs by name: what is known of one that is described in words rather than seen."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from doctor.matrix.platform import table
from doctor.versions import comparable

# Words that tell no two GPUs of the table apart: maker, series, form factor. Quadro does: RTX 6000 is four.
NOISE = frozenset(
    "nvidia corporation geforce tesla rtx gtx gpu graphics card generation edition series module developer "
    "kit jetson dgx hgx dgxs superchip blackwell pcie sxm sxm2 sxm3 sxm4 sxm5 sxm6 nvl hbm2 hbm2e hbm3 hbm3e "
    "max q maxq with design workstation server".split()
)
SPELLINGS = {"notebook": "laptop", "mobile": "laptop"}
REMARK = re.compile(r"\([^()]{0,60}\)?")
PLURAL = re.compile(r"(\d)s\b", re.I)
SIZE = re.compile(r"\b(\d+)\s?gi?b?\b")


class GpuModel(NamedTuple):
    """A GPU of the table."""

    name: str
    compute_capability: str  # "8.6"
    memory_gib: int  # as the asked name has it, else the smallest that was sold under the name
    arch: str = ""  # of the processor that it comes with: "aarch64"; "" for one that goes into any machine
    jetson: bool = False  # runs on NVIDIA's own wheels
    data_center: bool = False  # takes NVIDIA's cuda-compat packages


def gpu_named(text: str) -> GpuModel | None:
    """The GPU of a name as nvidia-smi or people write it: "NVIDIA A100-SXM4-80GB", "rtx3060", "4090 laptop".

    None where the table has it not; a word that is left over, as of a MIG slice, may make it another one.
    """
    row = next((row for name in readings_of(text) if (row := known_gpus().get(distinct_words(name)))), None)
    if row is None:
        return None
    sizes = {int(size) for size in SIZE.findall(text.lower())}
    memory = min(sizes.intersection(row["memory_gib"]) or row["memory_gib"])
    return GpuModel(
        row["name"],
        row["compute_capability"],
        memory,
        row.get("arch", ""),
        row.get("jetson", False),
        row.get("data_center", False),
    )


def readings_of(text: str) -> tuple[str, ...]:
    """A name as it is written, then without remarks: "Orin (nvgpu)", "RTX 5090 (sm_120)", "A100s"."""
    plain = REMARK.sub(" ", text)
    return text, plain, PLURAL.sub(r"\1", plain)


def is_data_center(name: str) -> bool:
    """Is it known for a data-centre GPU? A slice of one in MIG mode is one too."""
    known = gpu_named(name.partition(" MIG ")[0])
    return known is not None and known.data_center


def has_feature(compute_capability: str, feature: str) -> bool:
    """Has a GPU a feature of the table, such as "bfloat16"? Raises KeyError for one that it does not name."""
    lowest = {row["feature"]: row["compute_capability"] for row in table("gpu_architectures")["feature"]}
    have, need = comparable(compute_capability), comparable(lowest[feature])
    return bool(have and need and have >= need)


@cache
def known_gpus() -> dict[frozenset[str], dict[str, Any]]:
    """The rows of the table by the words of their names."""
    return {distinct_words(row["name"]): row for row in table("gpu_architectures")["gpu"]}


def distinct_words(text: str) -> frozenset[str]:
    """The words of a name that tell it from others, its size left out."""
    plain = SIZE.sub(" ", text.lower())
    plain = re.sub(r"(rtx|gtx)(?=\d)|(?<=\d)(?=ti\b|d\b|super\b|laptop\b)", r"\1 ", plain)
    return frozenset(SPELLINGS.get(word, word) for word in re.findall(r"[a-z0-9]+", plain)) - NOISE
