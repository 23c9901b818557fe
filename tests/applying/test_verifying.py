"""What a dry run says of each step."""

from __future__ import annotations

import healthy
from fakes import FakeHost, ended

from doctor.applying.verifying import verified
from doctor.treatment.plan import Kind, Plan, Step

UV = ("uv", "pip", "install", "--python", healthy.PYTHON)


def step(kind: Kind, *packages: str, command: tuple[str, ...] = ()) -> Step:
    return Step(
        title="",
        kind=kind,
        scope="environment",
        cures=(),
        packages=packages,
        commands=(command,) if command else (),
    )


def test_each_install_is_asked_about_beside_the_torch_that_comes_before_it() -> None:
    torch = step(
        "install", "torch==2.13.0+cu130", command=(*UV, "torch==2.13.0+cu130", "--index-url", "https://i")
    )
    peft = step("install", "peft==0.18.0", command=(*UV, "peft==0.18.0"))
    gone = step("remove", "triton", command=("uv", "pip", "uninstall", "triton"))
    host = FakeHost().on("uv", "pip", "install", "--dry-run", replies=ended("", "Would install\n"))
    plan = verified(
        host, Plan(tool_version="0", target=healthy.PYTHON, language="uv", steps=(gone, torch, peft))
    )
    assert [one.verified for one in plan.steps] == [None, True, True]
    assert [call.argv[-1] for call in host.calls] == ["https://i", "torch==2.13.0"]


def test_a_refusal_is_told_in_the_installers_words() -> None:
    host = FakeHost().on("uv", "pip", "install", "--dry-run", replies=ended("", "no such release\n", 1))
    peft = step("install", "peft==9", command=(*UV, "peft==9"))
    plan = verified(host, Plan(tool_version="0", target=healthy.PYTHON, language="uv", steps=(peft,)))
    assert (plan.steps[0].verified, plan.steps[0].said) == (False, "no such release")
