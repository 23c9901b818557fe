"""Attributes that an object or a class does not have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from doctor.findings import Fix
from doctor.matrix.api import canonical, parameter_history, with_ancestors
from doctor.matrix.api_table import package_of, slices, table_of
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import asker_of, with_model
from doctor.triage.lookups.fates import fate_at, of
from doctor.triage.lookups.further_names import further_name
from doctor.triage.lookups.judging import Wanted, judge
from doctor.triage.lookups.messages import MissingAttribute
from doctor.versions import Interval

OF_A_MODEL = re.compile(r"(?:For[A-Z]\w{1,60}|LMHeadModel|[a-z0-9]Model)$")
TOP = ("transformers", "trl", "peft", "accelerate", "datasets", "huggingface_hub", "bitsandbytes")
TRAINER_CONFIGS = (
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "RewardConfig",
    "KTOConfig",
    "ORPOConfig",
    "PPOConfig",
)


def missing_attribute(shape: MissingAttribute, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """An attribute that an object or a class does not have: a field or a method that came or went."""
    asker = asker_of(complaint, case)
    if found := further_name(shape.owner, shape.name, asker, complaint, case):
        return found
    if shape.owner == "TrainingArguments" and (found := plain_arguments(shape, complaint)):
        return found
    owners = classes_named(shape.owner)
    for owner in owners or derived_from(shape.owner):
        has = attribute_history(owner, shape.name)
        package = package_of(owner)
        version = case.version(package)
        if not has or (version is None and has == (Interval(),)):
            continue
        if version and not owners and fate_at(has, package, version).kind == "there":
            return ()  # a class of somebody's own may derive from another one
        label = f"{shape.owner}.{shape.name}"
        wanted = Wanted(label, owner, shape.name, package, "name", has)
        return judge(wanted, with_model(asker, case), complaint, case)
    return (
        further_name("PreTrainedModel", shape.name, asker, complaint, case) if is_model(shape.owner) else ()
    )


def is_model(owner: str) -> bool:
    """Is a class a model, by its name?"""
    return OF_A_MODEL.search(owner) is not None


def derived_from(owner: str) -> tuple[str, ...]:
    """The class of transformers that a class of this name derives from, where its kind is in its name."""
    if is_model(owner):
        return ("transformers.PreTrainedModel",)
    bases = {
        "Tokenizer": "PreTrainedTokenizerBase",
        "TokenizerFast": "PreTrainedTokenizerBase",
        "Trainer": "Trainer",
    }
    return tuple(f"transformers.{base}" for ending, base in bases.items() if owner.endswith(ending))[:1]


def plain_arguments(shape: MissingAttribute, complaint: Complaint) -> tuple[Suspicion, ...]:
    """What only a trainer's own configuration has, where plain TrainingArguments were given."""
    configs = [name for name in TRAINER_CONFIGS if parameter_history(f"trl.{name}", shape.name)]
    if not configs:
        return ()
    told = telling.finding(
        "script/plain-training-arguments",
        "likely",
        f"TrainingArguments has no {shape.name}: the trainer wants its own {configs[0]}",
        (telling.seen(complaint),),
        (Fix(f"Give the trainer a trl.{configs[0]} in place of TrainingArguments", scope="script"),),
        why="The trainers of trl read options of their own, which plain TrainingArguments do not have.",
        breaks=("sft-step",),
    )
    return (Suspicion(told, complaint.line),)


def attribute_history(owner: str, name: str) -> tuple[Interval, ...]:
    """The releases in which a class has a field or a method, by itself or by a class that it derives from."""
    table = table_of(package_of(owner))
    lives: list[Interval] = []
    for one in with_ancestors(owner):
        if table and package_of(one) == package_of(owner):
            lives += parameter_history(one, name) if not one.endswith("TokenizerBase") else ()
            lives += lifetime(f"{one}.{name}") if f"{one}.{name}" in table.callables else ()
    return (joined(lives),) if lives else ()


def joined(lives: Sequence[Interval]) -> Interval:
    """From the first release of any to the end of the last: what moves to a base class stays."""
    ends = [one.fixed for one in lives]
    known = [end for end in ends if end]
    last = max(known, key=of) if len(known) == len(ends) else None
    return Interval(min((one.introduced for one in lives), key=of), last)


def lifetime(method: str) -> tuple[Interval, ...]:
    """The releases in which a method exists."""
    table = table_of(package_of(method))
    if table is None:
        return ()
    places = [
        (first, min(last, len(table.releases)))
        for first, last in slices(table.callables[method].split(" ", 1)[0])
    ]
    return tuple(
        Interval(
            table.releases[first] if first else "0",
            table.releases[last] if last < len(table.releases) else None,
        )
        for first, last in places
    )


def classes_named(short: str) -> tuple[str, ...]:
    """The classes of this name, those of the packages in the order of TOP."""
    return classes_by_name().get(short, ())


@cache
def classes_by_name() -> dict[str, tuple[str, ...]]:
    """Every class by its last name."""
    found: dict[str, tuple[str, ...]] = {}
    for top in TOP:
        table = table_of(package_of(top))
        for dotted in sorted(table.classes if table else (), key=len):
            short = dotted.rpartition(".")[2]
            found[short] = (*found.get(short, ()), canonical(dotted))
    return found
