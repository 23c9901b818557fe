"""What a case tells of packages: their releases, their days, what people say they did."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.matrix.releases import release
from doctor.triage.case import Case
from doctor.triage.suspects import Suspect
from doctor.triage.suspects.telling import Test, any_of, by_rule, certainly, opposite, says, untold
from doctor.versions import comparable

STALE = "python/stale-or-other-environment"

SAYS_INSTALLED = says(
    r"re:(?i:already (?:been )?installed|is installed)",
    r"re:(?i:have (?:it |already |successfully )?installed)",
    r"re:(?i:installed (?:it|the (?:latest|required|newest)))",
    r"re:(?i:requirement already satisfied)",
    r"re:(?i:(?:still|keeps?) (?:get|getting|see|throwing|the same|says|showing|complain))",
    r"re:(?i:(?:even|although|though|despite) [^\n]{0,60}install)",
    r"re:(?i:(?:tried|after) [^\n]{0,40}pip install)",
    r"re:已经?安装|重新安装|还是(?:报|不行|一样)|仍然",
)
SAYS_RESTART = says(
    r"re:(?i:restart(?:ed|ing)? (?:the |my |your )?(?:kernel|runtime|session|notebook|colab))"
)


def is_before(package: str, bound: str) -> Test:
    """Is a package older than a release? None where its version is not told."""

    def holds(case: Case) -> bool | None:
        have, limit = comparable(case.version(package) or ""), comparable(bound)
        return have < limit if have and limit else None

    return holds


def is_from(package: str, bound: str) -> Test:
    """Is a package of a release, or newer?"""
    return opposite(is_before(package, bound))


def days(case: Case) -> Iterator[str]:
    """The day on which each release was published that is told of and that the tables know."""
    for name, package in (case.facts.packages.installed if case.facts.packages else {}).items():
        if found := release(name, package.version):
            yield found.uploaded


def is_all_before(day: str) -> Test:
    """Is everything that is told of older than a day, "2023-07"? None where nothing has one."""

    def holds(case: Case) -> bool | None:
        newest = max(days(case), default="")
        return newest < day if newest else None

    return holds


def unless(test: Test) -> Test:
    """What a test excludes where it holds, and else leaves open."""
    return lambda case: False if test(case) else None


def is_absent(package: str) -> Test:
    """Is a package said not to be installed? False where a version of it is told."""

    def holds(case: Case) -> bool | None:
        packages = case.facts.packages
        if packages and package in packages.absent:
            return True
        return False if case.version(package) else None

    return holds


def has(package: str) -> Test:
    """Is a version of a package told?"""
    return opposite(is_absent(package))


def names(word: str) -> Test:
    """Does the text name it? That it does not excludes nothing."""
    return lambda case: case.mentions(word) or None


def missing_or_mixed(package: str) -> tuple[Suspect, ...]:
    """A package that is asked for: absent, or there and not seen by what runs."""
    return (
        Suspect(f"{package}/missing", certainly(is_absent(package)), f"{package} is not installed"),
        Suspect(
            f"{package}/too-old",
            certainly(by_rule(f"{package}/too-old")),
            f"{package} is older than others accept, who then call it absent",
        ),
        Suspect(STALE, certainly(has(package)), f"a release of {package} is told as installed"),
        Suspect(STALE, certainly(any_of(SAYS_INSTALLED, SAYS_RESTART)), "it is said to be installed"),
        Suspect(f"{package}/missing", untold),
        Suspect(STALE, untold),
    )
