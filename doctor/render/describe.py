"""What was seen of each subject, in one line; a gap gives its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from doctor.facts import (
    Accelerator,
    BitsandbytesBuild,
    CudaDriver,
    Facts,
    Gpu,
    Packages,
    StageRun,
    TorchBuild,
    TorchRuntime,
    Trial,
)

# What stands on torch and bitsandbytes; trl may be absent.
TRAINING_LIBRARIES = ("transformers", "accelerate", "peft", "trl")
IMPORTS = tuple(f"import-{library}" for library in TRAINING_LIBRARIES)
SMOKE = ("load-4bit", "lora-step", "qlora-step", "save-load", "trainer-step", "sft-step", "multi-gpu")
GIB = 1 << 30


def system(facts: Facts) -> str:
    """System, architecture, C library, processors, memory and disk."""
    seen = facts.system
    if not seen:
        return reason(facts, "system")
    parts = [
        seen.name,
        seen.arch,
        seen.libc,
        plural(seen.cpu_count, "CPU"),
        f"{gib(seen.ram_total_bytes)} memory",
    ]
    parts += [
        f"{gib(seen.disk_free_bytes)} disk free",
        seen.container and f"in {seen.container}",
        "WSL" if seen.wsl else None,
    ]
    return ", ".join(part for part in parts if part)


def driver(facts: Facts) -> str:
    """The driver's version and the newest CUDA that it offers."""
    seen = facts.driver
    if not seen:
        return reason(facts, "driver")
    text = f"{seen.version}, offers CUDA {seen.cuda_version}" if seen.cuda_version else seen.version
    witnesses = ", ".join(f"{name} says {version}" for name, version in seen.disagreement.items())
    return "; ".join(part for part in (text, witnesses, _libcuda(facts.cuda_driver)) if part)


def _libcuda(seen: CudaDriver | None) -> str:
    if seen and seen.failure:
        return f"libcuda {seen.failure}"
    return f"CUDA does not start (error {seen.init_code})" if seen and seen.init_code else ""


def gpu(facts: Facts) -> str:
    """Each kind of GPU once, with its number."""
    others = [_accelerator(one) for one in facts.accelerators or ()]
    if facts.gpus is None:
        gap = next((gap for gap in facts.gaps if gap.about == "gpus"), None)
        none = "none seen" if gap and gap.kind == "not-applicable" else reason(facts, "gpus")
        return f"none of NVIDIA's; {'; '.join(others)}" if others else none
    kinds = Counter(map(_gpu, facts.gpus))
    told = [f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items()]
    lost = facts.driver_signs.lost if facts.driver_signs else ()
    told += [f"GPU {one.index} does not answer ({one.error})" for one in lost]
    return "; ".join(told + others) or "none seen"


def _accelerator(one: Accelerator) -> str:
    return " ".join(filter(None, [one.name, one.architecture and f"({one.architecture})"]))


def _gpu(one: Gpu) -> str:
    capability = f"compute capability {one.compute_capability or 'unknown'}"
    memory = "the system's memory" if one.shares_memory else "memory not told"
    if one.memory_total_bytes is not None:
        memory = gib(one.memory_total_bytes)
    slices = f", MIG with {plural(len(one.mig_instances), 'instance')}" if one.mig_mode else ""
    return f"{one.name}, {memory}, {capability}{slices}"


def interpreter(facts: Facts) -> str:
    """The Python that trains, and what hinders an installation into it."""
    seen = facts.interpreter
    if not seen:
        return reason(facts, "interpreter")
    kind = {
        "venv": "a virtual environment",
        "conda": "a conda environment",
        "system": "the system's own Python",
        "stated": "as stated",
    }
    remarks = {
        "without pip": not seen.has_pip,
        "externally managed": seen.externally_managed,
        "not writable": not seen.writable,
        "user site in use": seen.user_site is not None and seen.kind != "venv",
        "prints before it runs": bool(seen.noise),
    }
    parts = [
        f"{seen.implementation} {seen.version}",
        kind[seen.kind],
        *(text for text, is_so in remarks.items() if is_so),
    ]
    return ", ".join(parts)


