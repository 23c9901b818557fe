"""What a failed stage says: its text, its first cause, the packages that stand in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Facts, Failure, Package, StageRun

# A name in an error message: quoted, or as a dotted module.
MENTION = re.compile(r"['\"`]([A-Za-z_]\w{0,60})(?:\.[\w.]{0,120})?['\"`]")

ON_GPU_ONLY = "bitsandbytes/quantises-on-gpu-only"  # a stage that could not be tried, and did not fail


def failed_runs(facts: Facts) -> Iterator[StageRun]:
    """The stages of the trial that failed, in their order."""
    yield from (run for run in (facts.trial.runs if facts.trial else ()) if run.failure)


def failure_text(run: StageRun) -> str:
    """All that a failed stage said: the chain of exceptions and what was printed meanwhile."""
    chain = run.failure.chain if run.failure else ()
    return "\n".join([f"{kind}: {message}" for kind, message in chain] + [run.noise])


def all_failure_text(facts: Facts) -> str:
    """What all failed stages said, and what a paste complains of."""
    pasted = facts.paste.complaints if facts.paste else ()
    return "\n".join([*map(failure_text, failed_runs(facts)), *(one.text for one in pasted)])


def shows(symptom: str, text: str) -> bool:
    """Does a text show a symptom: a plain substring, or a pattern behind ``re:``?"""
    if symptom.startswith("re:"):
        return re.search(symptom[3:], text) is not None
    return symptom in text


def names(package: str, text: str) -> bool:
    """Does a text name a package, as a word of its own and in either spelling?"""
    word = re.escape(package).replace(r"\-", "[-_]")
    return re.search(rf"(?<![\w-]){word}(?![\w-])", text) is not None


def asks_for(package: str, text: str) -> bool:
    """Does an error say that it requires a package? That is said of one too old as of one that is absent."""
    return re.search(rf"\brequires? [`'\"]?{re.escape(package)}\b", text) is not None


def first_cause(failure: Failure) -> str:
    """The first exception of a chain, or the signal and the place of a death: equal for equal causes."""
    kind, message = failure.chain[0] if failure.chain else ("", "")
    if failure.kind == "raised":
        return f"{kind}: {message}"
    return f"{failure.kind} {failure.signal} in {failure.modules[-1] if failure.modules else message}"


def in_words(failure: Failure) -> str:
    """One line of what happened: "ImportError: cannot import name ...", "killed by SIGBUS"."""
    place = f" in {failure.modules[-1]}" if failure.modules else ""
    if failure.kind == "hung":
        return f"it {failure.chain[0][1] if failure.chain else 'does not end'}{place}"
    if failure.signal:
        return f"killed by {failure.signal}{place}"
    first = first_cause(failure).splitlines()[0] if failure.kind == "raised" else ""
    return first or f"the process ended: {failure.chain[0][1] if failure.chain else 'no reason given'}"


def mentioned_modules(run: StageRun) -> set[str]:
    """Top-level modules that the failure points at: the innermost on the stack, and those its text names."""
    failure = run.failure
    if failure is None:
        return set()
    kind, message = failure.chain[0] if failure.chain else ("", "")
    return {*failure.modules[-1:], *MENTION.findall(message)}


def points_at(run: StageRun, package: Package | None, name: str) -> bool:
    """Does a failure point at a package, by one of its modules?"""
    modules = set(package.modules) if package and package.modules else {name.replace("-", "_")}
    return bool(modules & mentioned_modules(run))


def owner_of(facts: Facts, module: str) -> str | None:
    """The distribution that provides a top-level module."""
    installed = facts.packages.installed if facts.packages else {}
    return next((name for name, package in installed.items() if module in package.modules), None)
