"""Model types and tokenizers that a checkpoint names and this transformers does not know."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from doctor.cures import install
from doctor.findings import Fix
from doctor.matrix.api import history
from doctor.matrix.rows import FOLDER, read_toml
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import persists
from doctor.triage.lookups.fates import Fate, fate_at, possible_fates
from doctor.triage.lookups.messages import UnknownModelType
from doctor.versions import Interval

COMMON_WORDS = {"beam", "canary", "radio", "sam"}  # that are keys of other things as well
ID = "transformers/too-old-for-model-type"


@cache
def model_types() -> Mapping[str, Interval]:
    """The releases of transformers that know a model type."""
    rows = read_toml(FOLDER / "api" / "model_types.toml")
    return {name: Interval(row["introduced"], row.get("fixed")) for name, row in rows.items()}


def unknown_model_type(shape: UnknownModelType, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A model type, or a tokenizer's class, that is not known."""
    has = releases_with(shape)
    bare = shape.kind == "key"
    if not has:
        return () if bare else (unheard_of(shape, complaint, case),)
    version = case.version("transformers")
    if bare and (shape.name in COMMON_WORDS or (version is None and has[0].introduced == "0")):
        return ()  # some other dictionary lacks the key
    if version is None:
        fates = possible_fates(has, "transformers", case)
        fate = next((one for one in fates if one.kind == "not-yet"), None)
        fate = fate or (None if bare else Fate("not-yet", "", "transformers", has))
    else:
        fate = fate_at(has, "transformers", version)
    if fate is None or fate.kind == "never":
        return ()
    if fate.kind == "there":
        sure = telling.is_from_a_tool("transformers", case) and not bare
        label = f"the {'tokenizer' if shape.kind == 'tokenizer class' else 'model type'} {shape.name}"
        asked_for = any(frame.module.startswith("transformers.models.auto") for frame in complaint.frames)
        told_so = not bare or asked_for or persists(case)
        return (telling.stale(label, "transformers", complaint, case, "knows", sure),) if told_so else ()
    return (told(fate, shape, complaint, case),)


def releases_with(shape: UnknownModelType) -> tuple[Interval, ...]:
    """The releases that know it."""
    if shape.kind == "tokenizer class":
        return history("transformers", shape.name)
    found = model_types().get(shape.name)
    return (found,) if found else ()


def told(fate: Fate, shape: UnknownModelType, complaint: Complaint, case: Case) -> Suspicion:
    """A transformers that is too old for the checkpoint; or too new, where the type was dropped."""
    version = case.version("transformers")
    has = f"transformers {version}" if version else "The installed transformers"
    word = "tokenizer" if shape.kind == "tokenizer class" else "model type"
    if fate.kind == "gone":
        title = f"{has} no longer knows the {word} {shape.name}: {fate.since} dropped it"
        id, fix = "transformers/remote-code-needs-older", telling.go_back("transformers", fate.since, case)
    else:
        first = f": transformers {fate.since} is the first that does" if fate.since else ""
        title = f"{has} does not know the {word} {shape.name}{first}"
        id, fix = ID, telling.upgrade("transformers", fate.since or "4.28.0", case)
    found = telling.finding(
        id,
        "confirmed" if version and telling.is_from_a_tool("transformers", case) else "likely",
        title,
        (telling.seen(complaint), telling.stated("transformers", telling.in_releases(fate), case)),
        (fix,),
        why="A class is found by the name in the checkpoint's configuration, and each release adds names.",
        breaks=("load-4bit", "lora-step", "qlora-step", "sft-step"),
    )
    return Suspicion(found, complaint.line)


def unheard_of(shape: UnknownModelType, complaint: Complaint, case: Case) -> Suspicion:
    """A type that no release of the table knows: newer than the table, remote code, or misspelt."""
    found = telling.finding(
        ID,
        "possible",
        f"No release of transformers in the tables knows the {shape.kind} {shape.name}",
        (telling.seen(complaint), telling.stated("transformers", "", case)),
        (
            install(case.facts, "Upgrade transformers to the newest release", "transformers"),
            Fix("If the model's card says so, load it with trust_remote_code=True", scope="script"),
        ),
        why="It may be newer than these tables, come with code of its own, or be misspelt in config.json.",
        breaks=("load-4bit", "lora-step", "qlora-step", "sft-step"),
    )
    return Suspicion(found, complaint.line)
