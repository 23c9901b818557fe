"""Faults of the interpreter and of what is installed in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.cures import install, reinstall, set_variable
from doctor.facts import Duplicate, Facts, FileFault, Gap, Package, Packages, Shadow
from doctor.failures import all_failure_text, failed_runs
from doctor.findings import Evidence, Fix, Severity
from doctor.rules import Hit, rule
from doctor.stack import STACK
from doctor.versions import comparable

NATIVE = re.compile(r"\.(?:so(?:\.\d+)*|pyd|dll|dylib)$")


OLDEST = "is older than 3.8"  # the words of the collectors' own gate


def silence(facts: Facts) -> Gap | None:
    """Why the interpreter gave no account of itself, None where it did."""
    gaps = (gap for gap in facts.gaps if gap.about == "interpreter" and gap.kind == "failed")
    return next(gaps, None) if facts.interpreter is None else None


@rule("python/interpreter-does-not-start", "error", needs=(), breaks=("import-torch",))
def interpreter_does_not_start(facts: Facts) -> Iterator[Hit]:
    """The target's Python does not run

    Why: nothing can train with an interpreter that ends before it runs a line. A dangling link, a base
    Python that was removed, or a sitecustomize that exits are the usual causes.

    Fix: make the environment anew with an interpreter that is there.
    """
    gap = silence(facts)
    if gap and OLDEST not in gap.reason:
        anew = ("python3", "-m", "venv", "--clear", ".venv")
        yield Hit(
            title="The target's Python does not run, so nothing in it could be examined",
            evidence=(Evidence("interpreter", gap.reason, "an interpreter that starts"),),
            fixes=(Fix("Make the environment anew", (anew,), verified=False),),
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


@rule("python/files-missing-or-altered", "error", needs=("files", "packages"))
def files_missing_or_altered(facts: Facts) -> Iterator[Hit]:
    """Installed files are not what the package's RECORD says

    Why: an interrupted download, a full disk, a half-finished uninstall or a copied environment leaves a
    package that looks installed and is not whole. pip believes its metadata and says "already satisfied".

    Fix: reinstall the package over itself.
    """
    assert facts.files is not None
    sizes = {fault.package: fault for fault in facts.files.faults}
    by_hash = facts.hashes.faults if facts.hashes else ()
    late = {fault.package: fault for fault in by_hash if fault.package not in sizes}
    for fault in (*sizes.values(), *late.values()):
        if fault.package != "bitsandbytes" or not only_native(fault):
            yield file_hit(facts, fault)


def only_native(fault: FileFault) -> bool:
    """Is every ill file that is named a shared object?"""
    return all(NATIVE.search(name) for name in (*fault.missing, *fault.altered))


def file_hit(facts: Facts, fault: FileFault) -> Hit:
    """One package's missing and altered files as one finding."""
    parts = [
        f"{count} {word}"
        for count, word in ((fault.missing_count, "missing"), (fault.altered_count, "altered"))
        if count
    ]
    named = (*fault.missing, *fault.altered)[:3]
    grave = fault.missing_count or any(NATIVE.search(name) for name in fault.altered)
    return Hit(
        title=f"{fault.package} {fault.version} is not whole: {' and '.join(parts)} of its installed files",
        severity="error" if grave else "warning",
        evidence=(
            Evidence(fault.package, f"{' and '.join(parts)}: {', '.join(named)}", "every file as in RECORD"),
        ),
        fixes=(reinstall(facts, fault.package, fault.version),),
    )


@rule("python/duplicate-metadata", "error", needs=("packages",))
def duplicate_metadata(facts: Facts) -> Iterator[Hit]:
    """Two versions of one package are registered

    Why: an interrupted upgrade leaves the old dist-info beside the new. Which version a library believes
    to see then depends on the order of a folder, and every version check is a coin toss.

    Fix: delete the stale dist-info, then reinstall the release that you want over what is there.
    """
    assert facts.packages is not None
    for twice in facts.packages.duplicates:
        differing = len(set(twice.versions)) > 1
        both = " and ".join(dict.fromkeys(twice.versions))
        yield Hit(
            title=f"{twice.package} is registered twice, as {both}",
            severity=None if differing else "warning",
            evidence=(Evidence(twice.package, ", ".join(twice.locations), "one dist-info"),),
            fixes=(lay_down_one(facts, twice),),
        )


