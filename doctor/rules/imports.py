"""Imports that fail, die or hang: one fault a library, three ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from doctor.cures import reinstall, uninstall
from doctor.facts import Facts
from doctor.failures import in_words, owner_of
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.stack import STACK

FLASH = "flash-attn"  # of no fine-tune a part, and taken by transformers wherever it is installed


def failed(facts: Facts, library: str, kind: str, title: str) -> Iterator[Hit]:
    """One hit where the import of a library failed in one of the three ways; ``title`` takes its name."""
    run = facts.trial.run_of(f"import-{library}") if facts.trial else None
    failure = run.failure if run else None
    if failure is None or failure.kind != kind:
        return
    named = f"{library} {facts.version_of(library) or ''}".strip()
    words = in_words(failure)
    where = (Evidence("at", failure.frames[-1]),) if failure.frames else ()
    # What died or hung stands last on the stack; what raised may only be the messenger.
    innermost = owner_of(facts, failure.modules[-1]) if failure.modules and kind != "raised" else None
    yield Hit(
        title=f"{title.format(named)}: {words[:300]}",
        evidence=(Evidence(library, words, "an import that ends well"), *where),
        fixes=(way_out(facts, library, innermost),),
    )


def way_out(facts: Facts, library: str, innermost: str | None) -> Fix:
    """Lay down anew the package in whose code it happened; what training can do without is taken away."""
    if library in STACK:
        return reinstall(facts, innermost or library)
    return uninstall(facts, f"Uninstall {library}: PyTorch's own attention takes its place", library)


def import_failed(library: str, facts: Facts) -> Iterator[Hit]:
    """A library is installed and cannot be imported

    Why: the import raised an error. The first error of the chain is the cause; those after it are wrappers.

    Fix: nothing that this doctor knows explains it. Reinstalling the library is the cheapest try; if it
    persists, the error text is worth an issue there.
    """
    yield from failed(facts, library, "raised", "{} is installed and cannot be imported")


def import_crashed(library: str, facts: Facts) -> Iterator[Hit]:
    """Importing a library kills the interpreter

    Why: native code died while it was loaded, or the library ended the process itself. A truncated library
    raises SIGBUS, one that was built for another processor SIGILL, one that clashes with a second copy of
    itself SIGSEGV.

    Fix: reinstall the package whose code stands last on the stack.
    """
    yield from failed(facts, library, "died", "Importing {} kills the interpreter")


def import_hung(library: str, facts: Facts) -> Iterator[Hit]:
    """Importing a library never ends

    Why: the import gives no answer: a lock, a network file system, a driver call that waits for ever. Where
    it still computes, the disk or the machine may only be slow.

    Fix: look at the last frame; reinstall the package in whose code it lies. Give a slow machine more time
    with --timeout.
    """
    yield from failed(facts, library, "hung", "Importing {} hangs")


for _library in (*STACK, FLASH):
    for _judge in (import_failed, import_crashed, import_hung):
        _of_library = partial(_judge, _library)
        _of_library.__doc__ = _judge.__doc__
        rule(
            f"{_library}/{_judge.__name__.replace('_', '-')}",
            "error",
            needs=("trial",),
            breaks=(f"import-{_library}",),
        )(_of_library)
