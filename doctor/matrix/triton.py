"""Which GPUs a triton can assemble code for, by the ptxas that its wheels bring."""

from __future__ import annotations

from doctor.matrix.platform import table
from doctor.versions import comparable

SECOND_FROM = 10  # from this major compute capability on, a triton that has two takes its second ptxas
TOLD_FROM = 8  # the table leaves out the GPUs before


def major(capability: str) -> int:
    """The number before the point of a compute capability."""
    return int(capability.split(".")[0])


def ptxas_of(triton: str, capability: str) -> str | None:
    """The CUDA release of the ptxas that a triton takes for a GPU; None for one the table does not have."""
    release = comparable(triton)
    minor = f"{release.major}.{release.minor}" if release else ""
    row = next((row for row in table("triton_tools")["release"] if row["triton"] == minor), None)
    if row is None:
        return None
    first: str = row["ptxas"]
    return str(row.get("ptxas_blackwell", first)) if major(capability) >= SECOND_FROM else first


def knows(cuda: str, capability: str) -> bool | None:
    """Does the ptxas of a CUDA release know a GPU? None where the table does not tell."""
    rows = table("triton_tools")["ptxas"]
    known = next((row["compute_capability"] for row in rows if row["cuda"] == cuda), None)
    if known is None or major(capability) < TOLD_FROM:
        return None
    return capability in known


def is_new_enough(cuda: str, capability: str) -> bool:
    """Is a toolkit of the CUDA release, or a later one, of which a ptxas first knew a GPU?"""
    rows = table("triton_tools")["ptxas"]
    first = next((row["cuda"] for row in rows if capability in row["compute_capability"]), "")
    have, need = comparable(cuda), comparable(first)
    return bool(have and need and have >= need)


def first_triton_for(capability: str) -> str | None:
    """The first minor release of triton whose ptxas knows a GPU, None where none does."""
    for row in table("triton_tools")["release"]:
        cuda = ptxas_of(row["triton"], capability)
        if cuda and knows(cuda, capability):
            return str(row["triton"])
    return None
