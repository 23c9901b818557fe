"""The commands that install a set."""

from __future__ import annotations

import pytest

from doctor.installation import index_of, install_set, labelled

PINS = {"torch": "2.13.0", "peft": "0.21.2"}
INDEX = "https://download.pytorch.org/whl/cu126"
PIP = ("/env/bin/python", "-m", "pip", "install")


@pytest.mark.parametrize(
    ("variant", "os", "arch", "torch", "index"),
    [
        ("cu126", "linux", "x86_64", "torch==2.13.0+cu126", INDEX),
        ("cu126", "linux", "aarch64", "torch==2.13.0+cu126", INDEX),
        ("cpu", "linux", "x86_64", "torch==2.13.0+cpu", "https://download.pytorch.org/whl/cpu"),
        ("cpu", "linux", "aarch64", "torch==2.13.0", "https://download.pytorch.org/whl/cpu"),
        ("cpu", "win32", "x86_64", "torch==2.13.0+cpu", "https://download.pytorch.org/whl/cpu"),
        ("cpu", "darwin", "aarch64", "torch==2.13.0", ""),
    ],
)
def test_the_label_and_the_index_of_torch(variant: str, os: str, arch: str, torch: str, index: str) -> None:
    assert labelled(PINS, variant, os, arch) == (torch, "peft==0.21.2")
    assert index_of(variant, os) == index


def test_torch_comes_from_its_own_index_and_the_rest_does_not() -> None:
    assert install_set(("torch==2.13.0+cu126", "peft==0.21.2"), INDEX, PIP) == (
        (*PIP, "torch==2.13.0+cu126", "--index-url", INDEX),
        (*PIP, "peft==0.21.2"),
    )
    assert install_set(("torch==2.13.0", "peft==0.21.2"), "", PIP) == (
        (*PIP, "torch==2.13.0", "peft==0.21.2"),
    )
