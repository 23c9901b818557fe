"""What a GPU cannot compute, whatever is installed."""

from __future__ import annotations

import healthy
import pytest
from healthy import but

from doctor.facts import Facts
from doctor.findings import Finding

from .gpu_machines import in_order, machine
from .judging import case, check, findings

BF16, INT8, FLASH = "gpu/bf16-unsupported", "gpu/int8-unsupported", "flash-attn/gpu-too-old"


def with_flash(given: Facts, version: str) -> Facts:
    """The machine with flash-attn beside the rest."""
    assert given.packages
    installed = given.packages.installed
    flash = but(installed["torch"], name="flash-attn", version=version, requires=())
    seen: Facts = but(given, packages=but(given.packages, installed={**installed, "flash-attn": flash}))
    return seen


T4, V100 = machine("T4"), machine("V100", torch="2.13.0+cu126")
HITS = {
    "a T4": case(
        BF16, "note", T4, "T4 trains in float16: it has no bfloat16", seen=("compute capability 7.5",)
    ),
    "a V100": case(
        INT8,
        "note",
        V100,
        "V100 has no int8 matrix kernels",
        seen=("7.5 or newer for LLM.int8()",),
        beside=(BF16,),
    ),
    "flash-attn on Turing": case(
        FLASH,
        "warning",
        with_flash(T4, "2.8.3"),
        "flash-attn 2.8.3 does not serve T4",
        command="uninstall -y flash-attn",
        beside=(BF16,),
    ),
}
MISSES = {
    "an A10": machine("A10"),
    "no GPU": machine(),
    "a GPU of which nothing is known": but(T4, gpus=(but(T4.gpus[0], name="?", compute_capability=None),)),  # type: ignore[index]
    "two GPUs, one of which can": machine("T4", "A10"),
    "flash-attn on Ampere": with_flash(machine("A10"), "2.8.3"),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


def told(given: Facts) -> list[Finding]:
    return [finding for finding in findings(given) if finding.id in (BF16, INT8, FLASH)]


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert told(MISSES[name]) == []


def test_what_torch_says_by_emulation_counts_for_nothing() -> None:
    given = in_order(machine("T4", seen=("sm_75",)), "T4")
    believed = but(given, torch_runtime=but(given.torch_runtime, bf16=True))
    assert [finding.id for finding in told(believed)] == [BF16]


def test_the_first_flash_attn_serves_turing() -> None:
    assert [finding.id for finding in told(with_flash(T4, "1.0.9"))] == [BF16]


@pytest.mark.parametrize(
    ("given", "id", "words"),
    [
        (T4, BF16, "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10"),
        (with_flash(T4, "2.8.3"), FLASH, "RuntimeError: FlashAttention only supports Ampere GPUs or newer."),
    ],
)
def test_what_was_seen_to_bite_is_an_error(given: Facts, id: str, words: str) -> None:
    bitten = but(given, trial=healthy.trial(healthy.raised("sft-step", words)))
    assert [finding.severity for finding in told(bitten) if finding.id == id] == ["error"]
