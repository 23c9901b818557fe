"""Faults of the interpreter itself, and of where it looks for modules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from doctor.cures import set_variable
from doctor.facts import Facts, Gap, Shadow
from doctor.failures import failed_runs, owner_of
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.stack import STACK

OLDEST = "is older than 3.8"  # the words of the collectors' own gate


def silence(facts: Facts) -> Gap | None:
    """Why the interpreter gave no account of itself, None where it did."""
    gaps = (gap for gap in facts.gaps if gap.about == "interpreter" and gap.kind == "failed")
    return next(gaps, None) if facts.interpreter is None else None


@rule(
    "python/interpreter-does-not-start",
    "error",
    needs=(),
    breaks=("import-torch",),
    symptoms=(
        "No module named 'encodings'",
        "init_fs_encoding: failed to get the Python codec",
        "failed to locate pyvenv.cfg",
        r"re:No Python at ['\"].{1,300}python",
        r"re:bad interpreter: .{0,300}No such file or directory",
        r"re:\bbin/python[\d.]{0,6}: (?:No such file or directory|cannot execute)",
    ),
    cure=lambda facts: (Fix("Make the environment anew: python3 -m venv --clear .venv"),),
    question="Does the interpreter that the environment was made with still exist (ls -l .venv/bin/python)?",
)
def interpreter_does_not_start(facts: Facts) -> Iterator[Hit]:
    """The target's Python does not run

    Why: nothing can train with an interpreter that ends before it runs a line. A dangling link, a base
    Python that was removed, or a sitecustomize that exits are the usual causes.

    Fix: make the environment anew with an interpreter that is there.
    """
    gap = silence(facts)
    if gap and OLDEST not in gap.reason:
        others = ("lora-doctor", "check", "--all-environments")
        yield Hit(
            title="The target's Python does not run, so nothing in it could be examined",
            evidence=(Evidence("interpreter", gap.reason, "an interpreter that starts"),),
            fixes=(Fix("Make the environment anew, or examine another", (others,), "setting"),),
        )


@rule("python/interpreter-too-old", "error", needs=(), breaks=("install",))
def interpreter_too_old(facts: Facts) -> Iterator[Hit]:
    """The target's Python is older than any that this stack supports

    Why: no release of the stack that the matrix knows installs on a Python below 3.8.

    Fix: make an environment with a newer Python.
    """
    gap = silence(facts)
    if gap and OLDEST in gap.reason:
        anew = ("python3", "-m", "venv", ".venv")
        yield Hit(
            title="The target's Python is too old for the stack and for this examination",
            evidence=(Evidence("interpreter", gap.reason, "Python 3.8 or newer"),),
            fixes=(Fix("Make an environment with a newer Python", (anew,), verified=False),),
        )


def leave_out_foreign(facts: Facts) -> tuple[Fix, ...]:
    """The two ways of keeping packages of other places out."""
    return (
        set_variable("Leave PYTHONPATH out", "PYTHONPATH", None),
        set_variable("Leave the user site out", "PYTHONNOUSERSITE", "1"),
    )


def rename(facts: Facts) -> tuple[Fix, ...]:
    """What to do about a file whose name is not told."""
    title = "Rename the file or folder that has the library's name, and delete __pycache__"
    return (Fix(title, scope="script"),)


@rule(
    "python/module-shadowed",
    "error",
    needs=("packages",),
    symptoms=(
        r"re:; .(?:torch|transformers|peft|accelerate|trl|datasets|tokenizers). is not a package",
        r"re:consider renaming .{1,300} since it has the same name as",
    ),
    cure=rename,
    question="Does a file or folder of the library's name lie where the script starts?",
)
def module_shadowed(facts: Facts) -> Iterator[Hit]:
    """A local file hides an installed package

    Why: Python looks into the script's folder first. A file named torch.py or a folder named peft there is
    imported in place of the library, and the error speaks of a circular import or a missing name.

    See: python -c "import torch; print(torch.__file__)", run where the script starts, names that file.

    Fix: rename the file, and delete its __pycache__.

    Verify: the same command names a file below site-packages.

    Tried in vain: reinstalling the library, which was never asked.
    """
    assert facts.packages is not None
    for shadow in facts.packages.shadows:
        if shadow.entry == "working folder":
            yield shadow_hit(facts, shadow)


def shadow_hit(facts: Facts, shadow: Shadow) -> Hit:
    """A file of the working folder that stands in another's place; one of Python's own may do no harm."""
    bites = any(
        shadow.path in frame for run in failed_runs(facts) if run.failure for frame in run.failure.frames
    )
    own = owner_of(facts, shadow.module)
    imports = [run for run in (facts.trial.runs if facts.trial else ()) if run.stage.startswith("import-")]
    harmless = bool(imports) and all(run.outcome == "ok" for run in imports)
    hidden = f"the installed package {own}" if own else "a module of Python's standard library"
    name, path = os.path.basename(shadow.path), shadow.path
    if name == "__init__.py":
        path = os.path.dirname(path)
        name = os.path.basename(path)
    renamed = os.path.join(os.path.dirname(path), f"my_{name}")
    return Hit(
        title=f"{name} in the working folder hides {hidden}",
        severity="error" if bites or (own and not harmless) else "warning",
        evidence=(Evidence(own or shadow.module, path, "no file of that name where Python starts"),),
        fixes=(Fix(f"Rename {name}", (("mv", path, renamed),), "script"),),
    )


@rule(
    "python/path-pollution",
    "warning",
    needs=("packages",),
    cure=leave_out_foreign,
    question='What do python -c "import sys; print(sys.path)" and the path of the failing module show?',
)
def path_pollution(facts: Facts) -> Iterator[Hit]:
    """PYTHONPATH or the user site brings in foreign packages

    Why: folders on PYTHONPATH, and packages under ~/.local, come before the environment's own or beside them.
    What is imported is then not what is installed here, and reinstalling here changes nothing.

    See: paths in the traceback lie below ~/.local/lib, or in folders that PYTHONPATH names.

    Fix: unset PYTHONPATH, or set PYTHONNOUSERSITE=1.

    Tried in vain: reinstalling into the environment, which is looked into only afterwards.
    """
    for entry, fix in (("PYTHONPATH", ("PYTHONPATH", None)), ("user site", ("PYTHONNOUSERSITE", "1"))):
        yield from foreign_hit(facts, entry, set_variable(f"Leave the {entry} out", *fix))


def foreign_hit(facts: Facts, entry: str, fix: Fix) -> Iterator[Hit]:
    """What one of the two brings in: in place of an installed package, or with an error of its own."""
    hidden, failing = hidden_by(facts, entry), failing_in(facts, entry)
    owners = list(dict.fromkeys((*hidden, *failing)))
    # What lies beside a stack that lives there as a whole does no harm.
    harmful = failing or entry == "PYTHONPATH" or any(name in STACK for name in owners)
    if owners:
        named = ", ".join(([name for name in owners if name in STACK] or owners)[:3])
        named += " and others" if len(owners) > 3 else ""
        yield Hit(
            title=f"The {entry} brings in {named} in place of the target's own"
            if hidden
            else f"The {entry} brings in {named}, which cannot be imported",
            severity=None if harmful else "note",
            evidence=tuple(
                Evidence(name, path, "the package that is installed in the target" if hidden else "")
                for name, path in list((hidden | failing).items())[:5]
            ),
            fixes=(fix,) if harmful else (),
        )


def hidden_by(facts: Facts, entry: str) -> dict[str, str]:
    """Packages that files of one entry stand before, each with such a file."""
    shadows = [one for one in (facts.packages.shadows if facts.packages else ()) if one.entry == entry]
    return {owner_of(facts, one.module) or one.module: one.path for one in reversed(shadows)}


def failing_in(facts: Facts, entry: str) -> dict[str, str]:
    """Packages below one entry in whose own code a stage failed, each with the place."""
    places = [run.failure.frames[-1] for run in failed_runs(facts) if run.failure and run.failure.frames]
    found = {}
    for folder in folders_of(facts, entry):
        for place in places:
            if place.startswith(folder + os.sep):
                module = re.split(r"[/\\.]", place[len(folder) + 1 :], maxsplit=1)[0]
                found[owner_of(facts, module) or module] = place
    return found


def folders_of(facts: Facts, entry: str) -> list[str]:
    """The folders of PYTHONPATH, or that of the user site."""
    if entry == "PYTHONPATH":
        stated = (facts.environment or {}).get("PYTHONPATH", "")
        return [os.path.normpath(folder) for folder in stated.split(os.pathsep) if os.path.isabs(folder)]
    user_site = facts.interpreter.user_site if facts.interpreter else None
    return [user_site] if user_site else []


@rule(
    "python/docstrings-stripped",
    "warning",
    needs=("environment",),
    breaks=("import-transformers",),
    symptoms=("section is found in the docstring of",),
    cure=lambda facts: (set_variable("Keep the docstrings", "PYTHONOPTIMIZE", None),),
)
def docstrings_stripped(facts: Facts) -> Iterator[Hit]:
    """PYTHONOPTIMIZE strips the docstrings that transformers reads

    Why: at level 2 Python drops every docstring, and transformers builds its own from those of its classes
    when it is imported. Reinstalling is tried in vain.

    Fix: unset PYTHONOPTIMIZE.
    """
    assert facts.environment is not None
    level = facts.environment.get("PYTHONOPTIMIZE", "")
    if level.isdigit() and int(level) > 1:
        yield Hit(
            title=f"PYTHONOPTIMIZE={level} strips the docstrings that transformers reads",
            evidence=(Evidence("PYTHONOPTIMIZE", level, "unset, or 1"),),
            fixes=(set_variable("Keep the docstrings", "PYTHONOPTIMIZE", None),),
        )


@rule("python/prints-at-startup", "note", needs=("interpreter",))
def prints_at_startup(facts: Facts) -> Iterator[Hit]:
    """The interpreter prints before it runs anything

    Why: a sitecustomize, a .pth file or a shell wrapper writes to the output of every Python started here,
    which corrupts what programs exchange through it.

    Fix: make it write nothing, or write to standard error only when asked.
    """
    assert facts.interpreter is not None
    if facts.interpreter.noise:
        yield Hit(
            title="The target's Python prints something each time it starts",
            evidence=(Evidence("interpreter", facts.interpreter.noise.splitlines()[0][:200], "no output"),),
        )
