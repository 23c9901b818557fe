"""What a user would paste of real environments: triage names what ``check`` names in them."""

from __future__ import annotations

import json

import pytest
from triage.said import EXPECTED, FOLDER, SILENT, wanted

from doctor.facts import Facts
from doctor.triage.judging import judge
from doctor.triage.reading import read

from .environment import ENVIRONMENTS
from .lab import Lab
from .saying import paste_of, script_of

pytestmark = pytest.mark.environments

# Those without words, and machines of stubs in which nothing runs but nvidia-smi, are told by their captures.
SPOKEN = [name for name in ENVIRONMENTS if name not in SILENT and script_of(name)]
FAILING = [name for name in SPOKEN if ENVIRONMENTS[name].expected.code == 1]


@pytest.fixture(scope="module")
def is_writing(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-zoo", default=False))


@pytest.mark.parametrize("name", FAILING)
def test_the_words_of_an_environment_name_its_fault(lab: Lab, name: str, is_writing: bool) -> None:
    paste = paste_of(lab, name)
    if is_writing:
        (FOLDER / f"{name}.txt").write_text(paste, encoding="utf-8")
    report = judge(read(paste, Facts()), name)
    assert report.primary == wanted(name, ENVIRONMENTS[name].expected.primary)


def test_the_captures_are_of_these_environments(is_writing: bool) -> None:
    primaries = {name: one.expected.primary for name, one in ENVIRONMENTS.items()}
    if is_writing:
        EXPECTED.write_text(json.dumps(primaries, indent=0) + "\n", encoding="utf-8")
    kept = json.loads(EXPECTED.read_text(encoding="utf-8"))
    assert set(kept) == set(primaries)
