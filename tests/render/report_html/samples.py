"""Reports that have something of everything."""

from __future__ import annotations

import msgspec

from doctor.facts import GpuProcess, Workload
from doctor.findings import Evidence, Question, Report
from doctor.workload import Relief

from ..machines import OLD_PEFT, POLLUTED_PATH, SMALL_SHARED_MEMORY, broken_pair, gpu_workstation

GIB = 1 << 30
HOSTILE = (
    "</style></script><script>alert(1)</script><img src=x onerror=alert(1)> \"'`&amp; \x1b[31m\x00\u202e"
)
LOAD = Workload(
    source="plan.toml",
    model="meta-llama/Llama-2-7b-hf",
    plan="qlora, rank 16, batch 4 of 2048 tokens",
    tier="trace",
    needed_bytes=16 * GIB,
    error=0.05,
    device="NVIDIA GeForce RTX 4090",
    free_bytes=15 * GIB,
    total_bytes=24 * GIB,
    holders={"python": 8 * GIB},
    moment="backward, in lm_head",
    parts={"weights": 4 * GIB, "activations": 8 * GIB, "logits": 4 * GIB},
    reliefs=(Relief(title="Half the batch", cost="slower", saves_bytes=6 * GIB, fits=True),),
    assumed=("Every sequence is as long as it may be.",),
)


def everything() -> Report:
    """GPUs, a plan, errors, a warning, notes, a question, texts of several lines."""
    report = gpu_workstation()
    held = (GpuProcess(name="python", memory_bytes=GIB),)
    cards = tuple(msgspec.structs.replace(one, processes=held) for one in report.facts.gpus or ())
    facts = msgspec.structs.replace(
        report.facts, gpus=cards, workload=LOAD, trial=broken_pair().facts.trial, gaps=broken_pair().gaps
    )
    told = Evidence("import peft", "Traceback:\n  File x\nImportError: HybridCache", "no error", "train.py:3")
    first = msgspec.structs.replace(OLD_PEFT, evidence=(*OLD_PEFT.evidence, told), against=(told,))
    notes = broken_pair().findings[2:]
    return msgspec.structs.replace(
        report,
        verdict="broken",
        primary=first.id,
        findings=(first, POLLUTED_PATH, SMALL_SHARED_MEMORY, *notes),
        gaps=facts.gaps,
        not_judged=broken_pair().not_judged,
        questions=(Question("Which torch runs?", (("python", "-c", "import torch; print(torch)"),)),),
        facts=facts,
    )


def hostile() -> Report:
    """Texts that would break out of the page if they could."""
    bad = msgspec.structs.replace(
        OLD_PEFT,
        title=HOSTILE,
        why=HOSTILE,
        evidence=(Evidence(HOSTILE, HOSTILE, HOSTILE, HOSTILE), Evidence(HOSTILE, f"{HOSTILE}\n{HOSTILE}")),
        fixes=(msgspec.structs.replace(OLD_PEFT.fixes[0], title=HOSTILE, commands=(("echo", HOSTILE),)),),
    )
    report = everything()
    facts = msgspec.structs.replace(
        report.facts,
        environment={"PYTHONPATH": HOSTILE},
        gpus=tuple(msgspec.structs.replace(one, name=HOSTILE) for one in report.facts.gpus or ()),
        workload=msgspec.structs.replace(LOAD, model=HOSTILE, parts={HOSTILE: GIB}),
    )
    return msgspec.structs.replace(report, findings=(bad, *report.findings[1:]), facts=facts)
