"""``fix --apply`` cures every fault of the zoo that lies in the environment, and touches nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from sandboxes import NoSuchPython

from .curing import Cure, cured
from .environment import faulty
from .lab import Lab
from .runs import AT_A_TIME
from .table import cure_of

pytestmark = pytest.mark.environments
# Faults of Python itself, which is not the environment's to repair: another environment is made.
BEYOND_PACKAGES = {"sitecustomize_exits", "interpreter_gone"}

Cured = Callable[[str], Cure]


@pytest.fixture(scope="module")
def cure(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Cured]:
    """The cure of one environment, made once; those that the collected tests ask for are begun at once."""
    pool = ThreadPoolExecutor(AT_A_TIME)
    begun: dict[str, Future[Cure]] = {}

    def asked(name: str) -> Cure:
        if name not in begun:
            begun[name] = pool.submit(cured, lab, name)
        try:
            return begun[name].result()
        except NoSuchPython as absent:
            pytest.skip(str(absent))

    for item in request.session.items:
        if item.path == request.path and hasattr(item, "callspec"):
            name = item.callspec.params["name"]
            begun.setdefault(name, pool.submit(cured, lab, name))
    yield asked
    pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", faulty())
def test_what_lies_in_the_environment_is_cured(
    name: str, cure: Cured, record_property: Callable[[str, object], None]
) -> None:
    found = cure(name)
    record_property("cure", cure_of(found))
    if not found.steps:  # the cure is a variable, a script's, the system's, or a new environment
        assert found.scopes <= {"setting", "script", "system", "hardware"} or name in BEYOND_PACKAGES
        assert found.scopes
        return
    assert found.state == "cured", found.words
    assert found.is_well, found.after and found.after.report["findings"][:1]
    assert found.left_running == ()


@pytest.mark.parametrize("name", faulty())
def test_nothing_changes_but_what_the_plan_names(name: str, cure: Cured) -> None:
    found = cure(name)
    if not found.steps:
        return
    assert found.rounds, found.words
    assert found.changed <= found.named | found.brought, (found.changed, found.named, found.brought)
