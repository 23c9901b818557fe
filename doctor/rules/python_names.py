"""A package that uses a name of the standard library which this Python does not have yet, or no more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.cures import install
from doctor.facts import Facts, Failure, StageRun
from doctor.failures import failed_runs, in_words, owner_of
from doctor.findings import Evidence, Fix
from doctor.matrix.platform import table
from doctor.rules import Hit, rule
from doctor.versions import comparable

# What Python says of a name that is not there; of a module that is still being imported it says more.
ABSENT = (
    re.compile(
        r"cannot import name '(?P<name>\w{1,80})' from '(?P<module>[\w.]{1,120})'"
        r"(?: \((?P<file>[^()\n]{1,400})\))?\Z"
    ),
    re.compile(r"module '(?P<module>[\w.]{1,120})' has no attribute '(?P<name>\w{1,80})'\Z"),
    re.compile(r"No module named '(?P<module>[\w.]{1,120})'\Z"),
)
STANDARD_LIBRARY = re.compile(
    r"unknown location|[/\\](?:python3\.\d{1,2}|Lib)[/\\](?!(?:site|dist)-packages)"
)
COMMON = "3.12"  # every library of the stack has wheels for it


def absent_name(run: StageRun) -> str:
    """The name that a failed stage missed, with its module: "typing.Self"; "" for none.

    Whoever tries another module after that one has failed of the other.
    """
    chain = run.failure.chain if run.failure else ()
    missed = {found[0]: found for _, said in chain if (found := absence(said))}
    if len(missed) != 1 or absence(chain[0][1]) is None:
        return ""
    told = [*missed.values()][0].groupdict()
    is_elsewhere = told.get("file") and not STANDARD_LIBRARY.search(told["file"])
    return "" if is_elsewhere else ".".join(filter(None, (told["module"], told.get("name"))))


def absence(said: str) -> re.Match[str] | None:
    """An error that says that a name or a module is not there."""
    return next((found for pattern in ABSENT if (found := pattern.match(said.strip()))), None)


def hits(
    facts: Facts, told_of: Callable[[str, str], str], cures: Callable[[Facts, str, str], tuple[Fix, ...]]
) -> Iterator[Hit]:
    """One hit a name that stages missed.

    ``told_of`` (name, version of Python) says why it is absent, "" where it should be there; ``cures`` takes
    the name and the package that uses it, "" where none is known.
    """
    assert facts.interpreter is not None
    shadowed = {one.module for one in facts.packages.shadows} if facts.packages else set()
    missed = {absent_name(run): run for run in reversed([*failed_runs(facts)])}
    for name, run in missed.items():
        why = told_of(name, facts.interpreter.version)
        if why and run.failure is not None and name.partition(".")[0] not in shadowed:
            owner = owner_of(facts, run.failure.modules[-1]) if run.failure.modules else None
            package = f"{owner} {facts.version_of(owner)}" if owner else "A package"
            where = (Evidence("at", run.failure.frames[-1]),) if run.failure.frames else ()
            yield Hit(
                title=f"{package} uses {name}, {why}",
                breaks=tuple(one.stage for one in failed_runs(facts) if shares(one, name, run.failure)),
                evidence=(Evidence(run.stage, in_words(run.failure)), *where),
                fixes=cures(facts, name, owner or ""),
            )


def shares(run: StageRun, name: str, failure: Failure) -> bool:
    """Did a stage miss the name too, or stumble in the module that is left half imported for want of it?"""
    place = failure.frames[-1].rpartition(":")[0] if failure.frames else ""
    frames = run.failure.frames if run.failure else ()
    return absent_name(run) == name or bool(place) and any(one.startswith(f"{place}:") for one in frames)


def not_yet(name: str, version: str) -> str:
    """Why a Python does not have a name yet; "" where it should, and where nothing is known of the name."""
    came: list[str] = table("python_names")["since"].get(name, [])
    release = comparable(version)
    if not came or release is None:
        return ""
    of_minor = [one for one in came if one.split(".")[:2] == version.split(".")[:2]]
    since = (of_minor or came[-1:])[0]
    first = comparable(since)
    if first is not None and release < first:
        return f"which came with Python {since}, and this is {version}"
    if release == first and not release.micro:  # its pre-releases bear the same number
        return f"which Python {version} has, and its pre-releases lack"
    return ""


def no_more(name: str, version: str) -> str:
    """Why a Python has a name no more; "" where it should, and where nothing is known of the name."""
    gone: dict[str, str] = table("python_names")["gone"]
    dropped = gone.get(name, "")
    release, last = comparable(version), comparable(dropped)
    if release is None or last is None or release < last:
        return ""
    return f"which Python {dropped} dropped, and this is {version}"


def newer_python(facts: Facts) -> tuple[Fix, ...]:
    """An environment with a Python that has all that the stack uses."""
    command = ("lora-doctor", "install", f".venv-{COMMON}", "--python-version", COMMON)
    return (Fix(f"Set the stack up with Python {COMMON}, in a new environment", (command,), verified=False),)


def newer_package(facts: Facts, name: str, owner: str) -> tuple[Fix, ...]:
    """A newer release of the package that uses a name, or an older Python."""
    older = ("uv", "venv", "--python", "3.10")
    installed = facts.packages.installed if facts.packages else {}
    if name == "distutils" and "setuptools" not in installed:
        yet = install(facts, "Install setuptools, which brings a distutils of its own", "setuptools")
    elif owner:
        yet = install(facts, f"Upgrade {owner}", owner, options=("--upgrade",))
    else:
        yet = Fix("Upgrade the package that the last frame names")
    return (yet, Fix("Or make an environment with Python 3.10", (older,), verified=False))


@rule(
    "python/too-old-for-package",
    "error",
    needs=("interpreter", "trial"),
    symptoms=(
        r"re:unsupported operand type\(s\) for \|: "
        r".(?:type|NoneType|_GenericAlias|types\.GenericAlias|ABCMeta|_SpecialGenericAlias)",
        "re:cannot import name .(?:Literal|TypeAlias|ParamSpec|Self|Annotated|Unpack|Required|NotRequired"
        "|override). from .typing.(?!_)",
        r"re:__init__\(\) got an unexpected keyword argument .kw_only",
        r"re:dataclass\(\) got an unexpected keyword argument .(?:slots|kw_only)",
        "module 'sys' has no attribute 'get_int_max_str_digits'",
    ),
    cure=newer_python,
    question="Which Python is it, and which package does the last frame of the traceback name?",
)
def too_old(facts: Facts) -> Iterator[Hit]:
    """A package was written for a newer Python than this one

    Why: names of the standard library come with one release each, some with a patch release; "int | None" as
    a type needs Python 3.10, "match" as well. An installer that honours Requires-Python looks at the release,
    and not at patches or pre-releases; a copy of the sources, or --ignore-requires-python, looks at nothing.

    Fix: train with a newer Python; where a patch release is too old, the newest of its minor one is enough.

    Tried in vain: reinstalling the package, which is whole.

    References: https://docs.python.org/3/whatsnew/3.10.html
    """
    yield from hits(facts, not_yet, lambda facts, *_: newer_python(facts))


@rule(
    "python/too-new-for-package",
    "error",
    needs=("interpreter", "trial"),
    symptoms=(
        "re:cannot import name .(?:Mapping|MutableMapping|Iterable|Sequence|Callable). from .collections.",
        "re:module .collections. has no attribute .(?:Mapping|MutableMapping|Iterable|Sequence|Callable)",
        "re:module .inspect. has no attribute .getargspec",
        "re:module .pkgutil. has no attribute .ImpImporter",
        r"re:No module named .(?:distutils|imp).(?!\w)",
        r"re:mutable default <class [^\n]{1,120}> for field \w{1,80} is not allowed: use default_factory",
        "re:module .configparser. has no attribute .SafeConfigParser",
    ),
    cure=lambda facts: newer_package(facts, "", ""),
    question="Which Python is it, and which package does the last frame of the traceback name?",
)
def too_new(facts: Facts) -> Iterator[Hit]:
    """A package was written for an older Python than this one

    Why: Python drops modules and names: collections.Mapping with 3.10, inspect.getargspec with 3.11,
    distutils and imp with 3.12. Mutable defaults of dataclasses are refused from 3.11 on.

    Fix: upgrade the package that the last frame names, or make an environment with an older Python.

    References: https://docs.python.org/3/whatsnew/3.12.html
    """
    yield from hits(facts, no_more, newer_package)
