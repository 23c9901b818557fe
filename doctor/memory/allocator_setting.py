"""The environment variable by which a release of torch takes settings of its allocator."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

# 2.9 reads the new name and ignores expandable_segments in it; 2.11 obeys it
# (https://github.com/pytorch/pytorch/issues/183387 and a measurement in karpathy/autoresearch#588).
NEW_NAME, EXPANDABLE = Version("2.11"), Version("2.1")
OLD = "PYTORCH_CUDA_ALLOC_CONF"
NAMES = ("PYTORCH_ALLOC_CONF", OLD, "PYTORCH_HIP_ALLOC_CONF")


def variable(torch: str) -> str:
    """The name that this release surely obeys: the old one where the release is not known."""
    version = _version(torch)
    return NAMES[0] if version is not None and version.release >= NEW_NAME.release else OLD


def against_pieces(torch: str) -> str:
    """The setting against fragmentation: "PYTORCH_ALLOC_CONF=expandable_segments:True".

    Before torch 2.1, which has no expandable segments, blocks above 128 MB are no longer split.
    """
    version = _version(torch)
    if version is not None and version.release < EXPANDABLE.release:
        return f"{OLD}=max_split_size_mb:128"
    return f"{variable(torch)}=expandable_segments:True"


def is_expandable(settings: str) -> bool:
    """Does the value of that variable ask for expandable segments?"""
    return "expandable_segments:true" in settings.lower().replace(" ", "")


def _version(torch: str) -> Version | None:
    try:
        return Version(torch)
    except InvalidVersion:
        return None
