"""The requests that resolve is tried on."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts lock files as POSIX does")
if sys.platform != "win32":
    from sandboxes import torch_requirement
    from verify_resolve import REQUESTS, Request, constraints


def test_twelve_requests_of_many_pythons_and_pins() -> None:
    assert len(set(REQUESTS)) == 12
    assert len({request.python for request in REQUESTS}) == 5
    assert sum(bool(request.pins) for request in REQUESTS) >= 8


def test_the_pinned_torch_is_asked_for_where_there_is_one() -> None:
    torch = torch_requirement().partition("+")[0]
    assert constraints(Request("3.11", ("peft==0.17.1",))) == ("peft==0.17.1", torch)
    assert constraints(Request("3.9")) == ()
