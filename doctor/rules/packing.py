"""The silent fault of 4-bit training on a CPU: weights that an evaluation lays out anew."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import install
from doctor.facts import Facts, Proof
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule

# Each proof that compares with the time before, and what goes wrong where it does not hold.
AFTER_EVALUATION = {"gradient-survives-evaluation": "trains", "merge-is-identity": "merges"}
REPACKED = "the evaluation repacked"  # the trial's own words


def is_of_repacking(proof: Proof) -> bool:
    """Does a proof fail that compares with the time before an evaluation, and were layers laid out anew?"""
    return not proof.holds and proof.name in AFTER_EVALUATION and REPACKED in proof.seen


@rule(
    "bitsandbytes/weights-repacked-in-evaluation",
    "warning",
    needs=("trial",),
    breaks=("qlora-step",),
    symptoms=("N must be divisible by block_n",),
)
def weights_repacked_in_evaluation(facts: Facts) -> Iterator[Hit]:
    """An evaluation on the CPU spoils the 4-bit weights for the training and the merge after it

    Why: since 0.49 bitsandbytes lays the 4-bit weights out anew at the first forward in eval mode on a CPU
    with avx512_bf16, and never back. The new layout has no gradient, so that training after an evaluation
    learns from a part of the gradient alone while the loss looks right, and peft's merge reads it as the old
    layout and saves garbage. No error is raised. A run on a GPU is not affected.

    Fix: keep the layout: after loading the model set support_avx512bf16_for_cpu = False on each of its
    4-bit layers. No release repairs it so far; 0.48 does not have it. What was merged after an evaluation
    must be merged again, from a model loaded anew.

    References:
    https://github.com/bitsandbytes-foundation/bitsandbytes/issues/2078 (the same layout, kept by model.to)
    https://github.com/bitsandbytes-foundation/bitsandbytes/pull/2083 (open)
    https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1804 (brought the layout)
    """
    assert facts.trial is not None
    for run in facts.trial.runs:
        spoilt = [proof for proof in run.proofs if is_of_repacking(proof)]
        if spoilt:
            version = facts.version_of("bitsandbytes") or ""
            does = " and ".join(AFTER_EVALUATION[proof.name] for proof in spoilt)
            yield Hit(
                title=f"bitsandbytes {version} {does} wrongly on this CPU after an evaluation",
                severity="note" if facts.gpus else None,  # it will train on the GPU, once that can be used
                evidence=(*(Evidence(proof.name, proof.seen, proof.wanted) for proof in spoilt), *cpu(facts)),
                fixes=(
                    Fix(
                        "Set support_avx512bf16_for_cpu = False on each 4-bit layer once the model is loaded",
                        scope="script",
                    ),
                    install(facts, "Install the last release without that layout", "bitsandbytes<0.49"),
                ),
            )


def cpu(facts: Facts) -> tuple[Evidence, ...]:
    """The processor by name, where the machine tells it."""
    return (Evidence("CPU", facts.system.cpu),) if facts.system and facts.system.cpu else ()
