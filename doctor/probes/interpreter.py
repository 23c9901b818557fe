"""The target interpreter, as it describes itself."""

from __future__ import annotations

from doctor.facts import Gap, Interpreter
from doctor.probes import Looks


def probe(looks: Looks) -> Interpreter | Gap:
    """The interpreter, or why it does not run."""
    answer = looks.survey.result()
    section = answer.section("interpreter")
    if section is None:
        return Gap(about="interpreter", kind="failed", reason=answer.trouble)
    fields = {key: value for key, value in section.items() if key != "section"}
    noise = "\n".join(part for part in (answer.noise, answer.completed.stderr.strip()) if part)
    return Interpreter(**{**fields, "site_folders": tuple(fields["site_folders"]), "noise": noise[:1000]})
