"""A machine as one check saw it, kept for the tests, and what a check of a working GPU must show.

    python scripts/machine_record.py first REPORT          the id of the first finding to cure, or "none"
    python scripts/machine_record.py claims REPORT         what a GPU must show; exit code 1 where it does not
    python scripts/machine_record.py keep REPORT MACHINE   the facts of a report and the ids of its findings
    python scripts/machine_record.py rejudge MACHINE...    the ids anew, by the rules of today

REPORT is what ``lora-doctor check --format json`` wrote, names and secrets already out of it. A MACHINE in
``tests/machines`` is judged again by every test run.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from doctor.diagnosis import diagnose
from doctor.facts import Facts
from doctor.findings import Report, Subject
from doctor.render import json_report

SUBJECT = Subject(kind="report", name="a recorded machine")
OF_TODAY = ("doctor/matrix-outdated",)  # they speak of the day, not of the machine
PREDICTION = "doctor/prediction-differs"
LEAST_PROOFS = 20


class Machine(msgspec.Struct, frozen=True):
    """One recorded machine and the findings that were right for it."""

    about: str
    findings: tuple[str, ...]
    facts: Facts


def read_report(path: str) -> Report:
    """A report from its file."""
    return json_report.read(Path(path).read_text(encoding="utf-8"))


def read_machine(path: Path) -> Machine:
    """A machine from its file."""
    return msgspec.json.decode(path.read_bytes(), type=Machine)


def write_machine(path: Path, machine: Machine) -> None:
    """Indented, so that a change can be read."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(machine), indent=1) + b"\n")


def judged(facts: Facts) -> tuple[str, ...]:
    """The ids of what the rules of today say of facts, in their order."""
    return tuple(one.id for one in diagnose(facts, SUBJECT).findings if one.id not in OF_TODAY)


def elsewhere(facts: Facts) -> Facts:
    """The same facts with the environment at /env, its Python at /python and local wheels in /wheels.

    The folders of a machine name people and projects.
    """
    seen, text = facts.interpreter, msgspec.json.encode(facts).decode()
    if seen is None:
        return facts
    for folder, name in ((seen.prefix, "/env"), (seen.base_prefix, "/python")):
        if folder.rstrip("/") not in ("", "/usr", "/usr/local"):
            text = text.replace(folder.rstrip("/"), name)
    return msgspec.json.decode(re.sub(r'file://[^"]*/', "file:///wheels/", text), type=Facts)


def about(facts: Facts) -> str:
    """One line: the system, its GPUs, its torch."""
    system = f"{facts.system.name}, {facts.system.arch}" if facts.system else "an unknown system"
    counted = Counter(gpu.name for gpu in facts.gpus or ())
    gpus = ", ".join(f"{count} x {name}" for name, count in counted.items()) or "no GPU"
    driver = f", driver {facts.driver.version}" if facts.driver else ""
    torch = f", torch {facts.torch.version}" if facts.torch else ""
    return f"{system}, {gpus}{driver}{torch}"


def claims(report: Report) -> Iterator[tuple[str, bool, str]]:
    """What a check of a machine with a working GPU must show: each claim, whether it holds, what was seen."""
    facts = report.facts
    torch, library = facts.torch_runtime, facts.bitsandbytes_runtime
    proofs = [proof for run in (facts.trial.runs if facts.trial else ()) for proof in run.proofs]
    broken = [proof.name for proof in proofs if not proof.holds]
    device = (facts.trial.device if facts.trial else None) or "none"
    mapped = (library.library if library else None) or "none"
    yield "a GPU answers", bool(facts.gpus), about(facts)
    reached = f"{torch.device_count} devices; {torch.cuda_error or 'no error'}" if torch else "not imported"
    yield "torch reaches it", bool(torch and torch.cuda_available), reached
    yield "the trial ran on it", device.startswith("cuda"), device
    enough = len(proofs) >= LEAST_PROOFS and not broken
    yield "every proof holds", enough, f"{len(proofs)} proofs, broken: {', '.join(broken) or 'none'}"
    yield "bitsandbytes runs on it", mapped.startswith("libbitsandbytes_cuda"), mapped
    seen = bool(facts.linkage and torch and torch.objects)
    differs = any(finding.id == PREDICTION for finding in report.findings)
    yield (
        "what was mapped was predicted",
        seen and not differs,
        "it differs" if differs else f"compared: {seen}",
    )


def main(command: str, *paths: str) -> int:
    """Run one command; the exit code."""
    if command == "first":
        print(read_report(paths[0]).primary or "none")
    elif command == "claims":
        rows = list(claims(read_report(paths[0])))
        for name, holds, seen in rows:
            print(f"{'yes' if holds else 'NO '}  {name}: {seen}")
        return int(not all(holds for _, holds, _ in rows))
    elif command == "keep":
        facts = elsewhere(read_report(paths[0]).facts)
        write_machine(Path(paths[1]), Machine(about(facts), judged(facts), facts))
    elif command == "rejudge":
        rejudge([Path(path) for path in paths])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


def rejudge(paths: Sequence[Path]) -> None:
    """Replace the ids of recorded machines."""
    for path in paths:
        facts = read_machine(path).facts
        write_machine(path, Machine(about(facts), judged(facts), facts))


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [""])))
