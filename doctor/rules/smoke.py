"""What the 4-bit LoRA run showed: stages that failed, and numbers that are wrong though nothing failed."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts, Proof, StageRun
from doctor.failures import ON_GPU_ONLY, failed_runs, in_words
from doctor.findings import Evidence
from doctor.rules import Hit, rule
from doctor.rules.packing import is_of_repacking

# A CPU run passes without any library; rules/bitsandbytes.py speaks of that.
OF_THE_LIBRARY = "native-library-ran"


# What releases say that quantise on GPUs only, where there is none.
GPU_WANTED = (
    "No GPU found. A GPU is needed for quantization",
    "CUDA is required but not available for bitsandbytes",
    "(<0.43.1) requires CUDA, but CUDA is not available",
)
# Without CUDA transformers 4.32 to 4.40, and any beside bitsandbytes below 0.43.1, look past what is there.
LOOKED_PAST = "the latest version of bitsandbytes"


def has_its_own_rule(proof: Proof) -> bool:
    """Is a proof that does not hold the matter of another rule?"""
    return proof.name == OF_THE_LIBRARY or is_of_repacking(proof)


def wants_gpu(facts: Facts, run: StageRun) -> bool:
    """Did a stage fail for no other reason than that torch sees no GPU?"""
    said = "\n".join(message for _, message in run.failure.chain) if run.failure else ""
    available = facts.torch_runtime.cuda_available if facts.torch_runtime else None
    # This stage is not tried where one of the packages cannot be imported.
    is_looked_past = available is False and run.stage == "load-4bit" and LOOKED_PAST in said
    return is_looked_past or (available is not True and any(words in said for words in GPU_WANTED))


@rule(ON_GPU_ONLY, "note", needs=("trial",), symptoms=GPU_WANTED)
def quantises_on_gpu_only(facts: Facts) -> Iterator[Hit]:
    """This release quantises on a GPU only, so the 4-bit steps could not be tried here

    Why: bitsandbytes and transformers learned to quantise on a CPU late. Nothing is broken; nothing is proven
    either.

    Fix: try it on the machine that has the GPU.
    """
    named = (f"{name} {facts.version_of(name) or ''}".strip() for name in ("transformers", "bitsandbytes"))
    pair = " with ".join(named)
    for run in failed_runs(facts):
        if wants_gpu(facts, run):
            yield Hit(
                title=f"{pair} quantises on a GPU only, and torch sees none here",
                evidence=(Evidence(run.stage, in_words(run.failure) if run.failure else "", "a GPU"),),
            )


@rule("smoke/stage-failed", "error", needs=("trial",))
def stage_failed(facts: Facts) -> Iterator[Hit]:
    """A stage of the trial run failed

    Why: the libraries import and their work together fails. The first error of the chain is the cause.

    Fix: nothing that this doctor knows explains it; the error text is worth an issue where its last frame
    lies.
    """
    for run in failed_runs(facts):
        assert run.failure is not None
        if run.stage.startswith("import-") or wants_gpu(facts, run):
            continue
        where = (Evidence("at", run.failure.frames[-1]),) if run.failure.frames else ()
        yield Hit(
            title=f"The stage {run.stage} of the trial run fails: {in_words(run.failure)[:300]}",
            breaks=(run.stage,),
            evidence=(Evidence(run.stage, in_words(run.failure), "a step that ends well"), *where),
        )


@rule("smoke/wrong-result", "error", needs=("trial",))
def wrong_result(facts: Facts) -> Iterator[Hit]:
    """The trial run ended and its numbers are wrong

    Why: no error was raised, and what came out is not what 4-bit LoRA must yield. A training run here would
    learn nothing, or the wrong thing, in silence.

    Fix: see which proof does not hold; upgrade the library that does that step.
    """
    assert facts.trial is not None
    for run in facts.trial.runs:
        broken = [proof for proof in run.proofs if not proof.holds and not has_its_own_rule(proof)]
        if broken:
            names = ", ".join(proof.name for proof in broken)
            yield Hit(
                title=f"The stage {run.stage} of the trial run ends with wrong numbers: {names}",
                breaks=(run.stage,),
                evidence=tuple(Evidence(proof.name, proof.seen, proof.wanted) for proof in broken),
            )