def packages(facts: Facts) -> str:
    """How many are installed, and how their files stand against their records."""
    if not facts.packages:
        return reason(facts, "packages")
    count = len(facts.packages.installed)
    return f"{count} installed, {_files(facts)}" if count else "none installed"


def _files(facts: Facts) -> str:
    if not facts.files:
        return f"files not checked: {reason(facts, 'files')}"
    faulty = {fault.package for check in (facts.files, facts.hashes) if check for fault in check.faults}
    if faulty:
        return f"files of {listed(sorted(faulty))} not as recorded"
    how = f", {facts.hashes.hashed} by hash" if facts.hashes else " by size"
    return f"{plural(facts.files.checked, 'file')} as recorded{how}"


def torch(facts: Facts) -> str:
    """torch's version and build, and what it sees once imported."""
    if not facts.torch:
        return reason(facts, "torch")
    text = f"{facts.torch.version}, {_torch_build(facts.torch)}"
    seen = facts.torch_runtime
    if not seen:
        return f"{text}; {_not_imported(facts, 'import-torch', 'torch_runtime')}"
    if facts.torch.variant == "cpu":
        return text
    return f"{text}, {_sight(seen)}"


def _sight(seen: TorchRuntime) -> str:
    if seen.cuda_available is None:
        return "not known whether it sees a GPU"
    return f"sees {plural(seen.device_count or 0, 'GPU')}" if seen.cuda_available else "sees no GPU"


def _torch_build(build: TorchBuild) -> str:
    if build.cuda_version:
        return f"built for CUDA {build.cuda_version}"
    if build.hip_version:
        return f"built for ROCm {build.hip_version}"
    return "a CPU-only build" if build.variant == "cpu" else "of an unknown build"


def bitsandbytes(facts: Facts) -> str:
    """bitsandbytes' version and the native library that it loads."""
    build, seen = facts.bitsandbytes, facts.bitsandbytes_runtime
    if not build:
        return reason(facts, "bitsandbytes")
    if seen:
        return f"{build.version}, loads {seen.library or 'no native library'}"
    why = _not_imported(facts, "import-bitsandbytes", "bitsandbytes_runtime")
    return f"{build.version}, {_libraries(build)}; {why}"


def _not_imported(facts: Facts, stage: str, about: str) -> str:
    run = facts.trial.run_of(stage) if facts.trial else None
    return failure(run) if run and run.outcome == "failed" else f"not imported: {reason(facts, about)}"


def _libraries(build: BitsandbytesBuild) -> str:
    return f"ships {plural(len(build.libraries), 'native library', 'native libraries')}"


def training_libraries(facts: Facts) -> str:
    """Versions of what stands on torch, and how their imports went."""
    if not facts.packages:
        return reason(facts, "packages")
    if not facts.packages.installed.keys() & set(TRAINING_LIBRARIES):
        return f"none of {listed(TRAINING_LIBRARIES)} is installed"
    return _versions(facts.packages) + _imports(facts)


def _versions(seen: Packages) -> str:
    installed = {
        name: seen.installed[name].version or "of unknown version"
        for name in TRAINING_LIBRARIES
        if name in seen.installed
    }
    absent = [name for name in TRAINING_LIBRARIES if name not in installed]
    parts = [f"{name} {version}" for name, version in installed.items()]
    return ", ".join(parts + ([f"no {listed(absent, 'or')}"] if absent else []))


def _imports(facts: Facts) -> str:
    if not facts.trial:
        return f"; not imported: {reason(facts, 'trial')}"
    runs = [run for run in facts.trial.runs if run.stage in IMPORTS]
    if any(run.outcome == "failed" for run in runs):
        return f"; {_failures(runs)}"
    if any(run.outcome == "ok" for run in runs):
        return f": imported in {sum(run.seconds for run in runs):.1f} s"
    return f"; not imported: {listed(_obstacles(facts.trial, runs))}"


def smoke_test(facts: Facts) -> str:
    """The 4-bit LoRA run: how far it came, what it proved, how long it took."""
    if not facts.trial:
        return reason(facts, "trial")
    runs = [run for run in facts.trial.runs if run.stage in SMOKE]
    done = [run for run in runs if run.outcome == "ok"]
    if any(run.outcome == "failed" for run in runs):
        return _failures(runs)
    if not done:
        return f"not run: {listed(_obstacles(facts.trial, runs)) or 'no stage was tried'}"
    left = "".join(f"; {words}" for words in _left_out(facts.trial, runs))
    return f"4-bit LoRA on {_device(facts.trial.device)}: {_achieved(done)}{left}"


