"""What a script asks of the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doctor.facts import Facts, Gpu
from doctor.findings import Evidence, Severity
from doctor.matrix.api import bases, canonical
from doctor.rules import Hit, rule
from doctor.rules.script.subject import at, in_script, is_from, literal, short, target_of, versions_of
from doctor.script import Call

# Configurations of trl that choose bf16 where neither it nor fp16 is given, and since when.
BY_DEFAULT = {"trl.SFTConfig", "trl.DPOConfig", "trl.GRPOConfig", "trl.RewardConfig", "trl.RLOOConfig"}
DEFAULT_SINCE = "0.22.0"
FIRST_WITH_BF16 = (8, 0)  # compute capability: Ampere


@rule(
    "gpu/bf16-unsupported",
    "error",
    needs=("script", "packages", "gpus"),
    breaks=("trainer-step", "sft-step"),
    symptoms=("Your setup doesn't support bf16/gpu",),
)
def bf16_unsupported(facts: Facts) -> Iterator[Hit]:
    """The script asks for bf16 on a GPU that has none

    Why: bfloat16 needs compute capability 8.0. Below it, training stops with "Your setup doesn't support
    bf16/gpu", or computes slowly in emulation.

    Fix: train with fp16=True and bf16=False.
    """
    assert facts.script and facts.gpus is not None
    old = [gpu for gpu in facts.gpus if gpu.compute_capability and is_too_old(gpu.compute_capability)]
    versions = versions_of(facts)
    for call in facts.script.calls if old else ():
        target = target_of(facts.script, call)
        name = canonical(target.name) if target else ""
        trains = "transformers.TrainingArguments" in (name, *bases(name, versions))
        if not trains or call.guarded:
            continue
        asks = call.argument("bf16")
        if asks and literal(asks) is True:
            yield hit(facts, call, f"{short(name)} asks for bf16", old[0], None)
            return
        if is_default(name, call, versions):
            yield hit(facts, call, f"{short(name)} takes bf16 unless told otherwise", old[0], "warning")
            return


def is_default(name: str, call: Call, versions: Mapping[str, str]) -> bool:
    """Does a configuration of trl choose bf16 by itself?"""
    chosen = any(call.argument(one) for one in ("bf16", "fp16", "use_cpu", "no_cuda"))
    return (
        name in BY_DEFAULT and not call.unfollowed and not chosen and is_from(versions["trl"], DEFAULT_SINCE)
    )


def hit(facts: Facts, call: Call, says: str, gpu: Gpu, severity: Severity | None) -> Hit:
    """bf16 on a GPU that lacks it."""
    assert facts.script
    asks = call.argument("bf16")
    where = at(facts.script, asks.place if asks else call.place)
    return Hit(
        title=f"{says}, which {gpu.name}, compute capability {gpu.compute_capability}, lacks",
        evidence=(
            Evidence(
                short(call.callable), "bf16=True" if asks else "no bf16 and no fp16", "fp16=True", where
            ),
            Evidence("gpu", f"{gpu.compute_capability}", "8.0 or newer"),
        ),
        fixes=(in_script("Write fp16=True in place of bf16=True" if asks else "Give fp16=True"),),
        confidence="likely",
        severity=severity,
    )


def is_too_old(capability: str) -> bool:
    """Is this a GPU before bfloat16?"""
    return tuple(int(part) for part in capability.split(".")) < FIRST_WITH_BF16
