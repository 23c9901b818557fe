"""GPUs against the bitsandbytes library that is taken beside a torch that serves them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import but

from doctor.facts import Facts, Linkage
from doctor.findings import Finding
from doctor.native import LibraryChoice, NativeLibrary

from .gpu_machines import in_order, listed, machine
from .judging import case, check, findings

NOTES = ("gpu/bf16-unsupported", "gpu/int8-unsupported")
ID = "bitsandbytes/gpu-arch-missing"
CU126 = ("sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "compute_90")


def linked(library: str, *architectures: str) -> Linkage:
    """The library of bitsandbytes as it was read."""
    path = f"/env/lib/python3.11/site-packages/bitsandbytes/{library}"
    read = NativeLibrary(package="bitsandbytes", path=path, architectures=architectures or None)
    return Linkage(libraries=(read,), choice=LibraryChoice(library=library, because="", is_there=True))


def expecting(library: str, **fields: Any) -> Any:
    """A bitsandbytes that takes one library."""
    return but(healthy.FACTS.bitsandbytes, expected=library, libraries=(f"{library}.so",), **fields)


LIBRARIES = ("libbitsandbytes_cuda126.so", "libbitsandbytes_cuda130.so", "libbitsandbytes_cpu.so")
BOARD = machine(
    "Jetson Orin",
    torch="2.5.0a0+872d972e41.nv24.08",
    cuda="12.6",
    seen=("sm_87",),
    system=but(healthy.FACTS.system, arch="aarch64"),
    driver_signs=but(healthy.FACTS.driver_signs, jetson="36.4.3"),
)
BOARD = but(BOARD, bitsandbytes=but(BOARD.bitsandbytes, libraries=LIBRARIES))
M40 = machine("M40", torch="2.13.0+cu126")
HITS = {
    "Maxwell, by the table": case(
        ID,
        "error",
        M40,
        "libbitsandbytes_cuda126 of bitsandbytes 0.50.2 has no kernels for M40, sm_52",
        seen=("bitsandbytes: 0.50.2 -> a library with code for sm_52",),
        command="bitsandbytes==0.47.0",
        beside=NOTES,
    ),
    "Maxwell, by the library": case(
        ID,
        "error",
        but(M40, linkage=linked("libbitsandbytes_cuda126.so", *CU126)),
        "sm_52",
        seen=("gpu: sm_52 -> one of sm_60 sm_70",),
        beside=NOTES,
    ),
    "Blackwell and a library of old": case(
        ID,
        "error",
        machine(
            "RTX 5090",
            torch="2.7.1+cu128",
            bitsandbytes="0.45.5",
            linkage=linked("libbitsandbytes_cuda128.so", "sm_80", "sm_90"),
        ),
        "has no kernels for RTX 5090, sm_120",
        command="bitsandbytes>=0.46.0",
    ),
    "Volta and the library for CUDA 13": case(
        ID,
        "error",
        machine(
            "V100",
            torch="2.14.0a0+git1",
            seen=("sm_70",),
            cuda="13.0",
            linkage=linked("libbitsandbytes_cuda130.so", "sm_75", "sm_80"),
        ),
        "libbitsandbytes_cuda130",
        command="torch==2.13.* --index-url https://download.pytorch.org/whl/cu126",
        beside=NOTES,
    ),
    "a Kepler board": case(
        ID,
        "error",
        machine("K80", torch="2.6.0+cu118", bitsandbytes="0.45.5", driver="470.256.02"),
        "bitsandbytes 0.45.5 has no kernels for K80, sm_37, and no release has",
        beside=(*NOTES, "driver/cuda-number-misread"),
    ),
    "a wheel for servers on a Jetson": case(
        "bitsandbytes/jetson-wheel-not-l4t",
        "error",
        BOARD,
        "bitsandbytes 0.50.2 is a wheel for ARM servers, and this is a Jetson, L4T 36.4.3",
        seen=("libraries for CUDA 126, 130 -> one",),
    ),
}
MISSES = {
    "a V100 and cu126": machine("V100", torch="2.13.0+cu126"),
    "a GTX 1080 and cu126": machine("GTX 1080", torch="2.13.0+cu126"),
    "an RTX 5090 and cu130": machine("RTX 5090"),
    "Maxwell and the last release for it": machine("M40", torch="2.7.1+cu126", bitsandbytes="0.47.0"),
    "a GPU that torch does not serve either": machine("V100"),
    "PTX that the driver translates": machine(
        "RTX 5090", torch="2.7.1+cu128", linkage=linked("libbitsandbytes_cuda126.so", *CU126)
    ),
    "a Jetson, whose fault is another": machine(
        "Jetson Orin", torch="2.8.0+cu126", seen=("sm_87",), system=but(healthy.FACTS.system, arch="aarch64")
    ),
    "a library that was not read, of a release that is not known": machine(
        "M40", torch="2.13.0+cu126", bitsandbytes="0.99.0", linkage=linked("libbitsandbytes_cuda126.so")
    ),
    "a 4-bit step that passed": but(
        in_order(machine("M40", torch="2.13.0+cu126", seen=("sm_50",)), "M40"), trial=healthy.FACTS.trial
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


def told(given: Facts) -> list[Finding]:
    return [finding for finding in findings(given) if finding.id == ID]


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert told(MISSES[name]) == []


def boards(given: Facts) -> list[Finding]:
    return [one for one in findings(given) if one.id == "bitsandbytes/jetson-wheel-not-l4t"]


@pytest.mark.parametrize(
    "given",
    [
        but(BOARD, bitsandbytes=but(BOARD.bitsandbytes, libraries=LIBRARIES[:1])),  # built on the board
        but(BOARD, driver_signs=but(BOARD.driver_signs, jetson="38.2.0")),  # JetPack 7
        but(BOARD, driver_signs=but(BOARD.driver_signs, jetson="")),
        but(BOARD, trial=healthy.FACTS.trial),
    ],
)
def test_a_board_whose_library_is_its_own_or_has_worked(given: Facts) -> None:
    assert boards(given) == [] and boards(BOARD)


def test_a_library_for_the_cpu_has_another_fault() -> None:
    assert told(but(M40, bitsandbytes=expecting("libbitsandbytes_cpu"))) == []


def test_what_was_loaded_outweighs_what_was_predicted() -> None:
    runtime = but(healthy.FACTS.bitsandbytes_runtime, library="libbitsandbytes_cuda126.so")
    [finding] = told(
        but(M40, bitsandbytes=expecting("libbitsandbytes_cuda130"), bitsandbytes_runtime=runtime)
    )
    assert "libbitsandbytes_cuda126" in finding.title


def test_what_was_read_is_sure_and_what_the_table_says_is_likely() -> None:
    assert [one.confidence for one in told(M40)] == ["likely"]
    read = but(M40, linkage=linked("libbitsandbytes_cuda126.so", *CU126))
    assert [one.confidence for one in told(read)] == ["confirmed"]
    # The architectures of a library that is not taken say nothing of the one that is.
    other = but(
        M40,
        linkage=but(
            linked("libbitsandbytes_cuda126.so"), libraries=linked("x_cuda118.so", "sm_50").libraries
        ),
    )
    assert [one.confidence for one in told(other)] == ["likely"]


def test_no_kepler_board_gets_a_release() -> None:
    [finding] = told(HITS["a Kepler board"][2])
    assert finding.fixes == ()


def test_each_build_that_the_tables_pair_is_served() -> None:
    for torch in ("2.13.0+cu126", "2.13.0+cu130", "2.8.0+cu128"):
        for architecture in listed(torch)[-1:]:
            capability = f"{architecture.partition('_')[2][:-1]}.{architecture[-1]}"
            assert told(machine(f"GPU {capability}", torch=torch)) == []