def lay_down_one(facts: Facts, twice: Duplicate) -> Fix:
    """Delete every registration but the newest, and lay that release down anew.

    No installer does it alone: a stale dist-info seldom has the RECORD by which it could be uninstalled.
    """
    assert facts.packages is not None
    kept = newest(twice.versions)
    folder = facts.packages.installed[twice.package].location
    pairs = list(zip(twice.versions, twice.locations, strict=True))
    keep = next((name for version, name in pairs if version == kept), pairs[-1][1])
    stale = tuple(os.path.join(folder, name) for _, name in pairs if name != keep)
    again = reinstall(facts, twice.package, kept)
    title = f"Delete the stale registration of {twice.package} and reinstall {kept or 'it'}"
    return Fix(title, (("rm", "-r", *stale), *again.commands), again.scope, again.verified)


def newest(versions: Iterable[str]) -> str:
    """The highest of some releases, "" where none is a version."""
    known = [(order, text) for text in versions if (order := comparable(text))]
    return max(known)[1] if known else ""


@rule("python/metadata-unreadable", "error", needs=("packages",))
def metadata_unreadable(facts: Facts) -> Iterator[Hit]:
    """A package's metadata cannot be read

    Why: libraries ask the metadata of others for their versions; where it is gone or garbled they say
    "not installed" of a package that lies there, or die in the asking.

    Fix: reinstall the package.
    """
    assert facts.packages is not None
    for package in facts.packages.installed.values():
        if package.fault:
            yield Hit(
                title=f"The metadata of {package.name} cannot be read: {package.fault}",
                severity="error" if package.name in required_by_stack(facts.packages) else "warning",
                evidence=(Evidence(package.name, package.fault, "a METADATA file with name and version"),),
                fixes=(reinstall(facts, package.name, package.version),),
            )
    for name in facts.packages.unregistered:
        yield Hit(
            title=f"{name} can be imported and is registered nowhere, so nothing tells its version",
            severity="warning",
            evidence=(Evidence(name, "no dist-info", "the metadata of an installed package"),),
            fixes=(install(facts, f"Install {name}", name),),
        )


def required_by_stack(packages: Packages) -> set[str]:
    """The stack and the packages whose code was looked at since the stack requires them."""
    return {*STACK, *(name for name, package in packages.installed.items() if package.modules)}


