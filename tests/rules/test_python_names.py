"""Names of the standard library that the target's Python does not have yet, or no more."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import healthy
import pytest
from healthy import SITE, but, raised, trial

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Shadow
from doctor.findings import Subject
from doctor.matrix.platform import table

from .judging import case, check, facts, ids

POLYFILLS = (f"{SITE}/torch/_dynamo/polyfills/sys.py:31 in <module>",)
DIGITS = "module 'sys' has no attribute 'get_int_max_str_digits'"
NAMES = table("python_names")
OURS = sys.version_info[:2]


def on(python: str, said: str, kind: str = "AttributeError", **failure: Any) -> Facts:
    run = raised("import-peft", said, kind, modules=("peft", "torch"), frames=POLYFILLS, **failure)
    return facts(interpreter=but(healthy.FACTS.interpreter, version=python), trial=trial(run))


HITS = {
    "a patch release too old": case(
        "python/too-old-for-package",
        "error",
        on("3.10.4", DIGITS),
        "uses sys.get_int_max_str_digits, which came with Python 3.10.7, and this is 3.10.4",
        seen=(f"at: {POLYFILLS[0]}",),
        command="lora-doctor install .venv-3.12 --python-version 3.12",
        beside=("peft/import-failed",),
    ),
    "a pre-release": case(
        "python/too-old-for-package",
        "error",
        on("3.11.0", DIGITS),
        "which Python 3.11.0 has, and its pre-releases lack",
        beside=("peft/import-failed",),
    ),
    "a release too old": case(
        "python/too-old-for-package",
        "error",
        on(
            "3.10.14",
            "cannot import name 'NotRequired' from 'typing' (/usr/lib/python3.10/typing.py)",
            "ImportError",
        ),
        "uses typing.NotRequired, which came with Python 3.11, and this is 3.10.14",
        beside=("peft/import-failed",),
    ),
    "a module too new": case(
        "python/too-old-for-package",
        "error",
        on("3.10.14", "No module named 'tomllib'", "ModuleNotFoundError"),
        "uses tomllib, which came with Python 3.11",
        beside=("peft/import-failed",),
    ),
    "a release too new": case(
        "python/too-new-for-package",
        "error",
        on("3.12.1", "No module named 'distutils'", "ModuleNotFoundError"),
        "uses distutils, which Python 3.12 dropped, and this is 3.12.1",
        command="setuptools",
        beside=("peft/import-failed",),
    ),
}
# A name that this Python has, is missed for another reason.
OTHERS = {
    "a patch release that has it": on("3.10.14", DIGITS),
    "a later minor release": on("3.12.0", DIGITS),
    "a module that is still being imported": on(
        "3.10.4", "partially initialized " + DIGITS + " (most likely due to a circular import)"
    ),
    "not dropped yet": on("3.11.9", "No module named 'distutils'", "ModuleNotFoundError"),
    "a part of the distutils of setuptools": on(
        "3.12.1", "No module named 'distutils.msvccompiler'", "ModuleNotFoundError"
    ),
    "a file of the user": on("3.12.0", "cannot import name 'override' from 'typing' (/w/typing.py)"),
    "another package that is tried next": on(
        "3.10.4",
        "cannot import name 'override' from 'typing' (/usr/lib/python3.10/typing.py)",
        chain=(
            ("ImportError", "cannot import name 'override' from 'typing' (/usr/lib/python3.10/typing.py)"),
            (
                "ImportError",
                "cannot import name 'override' from 'typing_extensions' (/v/typing_extensions.py)",
            ),
        ),
    ),
    "a module that a file hides": but(
        on("3.10.4", "module 'enum' has no attribute 'StrEnum'"),
        packages=but(
            healthy.FACTS.packages,
            shadows=(Shadow(module="enum", path="/w/enum.py", entry="working folder"),),
        ),
    ),
    "no name of the standard library": on("3.10.4", "No module named 'torchvision'", "ModuleNotFoundError"),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_miss(name: str) -> None:
    assert not [id for id in ids(OTHERS[name]) if id.endswith("-for-package")]


@pytest.mark.parametrize("name", ["itertools.batched", "enum.StrEnum", "sys.get_int_max_str_digits"])
def test_what_fails_for_want_of_it_is_its_symptom(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    missed = on("3.10.4", f"module {module!r} has no attribute {attribute!r}")
    echo = raised(  # of the module that stays half imported
        "import-transformers",
        "Duplicate dispatch rule for <built-in function intern>",
        "ValueError",
        frames=(POLYFILLS[0].replace(":31", ":19"), f"{SITE}/torch/_dynamo/decorators.py:1026 in wrapper"),
    )
    assert missed.trial is not None
    found = diagnose(but(missed, trial=trial(*missed.trial.runs, echo)), Subject(kind="live", name="x"))
    (cause,) = found.findings
    assert (cause.id, cause.breaks) == ("python/too-old-for-package", ("import-transformers", "import-peft"))
    assert {one.id for one in cause.symptoms} == {"transformers/import-failed", "peft/import-failed"}


def there(name: str) -> bool:
    """Is a name of the table there in this Python?"""
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        if not module:
            return False
        try:
            return hasattr(importlib.import_module(module), attribute)
        except ImportError:
            return False
    return True


@pytest.mark.parametrize("name", NAMES["since"])
def test_a_name_came_when_the_table_says(name: str) -> None:
    first = min(tuple(map(int, one.split(".")[:2])) for one in NAMES["since"][name])
    assert there(name) == (first <= OURS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", sorted({*NAMES["gone"]} - {"distutils"}))  # setuptools has its own
def test_a_name_went_when_the_table_says(name: str) -> None:
    dropped = tuple(map(int, NAMES["gone"][name].split(".")))
    assert there(name) == (dropped > OURS)
