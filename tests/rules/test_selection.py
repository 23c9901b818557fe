"""bitsandbytes' choice against torch and against what there is."""

from __future__ import annotations

import healthy
import pytest
from healthy import but, facts, raised, trial

from doctor.facts import Facts, TorchBuild
from doctor.rules.selection import cuda_of

from .judging import case, check, findings, ids
from .linkages import CHOICE, bnb_library, linkage, needed, torch_library

BUILD, RUNTIME, TORCH = healthy.FACTS.bitsandbytes, healthy.FACTS.bitsandbytes_runtime, healthy.FACTS.torch
OVERRIDE, NOT_FOUND = "bitsandbytes/override-variable-wrong", "bitsandbytes/cuda-libraries-not-found"
WRONG = "bitsandbytes/wrong-cuda-library"
MOCK = but(RUNTIME, library=None, handle="ErrorHandlerMockBNBNativeLibrary")
WITH_118 = (*healthy.LIBRARIES, "libbitsandbytes_cuda118.so")
UNSET = "unset BNB_CUDA_VERSION"
NO_CUDART_11 = bnb_library(
    needed("libcudart.so.11.0", asked_by="libbitsandbytes_cuda118.so"),
    path=f"{healthy.SITE}/bitsandbytes/libbitsandbytes_cuda118.so",
)


def overridden(value: str, **fields: object) -> Facts:
    """BNB_CUDA_VERSION is set, and nothing was loaded for it."""
    return facts(**{"bitsandbytes": but(BUILD, override=value), "bitsandbytes_runtime": MOCK, **fields})


HITS = {
    "a variable that names no library": case(
        OVERRIDE,
        "error",
        overridden("999"),
        "BNB_CUDA_VERSION=999 names libbitsandbytes_cuda999.so, which bitsandbytes 0.50.2 does not have",
        seen=("BNB_CUDA_VERSION: 999 -> unset, or one of 130",),
        command=UNSET,
    ),
    "a variable that is no number": case(
        OVERRIDE,
        "error",
        overridden("abc"),
        "BNB_CUDA_VERSION=abc is no version that bitsandbytes 0.50.2 reads",
        command=UNSET,
    ),
    "a variable that is empty": case(
        OVERRIDE, "error", overridden(""), "is no version", seen=("set to nothing",), command=UNSET
    ),
    "another CUDA that is not there": case(
        OVERRIDE,
        "error",
        overridden(
            "118", bitsandbytes=but(BUILD, override="118", libraries=WITH_118), linkage=linkage(NO_CUDART_11)
        ),
        "selects libbitsandbytes_cuda118.so, which needs libcudart.so.11.0, and the loader finds none",
        command=UNSET,
    ),
    "another CUDA of which nothing is known": case(
        OVERRIDE,
        "error",
        overridden("126", linkage="not read"),
        "selects libbitsandbytes_cuda126.so beside a torch for CUDA 13.0",
    ),
    "another CUDA that is there": case(
        WRONG,
        "warning",
        facts(
            bitsandbytes=but(BUILD, override="126"),
            bitsandbytes_runtime=but(RUNTIME, library="libbitsandbytes_cuda126.so"),
            linkage=linkage(choice=but(CHOICE, library="libbitsandbytes_cuda126.so")),
        ),
        "takes libbitsandbytes_cuda126.so beside a torch for CUDA 13.0",
        command=UNSET,
    ),
    "torch brings the libraries under other names": case(
        NOT_FOUND,
        "error",
        facts(
            bitsandbytes_runtime=MOCK,
            linkage=linkage(
                bnb_library(needed("libcudart.so.13", "", asked_by="libbitsandbytes_cuda130.so"))
            ),
        ),
        "libbitsandbytes_cuda130.so of bitsandbytes 0.50.2 needs libcudart.so.13, and the loader finds none",
        seen=("libcudart.so.13: not found for libbitsandbytes_cuda130.so", "nvidia-cuda-runtime"),
    ),
}

LACKS = linkage(bnb_library(needed("libcudart.so.13", "")))
MISSES = {
    "a variable that names torch's own": overridden("130", bitsandbytes_runtime=RUNTIME),
    "a variable that nobody reads: a CPU build": facts(
        torch=TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu"),
        bitsandbytes=but(BUILD, override="118", expected="libbitsandbytes_cpu"),
    ),
    "a variable that nobody reads: no GPU": overridden("abc", gpus=()),
    "an empty variable of a release that passes over it": facts(
        packages=healthy.packages(bitsandbytes="0.49.2"),
        bitsandbytes=but(BUILD, version="0.49.2", override=""),
    ),
    "told as missing and seen to load": facts(linkage=LACKS),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert {OVERRIDE, NOT_FOUND, WRONG} & {*ids(MISSES[name])} == set()


def test_what_torch_lacks_itself_is_told_of_torch() -> None:
    given = facts(
        bitsandbytes_runtime=MOCK,
        linkage=linkage(
            torch_library(needed("libcudart.so.13", "")), bnb_library(needed("libcudart.so.13", ""))
        ),
        trial=trial(raised("import-torch", "libcudart.so.13: cannot open shared object file")),
    )
    assert NOT_FOUND not in ids(given) and "cuda/libraries-missing" in ids(given)


def test_what_cannot_serve_torch_is_told_of_torch() -> None:
    lost, unfit = needed("libcublas.so.13", ""), needed("libcublas.so.13", fault="is no regular file")
    given = facts(
        bitsandbytes_runtime="--quick",
        torch_runtime="--quick",
        trial="--quick",
        linkage=linkage(torch_library(unfit), bnb_library(lost)),
    )
    assert NOT_FOUND not in ids(given) and "torch/native-library-corrupt" in ids(given)


def test_a_mock_that_is_explained_is_not_told_twice() -> None:
    given = HITS["torch brings the libraries under other names"][2]
    assert "bitsandbytes/native-library-not-loaded" not in ids(given)


def test_it_is_sure_once_nothing_was_loaded() -> None:
    def confidence(given: Facts) -> str:
        return next(one.confidence for one in findings(given) if one.id == NOT_FOUND)

    assert confidence(facts(linkage=LACKS, bitsandbytes_runtime="--quick")) == "likely"
    assert confidence(facts(linkage=LACKS, bitsandbytes_runtime=MOCK)) == "confirmed"


@pytest.mark.parametrize(
    ("library", "cuda"),
    [
        ("libbitsandbytes_cuda126.so", "12.6"),
        ("libbitsandbytes_cuda118_nocublaslt.so", "11.8"),
        ("libbitsandbytes_cpu.so", ""),
        ("", ""),
    ],
)
def test_the_cuda_of_a_library(library: str, cuda: str) -> None:
    assert cuda_of(library) == cuda
