"""Targets whose packages were put there by one installer or by two, and steps to say to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import healthy
import msgspec
from healthy import but, facts, packages

from doctor.facts import Facts, System
from doctor.treatment.plan import Step

CU126 = "https://download.pytorch.org/whl/cu126"


def made_by(
    installer: str, kind: str = "venv", others: Mapping[str, str] | None = None, **interpreter: Any
) -> Facts:
    """The healthy facts with everything put there by one installer, but for the ``others``."""
    found = {
        name: but(one, installer=(others or {}).get(name, installer))
        for name, one in packages().installed.items()
    }
    return facts(
        packages=but(packages(), installed=found),
        interpreter=but(healthy.FACTS.interpreter, kind=kind, **interpreter),
    )


PIP, UV, CONDA = made_by("pip"), made_by("uv", has_pip=False), made_by("conda", kind="conda")


def on_system(**given: Any) -> System:
    """The healthy system, but for what is given."""
    assert healthy.FACTS.system
    return msgspec.structs.replace(healthy.FACTS.system, **given)


def step(kind: Any, *names: str, **given: Any) -> Step:
    """A step of packages."""
    return Step(
        title="Change them", kind=kind, scope="environment", cures=("a/fault",), packages=names, **given
    )


def setting(variable: str, value: str | None) -> Step:
    """A step that sets a variable."""
    return Step(
        title="Set it", kind="set", scope="setting", cures=("a/fault",), variable=variable, value=value
    )


TORCH = step("install", "torch==2.6.0+cu126", index_url=CU126, replaces={"torch": "2.13.0+cu130"})
PEFT = step("install", "peft==0.18.0", "huggingface-hub>=0.30,<1", replaces={"peft": "0.17.1"})
ANEW = step("anew", "bitsandbytes==0.46.0")
GONE = step("remove", "torch-xla")
