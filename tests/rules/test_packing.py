"""4-bit weights that an evaluation on the CPU lays out anew."""

from __future__ import annotations

import healthy
import pytest
from healthy import PYTHON, but, stage_run, trial

from doctor.facts import Facts, Proof
from doctor.rules.packing import AFTER_EVALUATION, REPACKED

from .judging import case, check, facts, findings, ids

REPACKED_ID = "bitsandbytes/weights-repacked-in-evaluation"
SEEN = f"0.847; {REPACKED} 14 of 14 layers for avx512_bf16"


def proof(name: str, seen: str = SEEN, holds: bool = False) -> Proof:
    return Proof(name=name, holds=holds, seen=seen, wanted="at most 0.05")


def qlora(*proofs: Proof, device: str = "cpu") -> Facts:
    """A trial on a machine without a GPU, or on one with it."""
    given = facts() if device != "cpu" else facts(gpus="none is here", driver="none is here")
    return but(given, trial=but(trial(stage_run("qlora-step", proofs=proofs)), device=device))


HITS = {
    "the gradient and the merge are spoilt": case(
        REPACKED_ID,
        "warning",
        qlora(*map(proof, AFTER_EVALUATION)),
        "bitsandbytes 0.50.2 trains and merges wrongly on this CPU after an evaluation",
        seen=(
            "gradient-survives-evaluation: 0.847",
            "merge-is-identity",
            "avx512_bf16",
            "CPU: AMD EPYC 9R14",
        ),
        command=f"{PYTHON} -m pip install bitsandbytes<0.49",
    ),
    "the gradient alone, with a peft that does not merge": case(
        REPACKED_ID,
        "warning",
        qlora(proof("gradient-survives-evaluation")),
        "bitsandbytes 0.50.2 trains wrongly on this CPU",
        seen=("gradient-survives-evaluation",),
    ),
    "another number is wrong besides": case(
        REPACKED_ID,
        "warning",
        qlora(proof("loss-falls", "4.1 to 4.9"), proof("merge-is-identity")),
        "after an evaluation",
        beside=("smoke/wrong-result",),
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


def test_beside_a_gpu_it_is_a_note() -> None:
    """Training goes there, once torch can use it."""
    given = but(qlora(*map(proof, AFTER_EVALUATION)), gpus=healthy.FACTS.gpus)
    [finding] = [finding for finding in findings(given) if finding.id == REPACKED_ID]
    assert finding.severity == "note"


def test_layers_laid_out_anew_without_harm_are_no_fault() -> None:
    assert ids(qlora(*(proof(name, holds=True) for name in AFTER_EVALUATION))) == []


def test_what_no_new_layout_explains_is_a_wrong_result() -> None:
    given = qlora(*(proof(name, "0.2") for name in AFTER_EVALUATION), device="cuda:0")
    assert ids(given) == ["smoke/wrong-result"]


def test_the_other_numbers_are_told_once() -> None:
    given = qlora(proof("loss-falls", "4.1 to 4.9"), proof("merge-is-identity"))
    wrong = next(finding for finding in findings(given) if finding.id == "smoke/wrong-result")
    assert [one.subject for one in wrong.evidence] == ["loss-falls"]


def test_the_machine_is_named_only_where_it_is_known() -> None:
    given = healthy.but(qlora(*map(proof, AFTER_EVALUATION)), system=None)
    [finding] = [finding for finding in findings(given) if finding.id == REPACKED_ID]
    assert [one.subject for one in finding.evidence] == list(AFTER_EVALUATION)
