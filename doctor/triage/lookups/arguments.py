"""Arguments that a callable does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.matrix.api import parameter_history, signature, with_ancestors
from doctor.matrix.api_table import COVERED, package_of, slices, table_of
from doctor.matrix.choices import MODEL_LOADER
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import adapters, telling
from doctor.triage.lookups.asking import UNKNOWN, USER, Asker, asker_of, lines_of_code
from doctor.triage.lookups.attributes import classes_named, is_model
from doctor.triage.lookups.clashes import by_symbol, clashes_of
from doctor.triage.lookups.hooks import of_a_hook
from doctor.triage.lookups.judging import Wanted, judge, never
from doctor.triage.lookups.messages import WrongCall
from doctor.versions import Interval

# What people and libraries call, the likeliest first: which of them it is where the message names no class.
CALLED = (
    *("transformers.Trainer", "trl.SFTTrainer", "trl.SFTConfig", "transformers.TrainingArguments"),
    *("peft.LoraConfig", MODEL_LOADER, "accelerate.Accelerator", "trl.DPOTrainer", "trl.DPOConfig"),
    *("trl.GRPOConfig", "trl.GRPOTrainer", "trl.PPOConfig", "trl.PPOTrainer"),
    *("transformers.BitsAndBytesConfig", "peft.prepare_model_for_kbit_training", "peft.get_peft_model"),
    "datasets.load_dataset",
)
# Classes that a callable hands the rest of its arguments on to.
PASSED_ON_TO = {"BuilderConfig": ("datasets.load_dataset",)}


def wrong_call(shape: WrongCall, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A callable that does not take what it is given."""
    asker = asker_of(complaint, case)
    owners = callables_named(shape.callable)
    if hooked := of_a_hook(shape, owners, asker, complaint, case):
        return hooked
    if not shape.keyword:
        return ()
    if not owners and shape.callable.rpartition(".")[2] in ("", "__init__") and "." not in shape.callable:
        owners = tuple(likely_callables(shape.keyword, complaint, case))[:1]
    having = [owner for owner in owners if taken_in(owner, shape.keyword)[1]]
    for owner in having or owners:
        if found := refused(owner, shape, asker, complaint, case):
            return found
    return ()


def refused(
    owner: str, shape: WrongCall, asker: Asker, complaint: Complaint, case: Case
) -> tuple[Suspicion, ...]:
    """A keyword that one callable of the tables does not take."""
    package, has = taken_in(owner, shape.keyword)
    short = short_name(owner, shape.callable)
    clashes = clashes_of(shape.keyword, f"{short.partition('.')[0]}.")
    wanted = Wanted(f"{shape.keyword} of {short}", owner, shape.keyword, package, "argument", has, clashes)
    if package_of(owner) == "peft" and short.endswith("Config"):
        return adapters.of_config(wanted, complaint, case)
    if asker.who == package_of(owner):
        asker = Asker(USER, asker.frame)  # the library only hands on what it was given
    elif asker.who == UNKNOWN and package_of(owner) == "accelerate":
        asker = Asker("transformers")  # whose Trainer makes the Accelerator that people meet
    if has and taken(owner, shape.keyword, case):
        sure = telling.is_from_a_tool(package, case)
        return (telling.stale(wanted.label, package, complaint, case, "takes", sure),)
    if has == (Interval(),) and case.version(package) is None:
        return ()  # every release takes it
    if has:
        return judge(wanted, asker, complaint, case)
    return unknown_argument(wanted, asker, complaint, case)


