"""A pasted text to a case: every reader is asked, and what they say becomes facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

import msgspec

from doctor.facts import Facts
from doctor.paste import Complaint, Paste, Statement
from doctor.readers.paste import Block
from doctor.readers.paste.clean import cleaned
from doctor.readers.paste.own import whole
from doctor.readers.paste.tracebacks import read as read_complaints
from doctor.triage.assembly import contradictions, facts_of
from doctor.triage.captures import statements_of
from doctor.triage.case import Case
from doctor.triage.lookups.statements import stated_in
from doctor.triage.recognition import Words, symptom_rows, symptom_rules
from doctor.triage.wrapping import rejoined

# Modules of doctor.readers.paste. What programs print comes first; what people write comes last, of the rest.
OF_PROGRAMS = (
    *("own", "nvidia_smi", "device_lists", "collect_env", "transformers_env", "accelerate_env"),
    *("trl_env", "llamafactory_env", "ds_report", "bitsandbytes", "unsloth", "package_list", "nvcc"),
    *("ldd", "kernel_log"),
)
OF_ERRORS = ("paths",)  # they stand in tracebacks as well
OF_PEOPLE = ("issue_form", "commands", "prose")


def read(raw: str, machine: Facts) -> Case:
    """The case of a text. ``machine`` has what options say; it wins over what the text says."""
    origins = cleaned(raw)
    lines = [line.text for line in origins]
    blocks = asked(OF_PROGRAMS, lines)
    rest = without(lines, blocks)
    complaints = read_complaints(rest, origins)
    blocks += asked(OF_ERRORS, rest) + asked(OF_PEOPLE, without_complaints(rest, complaints))
    told = [statement for block in blocks for statement in block.statements]
    told += [statement for complaint in complaints for statement in stated_in(complaint)]
    whole_lines = rejoined(rest)
    text = "\n".join([*rest, *(one.text for one in whole_lines)])
    case = Case(of(told, blocks, complaints, machine), text, tuple(one.line for one in whole_lines))
    told += captured(case)
    facts = of(told, blocks, complaints, machine)
    seen = whole("\n".join(lines)) if "lora-doctor" in case.paste.forms else None
    # A whole report of ours knows more than what was said beside it.
    return case._replace(facts=msgspec.structs.replace(seen, paste=facts.paste) if seen else facts)


def of(
    told: Sequence[Statement], blocks: Sequence[Block], complaints: tuple[Complaint, ...], machine: Facts
) -> Facts:
    """The facts of all that is told."""
    statements = tuple(dict.fromkeys(told))
    paste = Paste(
        forms=tuple(dict.fromkeys(block.form for block in blocks)),
        statements=statements,
        complaints=complaints,
        contradictions=contradictions(statements),
    )
    return msgspec.structs.replace(facts_of(paste, machine), paste=paste)


def asked(readers: Sequence[str], lines: Sequence[str]) -> list[Block]:
    """The blocks that readers find."""
    modules = (import_module(f"doctor.readers.paste.{name}") for name in readers)
    return [block for module in modules for block in module.read(lines)]


def without(lines: Sequence[str], blocks: Sequence[Block]) -> list[str]:
    """The lines that belong to no block, the others empty."""
    rest = list(lines)
    for block in blocks:
        if block.is_whole:
            rest[block.first - 1 : block.last] = [""] * (block.last - block.first + 1)
    return rest


def without_complaints(lines: Sequence[str], complaints: Sequence[Complaint]) -> list[str]:
    """The lines that no complaint stands in: what people write around them."""
    rest = list(lines)
    for one in complaints:
        last = one.line + one.message.count("\n")
        rest[one.line - 1 : last] = [""] * (last - one.line + 1)
    return rest


def captured(case: Case) -> Iterator[Statement]:
    """What the values in known error texts say."""
    words = Words(case)
    known = [*(rule.symptoms for rule in symptom_rules()), *(row.symptoms for row in symptom_rows())]
    for symptom in dict.fromkeys(one for symptoms in known for one in symptoms if "(?P<" in one):
        for sighting in words.sightings(symptom):
            yield from statements_of(sighting.captures, sighting.line)
