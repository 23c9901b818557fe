"""GPUs that others hold, or that cannot reach each other."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import set_variable
from doctor.driver_cures import on_host
from doctor.facts import Facts, Gpu
from doctor.failures import all_failure_text
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE
from doctor.rules.gpu_hardware import STEPS
from doctor.rules.machine_cures_by_words import more_memory, no_peers
from doctor.rules.roots import are_all_taken, is_taken, root_of
from doctor.rules.witnesses import Witnesses
from doctor.versions import comparable

GIB = 1 << 30
FIRST_TOLERATED = "550.40.07"  # accelerate lets two RTX 40 talk from this driver on
BUSY = "CUDA-capable device(s) is/are busy or unavailable"


def busy_bytes(gpu: Gpu) -> int | None:
    """Memory that programs hold; None where the GPU has none of its own or does not tell."""
    if gpu.memory_total_bytes is None or gpu.memory_free_bytes is None:
        return None
    return max(0, gpu.memory_total_bytes - gpu.memory_free_bytes - (gpu.memory_reserved_bytes or 0))


def is_held(gpu: Gpu) -> bool:
    """Do programs hold half of a GPU's memory or more?"""
    busy = busy_bytes(gpu)
    return busy is not None and busy > GIB and 2 * busy >= (gpu.memory_total_bytes or 0)


@rule(
    "gpu/held-by-other-process",
    "warning",
    needs=("gpus",),
    breaks=STEPS,
    symptoms=(
        "CUDA out of memory",
        "CUDA error: out of memory",
        BUSY,
    ),
    cure=more_memory,
    question="What does nvidia-smi print: how much memory is used before the script starts, and by whom?",
)
def held_by_other_process(facts: Facts) -> Iterator[Hit]:
    """Other programs hold the memory of a GPU

    Why: memory of a GPU is given to whoever asks first. A notebook that still runs, a server of models, or
    the rest of a training run that was stopped keeps it. From inside a container the programs outside of it
    are not seen, only the memory that is gone.

    Fix: end that program, or take a GPU that is free.
    """
    assert facts.gpus is not None
    held = [gpu for gpu in facts.gpus if is_held(gpu)]
    refused = root_of(facts) == "gpu/held-by-other-process" or bool(busy_in_a_stage(facts))
    if refused and not held:
        yield busy_hit(facts)
    if not held:
        return
    free = [gpu for gpu in facts.gpus if gpu not in held and gpu.memory_free_bytes]
    best = max(free, key=lambda gpu: gpu.memory_free_bytes or 0, default=None)
    first = facts.gpus[0] in held  # what a program takes that does not choose
    others = f", and {len(held) - 1} more" if len(held) > 1 else ""
    gpu = held[0]
    choose = (
        (set_variable(f"Use GPU {best.index}, which is free", "CUDA_VISIBLE_DEVICES", str(best.index)),)
        if best
        else ()
    )
    yield Hit(
        title=f"Other programs hold {(busy_bytes(gpu) or 0) / GIB:.1f} of the"
        f" {(gpu.memory_total_bytes or 0) / GIB:.1f} GiB of {gpu.name}, GPU {gpu.index}{others}",
        severity="error" if refused else "warning" if first else "note",
        evidence=tuple(holders(gpu) for gpu in held[:4]),
        fixes=(*choose, Fix("End the programs that hold it, or wait for them", (("nvidia-smi",),), "system"))[
            :2
        ],
    )


def busy_hit(facts: Facts) -> Hit:
    """CUDA says that it is busy, and who holds it is not seen."""
    seen = Witnesses(facts)
    free = ", ".join(
        f"gpu {gpu.index}: {(gpu.memory_free_bytes or 0) / GIB:.1f} GiB" for gpu in facts.gpus or ()
    )
    return Hit(
        title="CUDA finds the GPU busy, or no memory to start in",
        severity="error",
        confidence="likely",
        evidence=(
            Evidence("CUDA", seen.cuda_words or busy_in_a_stage(facts), "success"),
            Evidence("free memory", free),
        ),
        fixes=(
            Fix("End the programs that use it (nvidia-smi names them)", (("nvidia-smi",),), "system"),
            on_host(
                facts,
                "Reset the GPU, which may be in a bad state",
                (("sudo", "nvidia-smi", "--gpu-reset"),),
            ),
        ),
    )


def busy_in_a_stage(facts: Facts) -> str:
    """What a stage of the trial said of busy GPUs, "" where none did: CUDA starts late on some."""
    if are_all_taken(Witnesses(facts)):
        return ""
    return next((line.strip()[:300] for line in all_failure_text(facts).splitlines() if BUSY in line), "")