def unknown_argument(wanted: Wanted, asker: Asker, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """An argument that no release takes, given by the user's own code."""
    table = table_of(package_of(wanted.owner))
    versions = versions_of(case) or ({package_of(wanted.owner): table.releases[-1]} if table else {})
    known = signature(wanted.owner, versions)
    told = wanted.label.rpartition(" ")[2].partition(".")[0]
    if told[:1].isupper() and not classes_named(told):
        return ()  # a class of somebody's own, whose arguments no table has
    if asker.who not in (USER, UNKNOWN) or known is None or known.accepts(wanted.name) is not False:
        return ()
    return (never(wanted, complaint, case, ""),)


def taken_in(owner: str, keyword: str) -> tuple[str, tuple[Interval, ...]]:
    """The package and its releases in which a callable takes a keyword: the callable's own, else of a base.

    What it took from its first release on cannot have been missed for being too early.
    """
    for one in with_ancestors(owner):
        if has := parameter_history(one, keyword):
            born, still = first_release(one), is_taken_now(owner, keyword)
            return package_of(one), tuple(
                Interval("0" if life.introduced == born else life.introduced, None if still else life.fixed)
                for life in has
            )
    return package_of(owner), ()


def is_taken_now(owner: str, keyword: str) -> bool:
    """Does the newest release take a keyword, by itself or by a base that it has it from now?"""
    tables = ((name, table_of(name)) for name in sorted(COVERED))
    known = signature(owner, {name: table.releases[-1] for name, table in tables if table})
    return bool(known and known.accepts(keyword))


def first_release(owner: str) -> str:
    """The first release that has a callable."""
    table = table_of(package_of(owner))
    line = table.callables.get(owner, "") if table else ""
    if table is None or not line:
        return ""
    return table.releases[min(first for first, _ in slices(line.split(" ", 1)[0]))]


def taken(owner: str, keyword: str, case: Case) -> bool:
    """Does the release that is stated take it for certain?"""
    known = signature(owner, versions_of(case))
    return bool(known and known.accepts(keyword))


def versions_of(case: Case) -> Mapping[str, str]:
    """The versions that are stated of the packages of the tables."""
    return {name: version for name in sorted(COVERED) if (version := case.version(name))}


def short_name(owner: str, told: str) -> str:
    """A callable as the message says it, else as people do."""
    if told and told != "__init__":
        return told.removesuffix(".__init__")
    parts = owner.split(".")
    start = next((place for place, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[start:])


def callables_named(text: str) -> tuple[str, ...]:
    """The callables of the tables that a message means: "SFTTrainer.__init__", "Accelerator.unwrap_model"."""
    parts = [part for part in text.split(".") if part != "<locals>"]
    if len(parts) >= 2 and parts[-2][:1].isupper():
        owner, method = parts[-2], parts[-1]
        classes = classes_named(owner) or derived_from(owner)
        if method != "__init__":
            return tuple(f"{one}.{method}" for one in classes)
        passed_on = (MODEL_LOADER,) if is_model(owner) else PASSED_ON_TO.get(owner, ())
        return (*classes, *passed_on)
    return functions_named(parts[-1]) if parts and parts[-1] != "__init__" else ()


def derived_from(own: str) -> tuple[str, ...]:
    """The classes that a class of somebody's own derives from by its name: "MySFTTrainer"."""
    names = [owner for owner in CALLED if owner.rpartition(".")[2][:1].isupper()]
    ends = [owner for owner in names if own.endswith(owner.rpartition(".")[2])]
    return tuple(sorted(ends, key=lambda owner: -len(owner.rpartition(".")[2])))[:1]


def functions_named(name: str) -> tuple[str, ...]:
    """The functions of the tables with this name, one for each package, the shortest path."""
    if len(name) < 6:
        return ()
    found = []
    for package in sorted(COVERED):
        table = table_of(package)
        ending = f".{name}"
        names = [key for key in (table.callables if table else ()) if key.endswith(ending)]
        plain = [key for key in names if not any(part[:1].isupper() for part in key.split("."))]
        found += sorted(plain, key=len)[:1]
    return tuple(found)


def likely_callables(keyword: str, complaint: Complaint, case: Case) -> Iterator[str]:
    """The callables that may have refused a keyword where the message names none, the likeliest first."""
    clashing = [clash for clash in by_symbol().get(keyword, ()) if clash.kind == "keyword"]
    for clash in clashing:
        if clash.provider == "accelerate":
            yield from callables_named(clash.message.partition("()")[0])
    known = [owner for owner in CALLED if taken_in(owner, keyword)[1]]
    code = "\n".join(lines_of_code(complaint, case))
    for text in (code, case.text):
        yield from (
            owner for owner in known if f"{owner.rpartition('.')[2]}(" in text or owner_is_said(owner, text)
        )
    yield from known


def owner_is_said(owner: str, text: str) -> bool:
    """Does a text speak of a callable, by a name that is its own?"""
    name = short_name(owner, "").partition(".")[0]
    return len(name) > 7 and re.search(rf"\b{name}\b", text) is not None
