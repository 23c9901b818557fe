"""Imports that fail, die or hang: one fault a library, three ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from doctor.cures import reinstall
from doctor.facts import Facts, Failure, StageRun
from doctor.failures import in_words
from doctor.findings import Evidence
from doctor.rules import Hit, rule
from doctor.stack import STACK


def run_with(facts: Facts, library: str, kind: str) -> tuple[StageRun, Failure] | None:
    """The import of a library, if it failed in one of the three ways."""
    run = facts.trial.run_of(f"import-{library}") if facts.trial else None
    return (run, run.failure) if run and run.failure and run.failure.kind == kind else None


def stack_evidence(library: str, failure: Failure) -> tuple[Evidence, ...]:
    """What was seen: how it ended, and where it stood."""
    where = (Evidence("at", failure.frames[-1]),) if failure.frames else ()
    return (Evidence(library, in_words(failure), "an import that ends well"), *where)


def import_failed(library: str, facts: Facts) -> Iterator[Hit]:
    """A library is installed and cannot be imported

    Why: the import raised an error. The first error of the chain is the cause; those after it are wrappers.

    Fix: nothing that this doctor knows explains it. Reinstalling the package that the error names is the
    cheapest try; if it persists, the error text is worth an issue there.
    """
    if found := run_with(facts, library, "raised"):
        _, failure = found
        version = facts.version_of(library) or ""
        yield Hit(
            title=f"{library} {version} is installed and cannot be imported: {in_words(failure)[:300]}",
            evidence=stack_evidence(library, failure),
            fixes=(reinstall(facts, library),),
        )


def import_crashed(library: str, facts: Facts) -> Iterator[Hit]:
    """Importing a library kills the interpreter

    Why: native code died while it was loaded. A truncated library raises SIGBUS, one that was built for
    another processor SIGILL, one that clashes with a second copy of itself SIGSEGV.

    Fix: reinstall the package whose code stands last on the stack.
    """
    if found := run_with(facts, library, "died"):
        _, failure = found
        version = facts.version_of(library) or ""
        yield Hit(
            title=f"Importing {library} {version} kills the interpreter: {in_words(failure)}",
            evidence=stack_evidence(library, failure),
            fixes=(reinstall(facts, failure.modules[-1] if failure.modules else library),),
        )


def import_hung(library: str, facts: Facts) -> Iterator[Hit]:
    """Importing a library never ends

    Why: the import gives no answer: a lock, a network file system, a driver call that waits for ever. Where
    it still computes, the disk or the machine may only be slow.

    Fix: look at the last frame; reinstall the package if it lies in its own code. Give a slow machine more
    time with --timeout.
    """
    if found := run_with(facts, library, "hung"):
        _, failure = found
        version = facts.version_of(library) or ""
        yield Hit(
            title=f"Importing {library} {version} hangs: {in_words(failure)}",
            evidence=stack_evidence(library, failure),
            fixes=(reinstall(facts, library),),
        )


for _library in STACK:
    for _judge in (import_failed, import_crashed, import_hung):
        _of_library = partial(_judge, _library)
        _of_library.__doc__ = _judge.__doc__
        rule(
            f"{_library}/{_judge.__name__.replace('_', '-')}",
            "error",
            needs=("trial",),
            breaks=(f"import-{_library}",),
        )(_of_library)