def holders(gpu: Gpu) -> Evidence:
    """Who holds the memory of one GPU, by the names of their commands."""
    known = [process for process in gpu.processes or () if process.memory_bytes != 0]
    names = [
        process.name + (f" {process.memory_bytes / GIB:.1f} GiB" if process.memory_bytes else "")
        for process in sorted(known, key=lambda process: -(process.memory_bytes or 0))[:4]
    ]
    said = ", ".join(names) or "no program that can be seen from here"
    return Evidence(
        f"gpu {gpu.index}", f"{said}; {(gpu.memory_free_bytes or 0) / GIB:.1f} GiB free", "free memory"
    )


@rule(
    "gpu/exclusive-compute-mode",
    "error",
    needs=("gpus",),
    breaks=SEE,
    symptoms=(
        BUSY,
        "CUDA-capable devices are busy or unavailable",
    ),
)
def exclusive_compute_mode(facts: Facts) -> Iterator[Hit]:
    """The compute mode of a GPU keeps programs out

    Why: in mode "prohibited" no program may compute on the GPU, in an exclusive mode one at a time, and one
    does. CUDA then says that its devices are busy or unavailable, with all memory free.

    Fix: set the mode back to default, or end the program that has the GPU.

    References: https://github.com/NVIDIA/DIGITS/issues/2005 https://github.com/pytorch/pytorch/issues/2704
    """
    assert facts.gpus is not None
    taken = [gpu for gpu in facts.gpus if is_taken(gpu)]
    for gpu in taken[:1]:
        held = next((process.name for process in gpu.processes or () if process.kind == "compute"), "")
        by = f", and {held} has it" if held and gpu.compute_mode != "prohibited" else ""
        default = (("sudo", "nvidia-smi", "-i", str(gpu.index), "-c", "DEFAULT"),)
        yield Hit(
            title=f"{gpu.name}, GPU {gpu.index}, is in compute mode {gpu.compute_mode!r}{by}",
            severity="error" if len(taken) == len(facts.gpus) else "warning",
            evidence=(Evidence(f"gpu {gpu.index}", f"{gpu.compute_mode}{by}", "default"),),
            fixes=(on_host(facts, "Set the compute mode back to default", default),),
        )


@rule(
    "gpu/peer-to-peer-unsupported",
    "note",
    needs=("gpus",),
    breaks=("multi-gpu",),
    symptoms=(
        "doesn't support faster communication broadband via P2P or IB",
        "peer access is not supported between these two devices",
    ),
    cure=no_peers,
)
def peer_to_peer_unsupported(facts: Facts) -> Iterator[Hit]:
    """The GPUs cannot reach each other's memory

    Why: consumer GPUs since RTX 40 have no peer-to-peer transfer. Training on several works, through the
    memory of the host. accelerate refuses to start with such GPUs and a driver before 550.40.07, unless NCCL
    is told not to try.

    Fix: set NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1, or start with accelerate launch, which sets both.

    References: https://github.com/QwenLM/Qwen-VL/issues/447 https://github.com/huggingface/accelerate/issues/2328
    """
    assert facts.gpus is not None
    apart = [(gpu, other) for gpu in facts.gpus for other, how in gpu.peers.items() if how.startswith("no")]
    environment = facts.environment or {}
    refused = is_refused_by_accelerate(facts)
    if len(facts.gpus) < 2 or not (apart or refused) or environment.get("NCCL_P2P_DISABLE") == "1":
        return
    gpu, other = apart[0] if apart else (facts.gpus[0], facts.gpus[1].index)
    driver = facts.driver.version if facts.driver else ""
    variables = (("export", "NCCL_P2P_DISABLE=1"), ("export", "NCCL_IB_DISABLE=1"))
    yield Hit(
        title=f"{gpu.name}, GPU {gpu.index}, cannot reach the memory of GPU {other}"
        + (", and accelerate refuses this driver" if refused else "")
        if apart
        else f"accelerate refuses to train on several {gpu.name} with driver {driver}",
        severity="warning" if refused else None,
        evidence=(
            *(
                Evidence(f"gpu {one.index}", f"to GPU {to}: {one.peers[to]}", "p2p or nvlink")
                for one, to in apart[:1]
            ),
            *((Evidence("driver", driver, f"{FIRST_TOLERATED} or newer"),) if refused else ()),
        ),
        fixes=(
            Fix(
                "Tell NCCL not to try, if training on several GPUs hangs or is refused", variables, "setting"
            ),
        ),
    )


def is_refused_by_accelerate(facts: Facts) -> bool:
    """Does accelerate refuse several of these GPUs with this driver? It goes by their names alone."""
    driver = comparable(facts.driver.version) if facts.driver else None
    first = comparable(FIRST_TOLERATED)
    is_old = driver is not None and first is not None and driver < first
    return is_old and any("RTX 40" in gpu.name for gpu in facts.gpus or ())
