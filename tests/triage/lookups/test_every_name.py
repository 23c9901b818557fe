"""What the tables say of a name in a release is what a paste of that release is told."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.matrix.api import exports, history, parameter_history
from doctor.matrix.api_table import package_of, table_of
from doctor.triage.lookups.attributes import TOP
from tests.triage.lookups.pastes import case_of, ids, user_frame

STALE = "python/stale-or-other-environment"
REMOVED = {
    "transformers": "transformers/removed-symbol",
    "trl": "trl/removed-symbol",
    "huggingface-hub": "huggingface-hub/removed-symbol",
}


@cache
def bounded_names(module: str) -> tuple[str, ...]:
    """The public names of a module that came or went within the table."""
    table = table_of(package_of(module))
    words = {word.partition("@")[0] for word in table.modules[module].split(" ")[1:]} if table else set()
    names = sorted(word for word in words if word.isidentifier() and not word.startswith("_"))
    return tuple(
        name for name in names if any(one.introduced != "0" or one.fixed for one in history(module, name))
    )


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, str, str]:
    """A module, a name of it, and a release of its package."""
    module = draw(st.sampled_from([module for module in TOP if bounded_names(module)]))
    table = table_of(package_of(module))
    assert table
    return module, draw(st.sampled_from(bounded_names(module))), draw(st.sampled_from(table.releases))


@given(asked())
def test_a_name_that_people_import_is_told_as_the_tables_have_it(one: tuple[str, str, str]) -> None:
    module, name, version = one
    package, lives = package_of(module), history(module, name)
    message = f"ImportError: cannot import name '{name}' from '{module}'"
    case = case_of(message, {package: version}, (user_frame(f"from {module} import {name}"),))
    if exports(module, name, version):
        wanted = STALE
    elif any(
        life.fixed and life.contains(life.introduced) and not is_ahead(version, life.fixed) for life in lives
    ):
        wanted = REMOVED.get(package, "script/removed-symbol")
    else:
        wanted = f"{package}/too-old"
    assert ids(case) == [wanted]


def is_ahead(version: str, bound: str) -> bool:
    """Does a release come before a bound?"""
    from packaging.version import Version

    return Version(version) < Version(bound)


@pytest.mark.parametrize(
    "owner", ["trl.SFTTrainer", "trl.SFTConfig", "transformers.TrainingArguments", "transformers.Trainer"]
)
def test_every_argument_that_a_callable_lost_is_told_as_removed(owner: str) -> None:
    table = table_of(package_of(owner))
    assert table
    words = {word.split("@")[0].strip("=~.") for word in table.callables[owner].split(" ")[1:]}
    for keyword in sorted(word for word in words if word.isidentifier()):
        ends = [life.fixed for life in parameter_history(owner, keyword) if life.fixed]
        if len(parameter_history(owner, keyword)) != 1 or not ends:
            continue
        package, short = package_of(owner), owner.rpartition(".")[2]
        message = f"TypeError: {short}.__init__() got an unexpected keyword argument '{keyword}'"
        case = case_of(message, {package: ends[0]}, (user_frame(f"{short}({keyword}=1)"),))
        # Stale where a class that it derives from still takes it.
        assert ids(case) in ([f"{package}/removed-argument"], [STALE]), keyword
