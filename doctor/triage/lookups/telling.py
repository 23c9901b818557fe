"""Lookups put into words: suspicions with both values, what speaks for them, and the commands that cure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from doctor.cures import install, reinstall, torch_from
from doctor.facts import Stage
from doctor.findings import Confidence, Evidence, Finding, Fix, Question, Severity
from doctor.matrix.computed import Clash, row_of
from doctor.matrix.rules import cures as cures_of_row
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups.fates import Fate
from doctor.triage.lookups.faults import STALE

SHOWN = 300  # characters of a line that is shown
IMPORTS: dict[str, tuple[Stage, ...]] = {
    "transformers": ("import-transformers", "import-peft", "import-trl", "trainer-step", "sft-step"),
    "peft": ("import-peft", "import-trl", "lora-step", "qlora-step", "sft-step"),
    "trl": ("import-trl", "sft-step"),
    "accelerate": ("import-accelerate", "import-transformers", "import-peft", "trainer-step", "sft-step"),
    "bitsandbytes": ("import-bitsandbytes", "load-4bit", "qlora-step"),
    "torch": ("import-transformers", "import-peft", "trainer-step", "sft-step"),
}
STALE_WHY = """
What raised the error is not what is stated as installed: the process runs in another environment, the kernel
of a notebook was not restarted after an upgrade, or files of two releases lie in one folder."""


def seen(complaint: Complaint) -> Evidence:
    """The line that complains."""
    text = complaint.text.strip()
    line = next((part for part in text.splitlines() if part.strip()), text).strip()
    if len(line) < 40 or line.endswith(":"):  # the words are in the next line
        line = " ".join(text.split())
    return Evidence("error text", line[:SHOWN], where=f"line {complaint.line}")


def stated(package: str, wanted: str, case: Case) -> Evidence:
    """The version that is stated of a package, and the releases that would do."""
    version = case.version(package)
    found = next((one for one in case.paste.statements if one.name == package and one.value == version), None)
    return Evidence(package, version or "version not told", wanted, f"line {found.line}" if found else "")


def is_from_a_tool(package: str, case: Case) -> bool:
    """Was the version of a package printed by a program, and not only written by a person?"""
    version = case.version(package)
    forms = {one.form for one in case.paste.statements if one.name == package and one.value == version}
    return forms != {"prose"} and version is not None


def finding(
    id: str,
    confidence: Confidence,
    title: str,
    evidence: Sequence[Evidence],
    fixes: Sequence[Fix],
    *,
    why: str = "",
    against: Sequence[Evidence] = (),
    breaks: tuple[Stage, ...] = (),
    severity: Severity = "error",
) -> Finding:
    """A finding of these words."""
    return Finding(
        id=id,
        severity=severity,
        confidence=confidence,
        title=title,
        why=" ".join(why.split()),
        breaks=breaks,
        evidence=tuple(evidence),
        against=tuple(against),
        fixes=tuple(fixes),
    )


def in_releases(fate: Fate) -> str:
    """The releases that have it, in words: "4.44.0 to below 5.0.0"."""
    return ", or ".join(str(one) for one in fate.has)


def upgrade(package: str, since: str, case: Case) -> Fix:
    """Install a release from one on; of torch the build for this machine, where it is known."""
    if package == "torch" and (of_machine := torch_from(case.facts, since)):
        return of_machine
    return install(case.facts, f"Upgrade {package} to {since} or newer", f"{package}>={since}")


def go_back(package: str, since: str, case: Case) -> Fix:
    """Install the releases before one."""
    return install(case.facts, f"Go back to {package} below {since}", f"{package}<{since}")


def cures_of(clash: Clash, case: Case) -> tuple[Fix, ...]:
    """The ways out of a computed clash."""
    return cures_of_row(row_of(clash, 0, datetime.date.min), case.facts)


def stale(label: str, package: str, complaint: Complaint, case: Case, reason: str, sure: bool) -> Suspicion:
    """What ran is not what is stated."""
    version = case.version(package)
    told = f"{package} {version}" if version else package
    fixes = (
        Fix(
            "Restart the kernel or process, and see which files it uses",
            ((python(case), "-m", "pip", "show", "-f", package),),
            "setting",
        ),
        reinstall(case.facts, package, version or ""),
    )
    found = finding(
        STALE,
        "confirmed" if sure else "likely",
        f"{told} {reason} {label}: what ran is not what is stated as installed"
        if version
        else f"What ran is not of one release, or not what was installed: {label} {reason}",
        (seen(complaint), *((stated(package, "", case),) if version else ())),
        fixes,
        why=STALE_WHY,
        breaks=IMPORTS.get(package, ()),
    )
    return Suspicion(found, complaint.line)


def python(case: Case) -> str:
    """The interpreter in question."""
    return case.facts.interpreter.executable if case.facts.interpreter else "python"


def which_versions(packages: Sequence[str], ids: Sequence[str], case: Case) -> Question:
    """The question that the versions of these packages answer."""
    names = tuple(dict.fromkeys(name for name in packages if name))
    are = "versions are" if len(names) > 1 else "version is"
    return Question(
        f"Which {are} installed of {' and '.join(names)}? This prints it:",
        ((python(case), "-m", "pip", "show", *names),),
        tuple(ids),
    )
