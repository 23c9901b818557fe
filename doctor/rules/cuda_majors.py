"""CUDA libraries of two majors side by side: what is left over, and what took another's place."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import name_of, reinstall, uninstall
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule
from doctor.rules.linked import NvidiaWheel, nvidia_wheels, torch_major
from doctor.rules.packages import file_faults

Pair = tuple[NvidiaWheel | None, list[NvidiaWheel]]


def pairs(facts: Facts) -> dict[str, Pair]:
    """By what they bring, the wheel of torch's CUDA major and those of others."""
    major, found = torch_major(facts), dict[str, Pair]()
    for wheel in nvidia_wheels(facts) if major else ():
        own, others = found.get(wheel.stem, (None, []))
        found[wheel.stem] = (wheel, others) if wheel.major == major else (own, [*others, wheel])
    return found


def is_ill(facts: Facts, wheel: NvidiaWheel) -> bool:
    """Are files of this wheel missing or other than it installed?"""
    return wheel.package.name in file_faults(facts)


def is_overwritten(facts: Facts, stem: str) -> bool:
    """Do the wheels of two CUDA majors share the files of this one, and are they ill?"""
    own, others = pairs(facts).get(stem, (None, []))
    return bool(own and others and is_ill(facts, own))


def overwritten(facts: Facts, own: NvidiaWheel, others: list[NvidiaWheel]) -> Hit:
    """A wheel of torch's whose files a wheel of another CUDA replaced, or took away."""
    fault, other = file_faults(facts)[own.package.name], others[0].package
    lost = bool(fault.missing_count)
    named = (*fault.missing, *fault.altered)[0]
    verb = "lacks files that" if lost else "has its files replaced by"
    return Hit(
        title=f"{own.package.name} {own.package.version} {verb} {other.name} {other.version}"
        + (" brings as well" if lost else ""),
        severity="error",
        evidence=(
            Evidence(
                own.package.name, f"{named} {'missing' if lost else 'not as installed'}", "as in RECORD"
            ),
            Evidence(other.name, other.version, f"not beside CUDA {own.major}"),
        ),
        fixes=(alone(facts, own, others),),
    )


def alone(facts: Facts, own: NvidiaWheel, others: list[NvidiaWheel]) -> Fix:
    """Uninstall the wheels of the other CUDA; torch's own comes after, for they share their files."""
    names = [wheel.package.name for wheel in others]
    gone = uninstall(facts, "", *names)
    anew = reinstall(facts, own.package.name)
    title = f"Uninstall {', '.join(names)}, then reinstall {own.package.name}"
    return Fix(title, (*gone.commands, *anew.commands), "environment", verified=False)


@rule("cuda/mixed-majors", "note", needs=("packages", "torch", "files"), breaks=("import-torch",))
def mixed_majors(facts: Facts) -> Iterator[Hit]:
    """CUDA libraries of two majors are installed side by side

    Why: pip leaves the wheels of the old CUDA behind when torch changes to another. Most lie in folders of
    their own and only fill the disk. Those of cuDNN, NCCL, NVSHMEM and cuSPARSELt have one file name for
    every CUDA: the last one installed wins, and uninstalling one takes the other's files away.

    Fix: uninstall those that nothing needs, then reinstall torch's own of the four.

    References: https://github.com/sgl-project/sglang/pull/31035
    """
    found = pairs(facts)
    for stem, (own, others) in found.items():
        if own and others and stem != "nvidia-nccl" and is_ill(facts, own):
            yield overwritten(facts, own, others)
            return
    left = [wheel for _, others in found.values() for wheel in others if not is_needed(facts, wheel)]
    if left:
        majors = " and ".join(str(major) for major in sorted({wheel.major for wheel in left}))
        names = [f"{wheel.package.name} {wheel.package.version}" for wheel in left]
        yield Hit(
            title=f"{len(left)} packages of CUDA {majors} lie beside a torch for CUDA {torch_major(facts)}",
            breaks=(),
            evidence=(Evidence("packages", ", ".join(names[:4]), "none that nothing needs"),),
        )


def is_needed(facts: Facts, wheel: NvidiaWheel) -> bool:
    """Does an installed package ask for this wheel, other wheels of NVIDIA aside?"""
    installed = facts.packages.installed if facts.packages else {}
    return any(
        name_of(requirement) == wheel.package.name
        for package in installed.values()
        if not package.name.startswith("nvidia-")
        for requirement in package.requires
    )
