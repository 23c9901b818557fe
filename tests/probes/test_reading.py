"""The sources of an environment read through the host: a fork that lacks a name, and one that has it."""

from __future__ import annotations

import pytest

from doctor.facts import Package
from doctor.probes.reading import HostTree, distribution, followed, told
from doctor.static.outcomes import Undecided
from doctor.static.world import World
from tests.fakes import FakeHost

SITE = "/env/site"
ACCELERATE = {"accelerate/__init__.py": "from .accelerator import Accelerator\n"}
WHOLE = {**ACCELERATE, "accelerate/accelerator.py": "class Accelerator: ...\n"}


def package(name: str, **more: object) -> Package:
    return Package(**{"name": name, "version": "1.0", "location": SITE, "installer": "pip", **more})


def host(files: dict[str, str], site: str = SITE) -> FakeHost:
    return FakeHost(files={f"{site}/{path}": text for path, text in files.items()})


def read(host: FakeHost, **more: object) -> dict[str, str]:
    world = World((distribution(host, package("accelerate", modules=("accelerate",), **more)),))
    return {stage: told(stage, outcome).outcome for stage, outcome in followed(world).items()}


def test_a_name_that_is_there() -> None:
    assert read(host(WHOLE))["import-accelerate"] == "ok"


def test_a_name_that_is_not_there_is_told_with_its_place() -> None:
    broken = {**ACCELERATE, "accelerate/accelerator.py": "class Other: ...\n"}
    world = World((distribution(host(broken), package("accelerate", modules=("accelerate",))),))
    run = told("import-accelerate", followed(world)["import-accelerate"])
    assert run.failure is not None
    assert run.failure.chain[0] == (
        "ImportError",
        "cannot import name 'Accelerator' from 'accelerate.accelerator'",
    )
    assert run.failure.frames == ("accelerate/__init__.py:1",)


@pytest.mark.parametrize("below", ["", "/src"])
def test_an_editable_install_is_read_where_its_checkout_lies(below: str) -> None:
    assert read(host(WHOLE, f"/home/me/fork{below}"), editable=True, origin="file:///home/me/fork") == read(
        host(WHOLE)
    )


def test_what_the_sources_do_not_tell_is_no_pass() -> None:
    run = told("import-peft", Undecided("the budget was spent"))
    assert (run.outcome, run.blocked_by) == ("blocked", "the sources do not tell: the budget was spent")


def test_a_tree_names_and_reads() -> None:
    tree = HostTree(host(WHOLE), SITE)
    assert list(tree.names("accelerate")) == ["__init__.py", "accelerator.py"]
    assert tree.read("accelerate/accelerator.py") == "class Accelerator: ...\n"
    assert tree.read("accelerate/absent.py") is None
