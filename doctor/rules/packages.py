"""Faults of what is installed: files that are not as recorded, registrations that contradict each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from doctor.cures import install, reinstall, uninstall
from doctor.facts import Duplicate, Facts, FileFault, Packages
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.stack import STACK
from doctor.versions import comparable

NATIVE = re.compile(r"\.(?:so(?:\.\d+)*|pyd|dll|dylib)$")


@rule(
    "python/files-missing-or-altered",
    "error",
    needs=("files", "packages"),
    symptoms=(
        "THESE PACKAGES DO NOT MATCH THE HASHES",
        "BadZipFile: File is not a zip file",
        "re:has an invalid wheel, .{0,40}dist-info directory not found",
        r"re:No module named .(?:torch|transformers|peft|trl|accelerate)\.(?:version|_C|__init__).",
    ),
    cure=lambda facts: (
        Fix("Lay it down anew: python -m pip install --force-reinstall --no-deps --no-cache-dir PACKAGE"),
    ),
    question="Which package is it, and is the disk full (df -h)?",
)
def files_missing_or_altered(facts: Facts) -> Iterator[Hit]:
    """Installed files are not what the package's RECORD says

    Why: an interrupted download, a full disk, a half-finished uninstall or a copied environment leaves a
    package that looks installed and is not whole. pip believes its metadata and says "already satisfied".

    See: python -m pip show -f PACKAGE lists files that are not there.

    Fix: reinstall the package over itself, without pip's cache.

    Tried in vain: pip install, which finds the requirement satisfied already.
    """
    for fault in file_faults(facts).values():
        if fault.package != "bitsandbytes" or not only_native(fault):
            yield file_hit(facts, fault)


def file_faults(facts: Facts) -> dict[str, FileFault]:
    """What is ill of each package's files; the look that hashes sees all that the quick one sees."""
    checks = (facts.files, facts.hashes)
    return {fault.package: fault for check in checks if check for fault in check.faults}


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
    is_of_system = facts.interpreter is not None and facts.interpreter.externally_managed
    for twice in facts.packages.duplicates:
        differing = len(set(twice.versions)) > 1
        if is_of_system and not differing:  # Debian's python3-cryptography brings two, and they agree
            continue
        both = " and ".join(dict.fromkeys(twice.versions))
        yield Hit(
            title=f"{twice.package} is registered twice, as {both}",
            severity=None if differing else "warning",
            evidence=(
                Evidence(twice.package, ", ".join(map(os.path.basename, twice.locations)), "one dist-info"),
            ),
            fixes=(lay_down_one(facts, twice),),
        )


def lay_down_one(facts: Facts, twice: Duplicate) -> Fix:
    """Delete every registration but the newest, and lay that release down anew.

    No installer does it alone: a stale dist-info seldom has the RECORD by which it could be uninstalled.
    """
    kept = newest(twice.versions)
    pairs = list(zip(twice.versions, twice.locations, strict=True))
    keep = next((place for version, place in pairs if version == kept), pairs[-1][1])
    stale = tuple(place for _, place in pairs if place != keep)
    again = reinstall(facts, twice.package, kept)
    if facts.interpreter and facts.interpreter.externally_managed:  # the files are the system's
        return again
    title = f"Delete the stale registration of {twice.package} and reinstall {kept or 'it'}"
    return Fix(title, (("rm", "-r", *stale), *again.commands), again.scope, again.verified)


def newest(versions: Iterable[str]) -> str:
    """The highest of some releases, "" where none is a version."""
    known = [(order, text) for text in versions if (order := comparable(text))]
    return max(known)[1] if known else ""


