"""The rows of names that the api tables do not hold make sense."""

from __future__ import annotations

import pytest

from doctor.matrix.api import history
from doctor.matrix.api_table import package_of
from doctor.matrix.releases import release
from doctor.triage.lookups.architectures import model_types
from doctor.triage.lookups.asking import REMOTE
from doctor.triage.lookups.further_names import Further, by_path
from doctor.versions import comparable

ROWS = sorted(set(by_path().values()), key=lambda row: (row.module, row.names))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.module}: {row.names[0]}")
def test_a_row_has_a_bound_that_is_a_release(row: Further) -> None:
    package = row.package or package_of(row.module)
    bounds = [bound for bound in (row.introduced if row.introduced != "0" else None, row.fixed) if bound]
    assert bounds
    assert all(release(package, bound) or comparable(bound) for bound in bounds)
    assert row.asker in ("", REMOTE) or row.asker.islower()


@pytest.mark.parametrize("path", sorted(by_path()))
def test_no_row_says_what_the_tables_say(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert history(module, name) == ()


def test_model_types_are_those_of_releases() -> None:
    known = model_types()
    assert known["gemma3"].introduced == "4.50.0" and known["qwen3"].introduced == "4.51.0"
    assert all(life.introduced == "0" or release("transformers", life.introduced) for life in known.values())
