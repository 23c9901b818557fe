"""Cases for lookups: one complaint, the frames above it, and the versions that are stated."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.facts import Facts, Interpreter, Package, Packages
from doctor.paste import Complaint, Form, Frame, Paste, Statement
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import look_up


def library_frame(file: str, code: str = "", function: str = "<module>") -> Frame:
    """A frame in an installed package: "peft/peft_model.py"."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    path = f"/opt/venv/lib/python3.11/site-packages/{file}"
    return Frame(file=path, line=37, function=function, module=module, code=code)


def user_frame(code: str, file: str = "train.py") -> Frame:
    """A frame of a script that shows its line."""
    return Frame(file=file, line=12, function="<module>", code=code)


BARE_FRAME = Frame(file="train.py", line=17, function="<module>")


def case_of(
    text: str,
    versions: Mapping[str, str] | None = None,
    frames: tuple[Frame, ...] = (),
    *,
    around: str = "",
    form: Form = "package list",
    python: str = "",
) -> Case:
    """A paste of one error with what it states."""
    kind, _, message = text.partition(": ")
    if not (kind.endswith("Error") and kind.isidentifier()):
        kind, message = "", text
    complaint = Complaint(kind=kind, message=message, line=3, level="error", frames=frames)
    installed = {
        name: Package(name=name, version=version, location="", installer="")
        for name, version in (versions or {}).items()
    }
    statements = tuple(
        Statement(topic="package", name=name, value=version, form=form, line=20 + place)
        for place, (name, version) in enumerate(installed_versions(installed))
    )
    interpreter = None
    if python:
        interpreter = Interpreter(
            executable="python",
            version=python,
            implementation="CPython",
            prefix="",
            base_prefix="",
            kind="stated",
            site_folders=(),
            user_site=None,
            externally_managed=False,
            has_pip=True,
            writable=True,
            noise="",
        )
    facts = Facts(
        interpreter=interpreter,
        packages=Packages(installed=installed) if installed else None,
        paste=Paste(forms=(form,) if installed else (), statements=statements, complaints=(complaint,)),
    )
    return Case(facts, f"Hello\n\n{text}\n{around}")


def installed_versions(installed: Mapping[str, Package]) -> list[tuple[str, str]]:
    """Name and version of each."""
    return [(name, package.version) for name, package in installed.items()]


def suspicions(case: Case) -> tuple[Suspicion, ...]:
    """What the tables say of its complaint."""
    return look_up(case.complaints[0], case)


def ids(case: Case) -> list[str]:
    """The ids of what the tables say, the likeliest first."""
    return [one.finding.id for one in suspicions(case)]