@rule(
    "python/metadata-unreadable",
    "error",
    needs=("packages",),
    symptoms=(
        "UnicodeDecodeError: 'utf-8' codec can't decode",
        "PackageNotFoundError: No package metadata was found",
        "InvalidVersion: Invalid version",
    ),
    cure=lambda facts: (
        Fix("Reinstall the package that the message names, with --force-reinstall --no-deps"),
    ),
)
def metadata_unreadable(facts: Facts) -> Iterator[Hit]:
    """A package's metadata cannot be read

    Why: libraries ask the metadata of others for their versions; where it is gone or garbled they say
    "not installed" of a package that lies there, or die in the asking.

    Fix: reinstall the package.
    """
    assert facts.packages is not None
    for package in facts.packages.installed.values():
        known = not package.version or comparable(package.version) is not None
        fault = package.fault or ("" if known else f"{package.version!r} is no version")
        if fault:
            yield Hit(
                title=f"The metadata of {package.name} cannot be read: {fault}",
                severity="error" if package.name in required_by_stack(facts.packages) else "warning",
                evidence=(Evidence(package.name, fault, "a METADATA file with name and version"),),
                fixes=(reinstall(facts, package.name, package.version if known else ""),),
            )
    for name in facts.packages.unregistered:
        yield Hit(
            title=f"{name} can be imported and is registered nowhere, so nothing tells its version",
            severity="warning",
            evidence=(Evidence(name, "no dist-info", "the metadata of an installed package"),),
            fixes=(install(facts, f"Install {name}", name),),
        )


@rule("python/editable-source-gone", "error", needs=("packages",))
def editable_source_gone(facts: Facts) -> Iterator[Hit]:
    """A package was installed from a folder that is no longer there

    Why: an editable install (pip install -e) holds no code, only the path of its sources. Once that folder
    was moved or deleted, pip still calls the package installed and no import finds it.

    Fix: install it again, from the folder's new place or from the index.

    References:
    https://setuptools.pypa.io/en/latest/userguide/development_mode.html
    """
    assert facts.packages is not None
    for package in facts.packages.installed.values():
        if package.source_gone:
            folder = package.origin.removeprefix("file://")
            yield Hit(
                title=f"{package.name} {package.version} was installed from {folder}, which is gone",
                severity="error" if package.name in required_by_stack(facts.packages) else "warning",
                evidence=(Evidence(package.name, f"no folder {folder}", "the folder of its sources"),),
                fixes=(reinstall(facts, package.name),),
            )


@rule("python/packages-overlap", "warning", needs=("packages",))
def packages_overlap(facts: Facts) -> Iterator[Hit]:
    """Two packages hold the same files

    Why: a fork under another name, as bitsandbytes-windows is, puts its files into the original's folder.
    Whichever was installed last has overwritten the other, and pip sees nothing wrong. To uninstall one
    deletes files of the other.

    Fix: uninstall the fork, then lay the original down anew.

    References:
    https://pypi.org/project/bitsandbytes-windows/
    """
    assert facts.packages is not None
    for one in facts.packages.overlaps:
        ours, theirs = (f"{name} {facts.version_of(name) or ''}".strip() for name in (one.package, one.rival))
        away, again = uninstall(facts, "", one.rival), reinstall(facts, one.package)
        yield Hit(
            title=f"{theirs} was installed over {ours}"
            if one.rival_is_there
            else f"{theirs} holds the same files as {ours}",
            severity="error" if one.rival_is_there else None,
            evidence=(
                Evidence(
                    one.package, f"its files are those of {theirs}" if one.rival_is_there else ours, ours
                ),
                Evidence(one.rival, theirs, "not installed"),
            ),
            fixes=(
                Fix(
                    f"Uninstall {one.rival} and reinstall {one.package}",
                    (*away.commands, *again.commands),
                    again.scope,
                    again.verified,
                ),
            ),
        )


def required_by_stack(packages: Packages) -> set[str]:
    """The stack and the packages whose code was looked at since the stack requires them; all of a file."""
    if packages.wanted:
        return set(packages.installed)
    return {*STACK, *(name for name, package in packages.installed.items() if package.modules)}


@rule(
    "python/leftover-files",
    "note",
    needs=("packages",),
    symptoms=("Ignoring invalid distribution",),
    cure=lambda facts: (Fix("Delete the folders in site-packages whose names begin with ~"),),
)
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