@rule("python/module-shadowed", "error", needs=("packages",))
def module_shadowed(facts: Facts) -> Iterator[Hit]:
    """A local file hides an installed package

    Why: Python looks into the script's folder first. A file named torch.py or a folder named peft there is
    imported in place of the library, and the error speaks of a circular import or a missing name.

    Fix: rename the file, and delete its __pycache__.
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
    hidden = f"the installed package {own}" if own else "a module of Python's standard library"
    name, path = os.path.basename(shadow.path), shadow.path
    if name == "__init__.py":
        path = os.path.dirname(path)
        name = os.path.basename(path)
    renamed = os.path.join(os.path.dirname(path), f"my_{name}")
    return Hit(
        title=f"{name} in the working folder hides {hidden}",
        severity="error" if own or bites else "warning",
        evidence=(Evidence(own or shadow.module, path, "no file of that name where Python starts"),),
        fixes=(Fix(f"Rename {name}", (("mv", path, renamed),), "script"),),
    )


def owner_of(facts: Facts, module: str) -> str | None:
    """The distribution that provides a top-level module."""
    installed = facts.packages.installed if facts.packages else {}
    return next((name for name, package in installed.items() if module in package.modules), None)


@rule("python/path-pollution", "warning", needs=("packages",))
def path_pollution(facts: Facts) -> Iterator[Hit]:
    """PYTHONPATH or the user site brings in foreign packages

    Why: folders on PYTHONPATH, and packages under ~/.local, come before the environment's own. What is
    imported is then not what is installed here, and reinstalling here changes nothing.

    Fix: unset PYTHONPATH, or set PYTHONNOUSERSITE=1.
    """
    assert facts.packages is not None
    for shadow in facts.packages.shadows:
        if shadow.entry != "working folder":
            stated = shadow.entry == "PYTHONPATH"
            fix = ("PYTHONPATH", None) if stated else ("PYTHONNOUSERSITE", "1")
            own = owner_of(facts, shadow.module) or shadow.module
            yield Hit(
                title=f"{shadow.module} is imported from the {shadow.entry}, not from the target's packages",
                evidence=(Evidence(own, shadow.path, "the package that is installed in the target"),),
                fixes=(set_variable(f"Leave the {shadow.entry} out", *fix),),
            )


@rule("python/leftover-files", "note", needs=("packages",))
def leftover_files(facts: Facts) -> Iterator[Hit]:
    """An interrupted uninstall left files behind

    Why: pip renames a package's folders to ~name while it works. Those that remain are dead weight, and the
    cause of its "Ignoring invalid distribution" warnings.

    Fix: delete the folders whose names begin with ~.
    """
    assert facts.packages is not None
    if facts.packages.leftovers:
        names = ", ".join(facts.packages.leftovers[:5])
        yield Hit(
            title="Folders of an interrupted uninstall are left among the packages",
            evidence=(Evidence("site-packages", names, "no name that begins with ~"),),
        )


@rule("python/requirement-unsatisfied", "warning", needs=("packages", "interpreter"))
def requirement_unsatisfied(facts: Facts) -> Iterator[Hit]:
    """An installed package's declared requirement is not met

    Why: the package says which releases it works with, and another is installed. pip lets a later command
    do that with no more than a warning.

    Fix: install a release that satisfies both.
    """
    assert facts.packages is not None
    watched = required_by_stack(facts.packages)
    for package in facts.packages.installed.values():
        if package.name in watched:
            for need in package.requires:
                yield from unmet(facts, package, need)


# Name and specifier of a requirement, as installers write it into METADATA; extras and marker apart.
REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;@()]*)\)?\s*(;.*)?$")


def unmet(facts: Facts, package: Package, text: str) -> Iterator[Hit]:
    """One requirement that the installed release of its package does not satisfy, or that is absent."""
    assert facts.packages is not None and facts.interpreter is not None
    parts = REQUIREMENT.match(text.strip())
    if not parts:
        return
    name, bounds = re.sub(r"[-_.]+", "-", parts[1]).lower(), parts[2].strip()
    found = facts.packages.installed.get(name)
    if is_satisfied(found, bounds) or (not found and name in STACK):  # of the stack, rules/missing.py speaks
        return
    if parts[3] and not applies(parts[3][1:], facts):
        return
    wanted = f"{name}{bounds.replace(' ', '')}"
    severity: Severity = "error" if name in all_failure_text(facts) else "warning"
    yield Hit(
        title=f"{package.name} {package.version} requires {wanted}, and "
        + (f"{found.version} is installed" if found else "it is not installed"),
        severity=severity,
        evidence=(
            Evidence(package.name, package.version, f"its requirement {wanted} met"),
            Evidence(name, found.version if found else "not installed", wanted),
        ),
        fixes=(install(facts, f"Install {wanted}", wanted),),
    )


def is_satisfied(found: Package | None, bounds: str) -> bool:
    """Is a package there, and its release within bounds? One whose version cannot be read is not judged."""
    if found is None:
        return False
    version = comparable(found.version)
    try:
        return version is None or SpecifierSet(bounds).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


# A marker that begins with one plain comparison and goes on, if at all, with "and".
CONJUNCT = re.compile(r"""\s*(\w+)\s*(==|<)\s*['"]([\w.]+)['"]\s*(?:and\s+[^|]*)?$""")


def applies(marker: str, facts: Facts) -> bool:
    """Does a marker hold for the target? One that cannot be read proves nothing."""
    environment = marker_environment(facts)
    plain = CONJUNCT.match(marker)
    if plain and " or " not in marker and is_elsewhere(plain[2], environment.get(plain[1], ""), plain[3]):
        return False
    # Nearly all that is absent is for another system or an older Python, and this import takes 10 ms.
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(environment)
    except (InvalidMarker, UndefinedEnvironmentName):
        return False


def is_elsewhere(operator: str, ours: str, theirs: str) -> bool:
    """Is one comparison of a marker plainly false: another word, or a release that is not below a bound?"""
    if operator == "==":
        return not theirs[0].isdigit() and ours != theirs
    have, bound = comparable(ours), comparable(theirs)
    return have is not None and bound is not None and have >= bound


def marker_environment(facts: Facts) -> dict[str, str]:
    """The names of PEP 508 for the target, as far as the facts tell them."""
    assert facts.interpreter is not None
    version = facts.interpreter.version
    system = facts.system.os if facts.system else "linux"
    platforms = {"linux": ("Linux", "posix"), "darwin": ("Darwin", "posix"), "win32": ("Windows", "nt")}
    platform_system, os_name = platforms.get(system, ("Linux", "posix"))
    return {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "implementation_version": version,
        "implementation_name": facts.interpreter.implementation.lower(),
        "platform_python_implementation": facts.interpreter.implementation,
        "sys_platform": system,
        "platform_system": platform_system,
        "os_name": os_name,
        "platform_machine": facts.system.arch if facts.system else "x86_64",
        "platform_release": "",
        "platform_version": "",
        "extra": "",
    }


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
