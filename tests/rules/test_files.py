"""Faults of what a file asks for, and what comes near them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import but

from doctor.facts import Facts, Package, Packages
from doctor.wanted import Note, Requirement, Wanted

from .judging import case, check, facts, ids, of


def asks(*requirements: str, form: Any = "open", notes: tuple[Note, ...] = (), **more: Any) -> Facts:
    """A file that asks for these pins, and nothing else known of what it would bring in."""
    named = [one.split("==") for one in requirements]
    wanted = Wanted(
        file="r.txt",
        form=form,
        requirements=tuple(
            Requirement(
                name=name, specifier=f"=={version}", text=f"{name}=={version}", file="r.txt", line=line
            )
            for line, (name, version) in enumerate(named, 1)
        ),
        notes=notes,
    )
    installed = {
        name: Package(name=name, version=version, location="", installer="") for name, version in named
    }
    return facts(
        packages=Packages(installed=installed, wanted=wanted, **more),
        files=None,
        trial=None,
        torch=None,
        torch_runtime=None,
        bitsandbytes=None,
        bitsandbytes_runtime=None,
        hashes=None,
    )


def with_range(specifier: str, **more: Any) -> Facts:
    """A pin of transformers beside a range of peft, of which 0.21.2 would be taken."""
    given = asks("transformers==5.24.0", "peft==0.21.2", **more)
    assert given.packages and given.packages.wanted
    pin, _ = given.packages.wanted.requirements
    ranged = Requirement(name="peft", specifier=specifier, text=f"peft{specifier}", file="r.txt", line=2)
    wanted = but(given.packages.wanted, requirements=(pin, ranged))
    return but(given, packages=but(given.packages, wanted=wanted))


HITS = {
    "pins that contradict each other": case(
        "python/unresolvable-requirements",
        "error",
        asks("torch==2.6.0", conflicts=("torch 2.6.0 requires triton<3, and triton==3.2 is asked for",)),
        "No installer can satisfy this file: torch 2.6.0 requires triton<3",
        seen=("torch: torch==2.6.0",),
    ),
    "a chain of reasons": case(
        "python/unresolvable-requirements",
        "error",
        asks("torch==2.6.0", conflicts=("numpy<1 is asked for", "torch 2.6.0 requires numpy>=1")),
        "this file: numpy<1 is asked for, and torch 2.6.0 requires numpy>=1",
        seen=("because: torch 2.6.0 requires numpy>=1",),
    ),
    "a torch for older Pythons": case(
        "python/no-wheel-for-version",
        "error",
        but(asks("torch==2.1.0"), interpreter=but(healthy.FACTS.interpreter, version="3.13")),
        "torch 2.1.0 does not install on Python 3.13",
    ),
    "a package that refuses the Python": case(
        "python/no-wheel-for-version",
        "error",
        but(asks("transformers==5.24.0"), interpreter=but(healthy.FACTS.interpreter, version="3.9")),
        "transformers 5.24.0 does not install on Python 3.9: it wants Python >=3.1",
    ),
    "a range that admits what breaks": case(
        "python/range-too-wide",
        "warning",
        with_range(">=0.7"),
        "peft>=0.7 admits 0.17.1, which breaks beside today's releases",
        seen=(">=0.18.0",),
    ),
    "a line that was meant for the stack": case(
        "python/line-not-understood",
        "warning",
        asks("numpy==2.0.0", notes=(Note(file="b.txt", line=2, text="'torch==x' is no requirement"),)),
        "Line 2 of b.txt was left out: 'torch==x' is no requirement",
    ),
    "a line that is no requirement": case(
        "python/line-not-understood",
        "note",
        asks("numpy==2.0.0", notes=(Note(file="r.txt", line=2, text="'?' is no requirement"),)),
        "Line 2 was left out: '?' is no requirement",
    ),
}

MISSES = {
    "a file that is in order": asks("transformers==5.24.0", "peft==0.21.2"),
    "a Python that has wheels": asks("torch==2.6.0"),
    "a package that no table has": asks("no-such-thing==99.0"),
    "a range above the fault": with_range(">=0.18"),
    "a range without a lower bound": with_range("<1"),
    "a lock, which has no ranges": with_range(">=0.7", form="locked"),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


def test_a_file_lacks_nothing_that_another_may_ask_for() -> None:
    """What an environment would be blamed for."""
    given = asks("peft==0.21.2")
    assert given.packages and given.packages.wanted
    needy = but(given.packages.installed["peft"], requires=("transformers", "numpy>=1.17"))
    assert ids(but(given, packages=but(given.packages, installed={"peft": needy}))) == []


def test_a_pin_without_a_wheel_is_no_contradiction_besides() -> None:
    given = asks("torch==2.1.0", conflicts=("torch==2.1.0 is asked for", "torch 2.1.0 has no wheel"))
    old = but(given, interpreter=but(healthy.FACTS.interpreter, version="3.13"))
    assert ids(old) == ["python/no-wheel-for-version"]


def test_the_way_out_is_the_next_release_with_a_wheel() -> None:
    finding = of("python/no-wheel-for-version", HITS["a torch for older Pythons"][2])
    assert finding.fixes[0].title.endswith("change torch==2.1.0 to torch>=2.5.0 in line 1")
