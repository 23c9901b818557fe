"""What was told from the files alone, held against what a process maps that loads them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.host import LocalHost
from doctor.probes import Looks, linkage
from doctor.target import Target as Patient

from .environment import Target, built
from .lab import Lab, Venv
from .linking import CASES
from .running import run_environment

CHILD = Path(__file__).with_name("loading_child.py")
# What the doctor tells of, of the files that are mapped.
TOLD = re.compile(r"/lib(?!(?:c|m|dl|rt|pthread|util)\.so)[^/]*\.so[.\d]*$")
NAMES = [f"linking_{name}" for name in CASES]
pytestmark = pytest.mark.environments


def told_of(target: Target) -> dict[str, Any]:
    """What the doctor tells of linking, symbols included, which a quick check leaves out."""
    host = LocalHost()
    host.env = run_environment(target, "telling")
    try:
        told: dict[str, Any] = msgspec.to_builtins(
            linkage.probe(Looks(host, Patient(str(target.python), "")))
        )
    finally:
        host.close()
    return told


def really_loaded(target: Target) -> dict[str, Any]:
    """What the child mapped; what it had told before where it died."""
    done = subprocess.run(
        [str(target.python), str(CHILD)],
        env=run_environment(target, "loading"),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"torch"')]
    nothing = {"torch": False, "objects": [], "library": None, "mapped": []}
    last: dict[str, Any] = json.loads(lines[-1]) if lines else nothing
    return last if done.returncode == 0 or not lines else {**last, "library": None}


def fails(library: dict[str, Any]) -> bool:
    """Was it told that the loader refuses this library?"""
    return bool(library["fault"]) or any(not one["path"] or one["fault"] for one in library["dependencies"])


def paths(library: dict[str, Any]) -> set[str]:
    """The files that were told, as the kernel would show them."""
    told = [library["path"], *(one["path"] for one in library["dependencies"])]
    return {path for path in told if TOLD.search(path)}


def agreement(linked: dict[str, Any], real: dict[str, Any]) -> None:
    """Hold the telling against the loading, as far as the loading came."""
    told = {library["package"]: library for library in linked["libraries"]}
    torch, choice, ours = told["torch"], linked["choice"], told.get("bitsandbytes")
    assert fails(torch) is not real["torch"], real
    if not real["torch"]:
        return
    assert paths(torch) - set(real["objects"]) == set()
    selected = choice["library"] if choice["is_there"] else None
    assert real["library"] == (selected if ours and not fails(ours) else None), real
    if ours and real["library"]:
        assert paths(ours) - set(real["mapped"]) == set()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_is_what_is_mapped(lab: Lab, name: str) -> None:
    with built(lab, name) as target:
        agreement(told_of(target), really_loaded(target))


# NCCL's symbols carry no versions: that the other one lacks some, the loader alone sees.
UNTOLD = ("nccl_of_another_cuda",)


@pytest.mark.cuda_torch
@pytest.mark.parametrize("name", [name for name in CASES if name not in UNTOLD])
def test_torch_s_own_cuda_build_links_as_told(lab: Lab, name: str) -> None:
    real = Venv(Path(os.environ["LORA_DOCTOR_CUDA_TORCH"]))
    try:
        target = CASES[name].made(lab, real.copy_to(lab.folder() / "venv"))
        agreement(told_of(target), really_loaded(target))
    finally:
        lab.clear()
