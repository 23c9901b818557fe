"""The parts of a report in Markdown that tell facts: versions in the open, the rest folded away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from doctor.disclosure import told_of
from doctor.facts import Facts, Gpu, StageRun
from doctor.findings import Report
from doctor.native import NativeLibrary
from doctor.render import describe
from doctor.render.describe import failure, gib, listed
from doctor.render.json_report import encode
from doctor.render.lines import lines_of, subject_line
from doctor.render.markdown_text import clipped, code, fenced, folded, prose, table
from doctor.render.verdict import is_worth_a_line, unasked_rules
from doctor.stack import STACK

TEXT_LIMIT = 1_500  # characters of one value
SHORT_LIMIT = 300  # of one in the open
# What a fine-tune stands on, or breaks by, beside the stack itself.
BESIDE = (
    *("datasets", "huggingface-hub", "tokenizers", "safetensors", "numpy", "triton", "torchvision"),
    *("flash-attn", "xformers", "deepspeed", "liger-kernel", "unsloth", "llamafactory", "axolotl", "vllm"),
)


class Block(NamedTuple):
    """One part, which is told whole or not at all: by which name it is left out, and its Markdown."""

    name: str
    text: str


def versions(facts: Facts) -> str:
    """The versions that matter, one a row."""
    rows = [(name, prose(clipped(text, SHORT_LIMIT))) for name, text in _versions(facts)]
    return table(("", "version"), rows) if rows else "No version was seen."


def _versions(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.interpreter:
        yield "Python", facts.interpreter.version
    if facts.packages and facts.packages.installed:
        for name in STACK:
            seen = name in facts.packages.installed
            yield name, (facts.version_of(name) or "unknown") if seen else "not installed"
        beside = [f"{name} {version}" for name in BESIDE if (version := facts.version_of(name))]
        if beside:
            yield "also installed", ", ".join(beside)
    if facts.driver:
        yield "driver", describe.driver(facts)
    if facts.gpus is not None or facts.accelerators:
        yield "GPU", describe.gpu(facts)
    if facts.system:
        seen_in = facts.system.container and f"in {facts.system.container}"
        parts = (facts.system.name, facts.system.arch, facts.system.libc, seen_in, facts.system.wsl and "WSL")
        yield "system", ", ".join(part for part in parts if part)


def blocks(report: Report) -> Iterator[Block]:
    """The folded parts, the most telling first."""
    facts = report.facts
    for name, text in (
        ("what was seen of each subject", _subjects(report)),
        ("the gaps", _gaps(report)),
        ("the stages of the trial", _trial(facts)),
        ("the GPUs", _gpus(facts)),
        ("the native libraries", _linkage(facts)),
        ("the environment variables", _variables(facts)),
        ("the installed packages", _packages(facts)),
        ("all facts as JSON", _facts(facts)),
    ):
        if text:
            yield Block(name, text)


def _text(text: str) -> str:
    return prose(clipped(text, TEXT_LIMIT))


def _code(text: str) -> str:
    return code(clipped(text, TEXT_LIMIT))


def _subjects(report: Report) -> str:
    told = [
        subject_line(line, report.facts, report.findings)
        for line in lines_of(report.facts)
        if is_worth_a_line(line, report)
    ]
    rows = [(line.title, line.mark, _text(line.text)) for line in told]
    return folded("What was seen", table(("", "", ""), rows)) if rows else ""


def _gaps(report: Report) -> str:
    rows = [(_code(gap.about), gap.kind, _text(gap.reason)) for gap in report.gaps]
    body = table(("not seen", "", "reason"), rows) if rows else ""
    unasked = unasked_rules(report)
    parts = [part for part in (body, prose(unasked)) if part]
    return folded("What could not be seen or asked", "\n\n".join(parts)) if parts else ""


def _trial(facts: Facts) -> str:
    if not facts.trial:
        return ""
    rows = [(run.stage, run.outcome, *measured(run), _text(remark(run))) for run in facts.trial.runs]
    return folded("Stages of the trial", table(("stage", "outcome", "time", "peak", ""), rows))


def measured(run: StageRun) -> tuple[str, str]:
    """Time and peak of one stage, "" where it was not run."""
    """Time and peak memory of a stage; nothing of one that was not tried."""
    return ("", "") if run.outcome == "blocked" else (f"{run.seconds:.1f} s", gib(run.peak_bytes))


def remark(run: StageRun) -> str:
    """What a stage failed of or waits for, and the claims that do not hold."""
    chain = run.failure.chain if run.failure else ()
    words = ": ".join(chain[-1]) if chain else failure(run) if run.outcome == "failed" else run.blocked_by
    flaws = [f"{proof.name}: {proof.seen}, wanted {proof.wanted}" for proof in run.proofs if not proof.holds]
    return "; ".join(filter(None, [words, *flaws]))


def _gpus(facts: Facts) -> str:
    rows = [
        (
            str(one.index),
            _text(one.name),
            _text(one.compute_capability or "?"),
            _memory(one),
            _text(_state(one)),
        )
        for one in facts.gpus or ()
    ]
    head = ("index", "name", "compute capability", "memory, and free", "")
    return folded("GPUs as the driver numbers them", table(head, rows)) if rows else ""


def _memory(gpu: Gpu) -> str:
    if gpu.shares_memory:
        return "the system's"
    sizes = (gpu.memory_total_bytes, gpu.memory_free_bytes)
    return ", ".join("?" if size is None else gib(size) for size in sizes)


def _state(gpu: Gpu) -> str:
    """What is not as on any GPU at rest."""
    holders = len(gpu.processes or ())
    return ", ".join(
        part
        for part in (
            f"MIG with {describe.plural(len(gpu.mig_instances), 'instance')}" if gpu.mig_mode else "",
            f"{describe.plural(holders, 'process', 'processes')} on it" if holders else "",
            f"throttled: {listed(gpu.throttle)}" if gpu.throttle else "",
            f"{gpu.ecc_uncorrected} uncorrected memory errors" if gpu.ecc_uncorrected else "",
            gpu.compute_mode if gpu.compute_mode != "default" else "",
        )
        if part
    )


def _linkage(facts: Facts) -> str:
    if not facts.linkage:
        return ""
    rows = [
        (_code(one.package), _code(one.path), _text(", ".join(one.architectures or ())), _text(_lack(one)))
        for one in facts.linkage.libraries
    ]
    choice = facts.linkage.choice
    chosen = ""
    if choice:
        takes = code(clipped(choice.library, TEXT_LIMIT)) or "no library"
        why = ", ".join(part for part in (choice.because, choice.error) if part)
        chosen = f"bitsandbytes takes {takes}: {_text(why)}"
    parts = [table(("package", "library", "GPU code", "lacks"), rows) if rows else "", chosen]
    body = "\n\n".join(part for part in parts if part)
    return folded("Native libraries", body) if body else ""


def _lack(library: NativeLibrary) -> str:
    missing = [f"{one.name} ({one.fault})" if one.fault else one.name for one in library.missing]
    return "; ".join(part for part in (library.fault, listed(missing)) if part)


def _variables(facts: Facts) -> str:
    rows = [(_code(name), _code(value)) for name, value in sorted((facts.environment or {}).items())]
    return folded("Environment variables", table(("", ""), rows)) if rows else ""


def _packages(facts: Facts) -> str:
    if not facts.packages or not facts.packages.installed:
        return ""
    lines = [
        f"{name}=={package.version or '?'}" for name, package in sorted(facts.packages.installed.items())
    ]
    return folded(f"Installed packages ({len(lines)})", fenced("\n".join(lines)))


def _facts(facts: Facts) -> str:
    fields = told_of(msgspec.structs.replace(facts, packages=None, gaps=()))  # they have blocks of their own
    if not fields:
        return ""
    return folded("Facts", fenced(msgspec.json.format(encode(fields), indent=1).decode(), "json"))
