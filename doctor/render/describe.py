"""What was seen of each subject, in one line; a gap gives its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from doctor.facts import BitsandbytesBuild, Facts, Gpu, Packages, StageRun, TorchBuild, TorchRuntime

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
    return f"{text}; {witnesses}" if witnesses else text


def gpu(facts: Facts) -> str:
    """Each kind of GPU once, with its number."""
    if facts.gpus is None:
        gap = next((gap for gap in facts.gaps if gap.about == "gpus"), None)
        return "none seen" if gap and gap.kind == "not-applicable" else reason(facts, "gpus")
    kinds = Counter(map(_gpu, facts.gpus))
    return (
        "; ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items()) or "none seen"
    )


def _gpu(one: Gpu) -> str:
    capability = f"compute capability {one.compute_capability or 'unknown'}"
    return f"{one.name}, {gib(one.memory_total_bytes)}, {capability}"


def interpreter(facts: Facts) -> str:
    """The Python that trains, and what hinders an installation into it."""
    seen = facts.interpreter
    if not seen:
        return reason(facts, "interpreter")
    kind = {
        "venv": "a virtual environment",
        "conda": "a conda environment",
        "system": "the system's own Python",
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
    failed = [failure(run) for run in runs if run.outcome == "failed"]
    if failed:
        return f"; {listed(failed)}"
    if any(run.outcome == "ok" for run in runs):
        return f": imported in {sum(run.seconds for run in runs):.1f} s"
    return (
        f"; not imported: {listed([_obstacle(by) for by in dict.fromkeys(run.blocked_by for run in runs)])}"
    )


def smoke_test(facts: Facts) -> str:
    """The 4-bit LoRA run: how far it came, what it proved, how long it took."""
    if not facts.trial:
        return reason(facts, "trial")
    runs = [run for run in facts.trial.runs if run.stage in SMOKE]
    failed = [run for run in runs if run.outcome == "failed"]
    if failed:
        return "; ".join(failure(run) for run in failed)
    done = [run for run in runs if run.outcome == "ok"]
    left = _left_out(runs)
    if not done:
        return left or "not run"
    return f"4-bit LoRA on {_device(facts.trial.device)}: {_achieved(done)}" + (f"; {left}" if left else "")


def _achieved(done: Sequence[StageRun]) -> str:
    proofs = [proof.holds for run in done for proof in run.proofs]
    flawed = proofs.count(False)
    held = plural(len(proofs), "proof holds", "proofs hold")
    verdict = (
        f"{flawed} of {len(proofs)} proofs {'does' if flawed == 1 else 'do'} not hold" if flawed else held
    )
    seconds, peak = sum(run.seconds for run in done), gib(max(run.peak_bytes for run in done))
    return f"{plural(len(done), 'stage')}, {verdict}, {seconds:.1f} s, {peak}"


def _left_out(runs: Sequence[StageRun]) -> str:
    """Stages that were not run, grouped by what stood in the way."""
    reasons: dict[str, list[str]] = {}
    for run in runs:
        if run.outcome == "blocked":
            reasons.setdefault(run.blocked_by, []).append(run.stage)
    return "; ".join(f"{_names(stages, runs)} not run: {_obstacle(text)}" for text, stages in reasons.items())


def _names(stages: Sequence[str], runs: Sequence[StageRun]) -> str:
    return "" if len(stages) == len(runs) else listed(stages)


def _obstacle(text: str) -> str:
    return text if " " in text else f"{text} has to pass first"


def _device(device: str | None) -> str:
    return "the CPU" if device in ("cpu", None) else str(device)


def failure(run: StageRun) -> str:
    """How one stage failed: by the exception that surfaced, a signal, or silence."""
    seen = run.failure
    if not seen:
        return f"{run.stage} failed"
    if seen.kind == "hung":
        return f"{run.stage} hung for {seen.deadline_s:.0f} s"
    if seen.kind == "died":
        return f"{run.stage} died of {seen.signal or 'an unknown cause'}"
    return f"{run.stage} failed" + (f" ({seen.chain[-1][0]})" if seen.chain else "")


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
