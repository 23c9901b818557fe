"""Faults of the plan: the environment is fine, the fine-tune that is to run in it does not fit."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.cures_by_words import smaller_plan
from doctor.workload import Workload


@rule(
    "workload/does-not-fit",
    "error",
    needs=("workload",),
    breaks=("trainer-step", "sft-step"),
    symptoms=(
        "CUDA out of memory",
        "HIP out of memory",
        "XPU out of memory",
        "MPS backend out of memory",
        r"re:torch\.(?:cuda\.)?OutOfMemoryError",
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
        "std::bad_alloc",
        r"re:MemoryError: Unable to allocate",
        r"re:Unable to allocate [\d.]{1,12} [KMGT]iB for an array",
        "The paging file is too small for this operation to complete",
        r"re:(?:exitcode|exit code|return code|returned non-zero exit status)[ :=]{1,4}-9\b",
        r"re:died with <Signals\.SIGKILL: 9>",
        r"re:Signal 9 \(SIGKILL\) received by PID",
        r"re:(?m:^(?:[^\s:]{1,80}: line \d{1,6}: {1,3}\d{1,9} )?"
        r"[Kk]illed\s{0,40}(?:python|torchrun|accelerate|$))",
        r"re:(?i:\b(?:process|it|training|script|python|job)\b[^\n]{0,30}"
        r"\bkilled\b(?! by signal: (?:bus|seg)))",
        r"re:Out of memory: Killed process \d{1,9} \((?:python|pt_)",
        "Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM",
        r"re:precision with CPU or disk offload",
        r"re:(?i:cuda error: out of memory when|cublas_status_alloc_failed)",
    ),
    cure=smaller_plan,
    question="What does nvidia-smi show before the run starts, and which model, length and batch size is it?",
)
def does_not_fit(facts: Facts) -> Iterator[Hit]:
    """The plan needs more memory than there is

    Why: A fine-tune holds the weights, the gradients and optimizer states of what is trained, and
    activations that grow with batch size and length. Weights alone take 2 bytes a parameter in 16 bits and
    about 0.6 in 4: 7 billion parameters are 14 GB or 4 GB. A process that the system kills, with SIGKILL or
    exit code -9, ran out of the machine's own memory.

    See: nvidia-smi shows hardly any memory in use before the run starts; else another process holds it.

    Fix: Batch size 1 with gradient accumulation, gradient checkpointing, a shorter max_length, then 4 bits
    (QLoRA); Then a smaller model, ZeRO-3 or FSDP over several GPUs, or a larger GPU.

    Verify: torch.cuda.max_memory_allocated() of one step with the longest examples stays below the GPU's
    memory

    Tried in vain: torch.cuda.empty_cache(), reinstalling torch or the driver, max_split_size_mb where nothing
    is reserved and unused

    References: https://huggingface.co/docs/transformers/main/en/perf_train_gpu_one
    """
    load = facts.workload
    assert load is not None
    if load.free_bytes is None or load.most_bytes <= load.free_bytes:
        return
    never = load.least_bytes > load.free_bytes
    needs = f"needs {gib(load.needed_bytes)} (give or take {load.error:.0%})"
    free = f"{gib(load.free_bytes)} of the {load.device or 'device'} are free"
    yield Hit(
        title=f"The plan {needs}, and {free}" if never else f"It may not fit: the plan {needs}, and {free}",
        evidence=tuple(evidence(load)),
        fixes=tuple(fixes(load)),
        severity="error" if never else "warning",
        confidence="likely",
    )


def evidence(load: Workload) -> Iterator[Evidence]:
    """The plan, its peak by part, and who holds the rest of the device."""
    yield Evidence("plan", f"{load.model}: {load.plan}", where=load.source)
    parts = sorted(load.parts.items(), key=lambda part: -part[1])
    listed = ", ".join(f"{name} {gib(size)}" for name, size in parts if size > 0)
    peak = f"{gib(load.needed_bytes)} {load.moment}".strip()
    yield Evidence("peak", peak, f"at most {gib(load.free_bytes or 0)}")
    if listed:
        yield Evidence("parts", listed)
    for holder, size in load.holders.items():
        yield Evidence("other program", f"{holder} holds {gib(size)}")
    for sentence in load.assumed:
        yield Evidence("assumed", sentence)


def fixes(load: Workload) -> Iterator[Fix]:
    """What frees memory first, then the changes of the plan in the order of what they cost."""
    held = sum(load.holders.values())
    if held and load.least_bytes <= (load.free_bytes or 0) + held:
        yield Fix(f"End what else holds the GPU's memory: {', '.join(load.holders)}", scope="system")
    told = [
        f"{one.title} saves {gib(one.saves_bytes)}{' and is enough' if one.fits else ''}"
        for one in load.reliefs
    ]
    if not any(one.fits for one in load.reliefs):
        told.append("a smaller model, ZeRO-3 or FSDP over several GPUs, or a larger GPU")
    title = f"Change the plan, what costs least first: {'; '.join(told)}"
    yield Fix(title, (("lora-doctor", "fit", "--plan", load.source, "--best"),), scope="script")


def gib(size_bytes: int) -> str:
    """A size in GiB, with two decimals."""
    return f"{size_bytes / 2**30:.2f} GiB"