def _failures(runs: Sequence[StageRun]) -> str:
    """The failed stages, those that failed alike together."""
    stages: dict[str, list[str]] = {}
    for run in runs:
        if run.outcome == "failed":
            stages.setdefault(_manner(run), []).append(run.stage)
    return "; ".join(f"{listed(names)} {manner}" for manner, names in stages.items())


def _left_out(trial: Trial, runs: Sequence[StageRun]) -> list[str]:
    """The stages that were not run, those with one obstacle together."""
    names: dict[str, list[str]] = {}
    for run in runs:
        if run.outcome == "blocked":
            names.setdefault(_obstacle(trial, run), []).append(run.stage)
    return [f"{listed(stages)} not run: {obstacle}" for obstacle, stages in names.items()]


def _obstacles(trial: Trial, runs: Sequence[StageRun]) -> list[str]:
    return list(dict.fromkeys(_obstacle(trial, run) for run in runs if run.outcome == "blocked"))


def _obstacle(trial: Trial, run: StageRun) -> str:
    """What stood in the way at first: a stage that failed, or a package that is not installed."""
    seen = {run.stage}
    while (
        (before := trial.run_of(run.blocked_by)) and before.outcome == "blocked" and before.stage not in seen
    ):
        run = before
        seen.add(run.stage)
    return f"{run.blocked_by} failed" if trial.run_of(run.blocked_by) else run.blocked_by


def _achieved(done: Sequence[StageRun]) -> str:
    proofs = [proof.holds for run in done for proof in run.proofs]
    flawed = proofs.count(False)
    held = plural(len(proofs), "proof holds", "proofs hold")
    verdict = (
        f"{flawed} of {len(proofs)} proofs {'does' if flawed == 1 else 'do'} not hold" if flawed else held
    )
    seconds, peak = sum(run.seconds for run in done), gib(max(run.peak_bytes for run in done))
    return f"{plural(len(done), 'stage')}, {verdict}, {seconds:.1f} s, {peak}"


def sources(facts: Facts) -> str:
    """What the sources say of the stages: "read, not imported: 6 stages go through, trl-step fails"."""
    if facts.reading is None:
        return reason(facts, "reading")
    by_outcome: dict[str, list[str]] = {}
    for run in facts.reading.runs:
        by_outcome.setdefault(run.outcome, []).append(run.stage)
    through = len(by_outcome.get("ok", ()))
    told = [f"nothing stands against {plural(through, 'stage')}"] if through else []
    told += [f"{listed(by_outcome['failed'])} will fail"] if "failed" in by_outcome else []
    told += [f"{listed(by_outcome['blocked'])} cannot be told"] if "blocked" in by_outcome else []
    return f"read, not imported: {'; '.join(told)}"


def _device(device: str | None) -> str:
    return "the CPU" if device in ("cpu", None) else str(device)


def failure(run: StageRun) -> str:
    """How one stage failed: by the exception that surfaced, a signal, or silence."""
    return f"{run.stage} {_manner(run)}"


def _manner(run: StageRun) -> str:
    seen = run.failure
    if seen and seen.kind == "hung":
        return f"hung for {seen.deadline_s:.0f} s"
    if seen and seen.kind == "died":
        return f"died of {seen.signal or 'an unknown cause'}"
    return f"failed ({seen.chain[-1][0]})" if seen and seen.chain else "failed"


def reason(facts: Facts, about: str) -> str:
    """Why a fact is not there, in the words of its gap."""
    return next((gap.reason for gap in facts.gaps if gap.about == about), "") or "not seen"


def listed(names: Sequence[str], link: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    return f" {link} ".join(part for part in (", ".join(names[:-1]), "".join(names[-1:])) if part)


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 file", "2 files"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def gib(size_bytes: int) -> str:
    """A size in GiB with one digit behind the point."""
    return f"{size_bytes / GIB:.1f} GiB"
