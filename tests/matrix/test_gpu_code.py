"""GPU code held against GPUs: majors, minors, PTX, the suffixes, and the exception of Jetson."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.matrix.gpu_code import Fit, code_of, fit, oldest_and_newest, sm
from doctor.matrix.platform import table

CU126 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
CU128 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")


@pytest.mark.parametrize(
    ("architectures", "capability", "cuda", "how"),
    [
        (("sm_80",), "8.6", "12.6", "native"),
        (("sm_86",), "8.0", "12.6", "older"),
        (CU126, "8.9", "12.6", "native"),  # Ada runs sm_86
        (CU126, "6.1", "12.6", "native"),  # a GTX 1080 runs sm_60
        (CU126, "5.2", "12.6", "native"),
        (CU126, "3.7", "12.6", "older"),
        (CU126, "12.0", "12.6", "newer"),
        (CU128, "7.0", "12.8", "older"),
        (CU128, "10.3", "12.8", "native"),
        (CU128, "12.1", "12.8", "native"),
        (CU128, "13.0", "12.8", "ptx"),
        (("sm_80", "compute_80"), "9.0", "12.4", "ptx"),
        (("compute_120",), "9.0", "12.8", "older"),
        (("sm_80", "sm_100"), "9.0", "12.8", "between"),
        # "a" is for one compute capability, "f" for the later ones of its major.
        (("sm_90a",), "9.0", "12.4", "native"),
        (("sm_100a",), "10.3", "12.9", "newer"),
        (("sm_100f",), "10.3", "12.9", "native"),
        (("sm_120f",), "12.1", "12.9", "native"),
        (("sm_100f",), "12.0", "12.9", "newer"),
        (("compute_90a",), "10.0", "12.4", "newer"),
        (("compute_90a",), "9.0", "12.4", "ptx"),
        (("compute_100f",), "10.3", "12.9", "ptx"),
        (("compute_100f",), "12.0", "12.9", "newer"),
        # Until CUDA 13.2 a Jetson runs its own code alone, and nothing else runs that of a Jetson.
        (("sm_80",), "8.7", "13.0", "newer"),
        (("sm_80",), "8.7", "13.2", "native"),
        (("sm_87",), "8.7", "12.6", "native"),
        (("sm_87",), "8.9", "12.6", "newer"),
        (("sm_80", "sm_90"), "8.7", "12.6", "between"),
        (("sm_70",), "7.2", "12.6", "newer"),
        (("sm_101",), "11.0", "12.8", "native"),  # Thor before it was renamed
        (("gfx942",), "9.4", "", "unknown"),
        ((), "8.0", "12.6", "unknown"),
        (CU126, "", "12.6", "unknown"),
        (CU126, "8.6", "", "native"),
    ],
)
def test_how_code_suits_a_gpu(architectures: tuple[str, ...], capability: str, cuda: str, how: Fit) -> None:
    assert fit(architectures, capability, cuda) == how


def test_architectures_of_others_are_none_of_nvidia() -> None:
    assert [code_of(text) for text in ("gfx1100", "sm_", "sm_8", "compute_90x", "")] == [None] * 5


def test_the_ends_of_what_there_is_code_for() -> None:
    assert oldest_and_newest(CU128) == ("sm_75", "sm_120")
    assert oldest_and_newest(("compute_90",)) == ("sm_90", "sm_90")
    assert sm("12.1") == "sm_121"


ARCHITECTURES = [
    f"{kind}_{number}" for kind in ("sm", "compute") for number in (50, 60, 75, 80, 90, 100, 120)
]
CAPABILITIES = sorted({row["compute_capability"] for row in table("gpu_architectures")["gpu"]}, key=float)
ORDER: dict[Fit, int] = {"native": 3, "ptx": 2, "older": 1, "newer": 1, "between": 1, "unknown": 0}


@given(
    st.sets(st.sampled_from(ARCHITECTURES)),
    st.sets(st.sampled_from(ARCHITECTURES)),
    st.sampled_from(CAPABILITIES),
)
def test_more_code_never_serves_a_gpu_less(fewer: set[str], more: set[str], capability: str) -> None:
    assert ORDER[fit(fewer | more, capability, "12.8")] >= ORDER[fit(fewer, capability, "12.8")]


@given(st.sampled_from(table("torch_builds")["build"]), st.sampled_from(CAPABILITIES))
def test_a_gpu_runs_what_was_built_for_it(build: dict[str, Any], capability: str) -> None:
    if sm(capability) in build["sm"]:
        assert fit(build["sm"], capability, "12.6") == "native"
