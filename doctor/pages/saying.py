"""What is said for a fault that does not say it itself: how to see it, and how to see it cured."""

from __future__ import annotations

from doctor.matrix.rows import PLATFORM_SUBJECTS, Row
from doctor.page import Command
from doctor.rules import Rule

SHOWN_PACKAGES = 4
CHECK: Command = ("lora-doctor", "check")
QUICK: Command = ("lora-doctor", "check", "--quick")
LINT: Command = ("lora-doctor", "lint", "train.py")
PLAN: Command = ("lora-doctor", "check", "--quick", "--plan", "train.py")


def seen_by(*sources: Rule | Row) -> str:
    """What finds the fault."""
    first = sources[0]
    if isinstance(first, Row):
        return "Compare the releases that are installed with those named here; the check does it for you."
    if first.needs == ("paste",):
        return "The message tells of it." if not first.question and "See:" not in first.page else ""
    if "script" in first.needs:
        return "Reading the script finds it, with the line; nothing runs."
    if "workload" in first.needs:
        return "The check of a plan finds it before the run."
    if "trial" in first.needs:
        return "The check finds it by trying."
    return "The check finds it."


def looks_of(*sources: Rule | Row) -> tuple[Command, ...]:
    """The commands that find the fault."""
    first = sources[0]
    if isinstance(first, Row):
        return (("python", "-m", "pip", "show", *packages_of(sources)), QUICK)
    if first.needs == ("paste",):
        return ()
    if "script" in first.needs:
        return (LINT,)
    if "workload" in first.needs:
        return (PLAN,)
    return (CHECK,) if "trial" in first.needs else (QUICK,)


def packages_of(rows: tuple[Rule | Row, ...]) -> tuple[str, ...]:
    """The packages that rows are about."""
    subjects = [subject for row in rows if isinstance(row, Row) for subject in row.when]
    return tuple(dict.fromkeys(one for one in subjects if one not in PLATFORM_SUBJECTS))[:SHOWN_PACKAGES]


def shown_by(*sources: Rule | Row) -> str:
    """What shows that the fault is cured."""
    if proofs_of(*sources) in ((), (LINT,)):
        return "Run it again: it goes past the point where it stopped."
    if proofs_of(*sources) == (CHECK,):
        return "The check no longer names it."
    return "In a Python that is started anew (a notebook: restart the kernel), this ends without an error."


def proofs_of(*sources: Rule | Row) -> tuple[Command, ...]:
    """What to run to see that the stages work which the fault breaks."""
    first = sources[0]
    if first.id.startswith(("script/", "workload/", "report/", "doctor/")):
        return (LINT,) if isinstance(first, Rule) and "script" in first.needs else ()
    breaks = [stage for source in sources for stage in source.breaks]
    imported = [stage.removeprefix("import-") for stage in breaks if stage.startswith("import-")]
    commands: list[Command] = []
    if "see-gpu" in breaks:
        commands.append(("python", "-c", "import torch; print(torch.cuda.is_available())"))
    if imported and "see-gpu" not in breaks:
        commands.append(("python", "-c", f"import {imported[0].replace('-', '_')}"))
    return (*commands, CHECK)
