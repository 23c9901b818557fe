"""What commands change, read as the rules write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.treatment.changes import Change, changes_of
from doctor.treatment.plan import Command

PIP = ("/env/bin/python", "-m", "pip")
INDEX = "https://download.pytorch.org/whl/cu126"
UV = ("uv", "pip", "install", "--python", "/env/bin/python")


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (((*PIP, "install", "peft>=0.18.0"),), (Change("install", ("peft>=0.18.0",)),)),
        (
            ((*PIP, "install", "torch==2.7.1", "--index-url", INDEX),),
            (Change("install", ("torch==2.7.1",), index_url=INDEX),),
        ),
        (
            ((*PIP, "install", "--force-reinstall", "--no-deps", "numpy==2.4.1"),),
            (Change("anew", ("numpy==2.4.1",)),),
        ),
        (((*UV, "--reinstall-package", "numpy", "numpy==2.4.1"),), (Change("anew", ("numpy==2.4.1",)),)),
        (((*PIP, "uninstall", "-y", "flash-attn"),), (Change("remove", ("flash-attn",)),)),
        (
            (("uv", "pip", "uninstall", "--python", "/env/bin/python", "a", "b"),),
            (Change("remove", ("a", "b")),),
        ),
        (
            (("conda", "install", "-p", "/env", "--force-reinstall", "numpy==2.4.1"),),
            (Change("anew", ("numpy==2.4.1",)),),
        ),
        ((("conda", "remove", "-p", "/env", "numpy"),), (Change("remove", ("numpy",)),)),
        ((("/env/bin/python", "-m", "ensurepip"), (*PIP, "install", "a")), (Change("install", ("a",)),)),
        (
            (("export", "CUDA_VISIBLE_DEVICES=0,1"),),
            (Change("set", variable="CUDA_VISIBLE_DEVICES", value="0,1"),),
        ),
        ((("rm", "-r", "/site/a-1.dist-info"),), (Change("delete", paths=("/site/a-1.dist-info",)),)),
        ((("export", "A=b=c"),), (Change("set", variable="A", value="b=c"),)),
        ((("unset", "BNB_CUDA_VERSION"),), (Change("set", variable="BNB_CUDA_VERSION"),)),
    ],
)
def test_known_commands(commands: tuple[Command, ...], expected: tuple[Change, ...]) -> None:
    assert changes_of(commands) == expected


@pytest.mark.parametrize(
    "commands",
    [
        (),
        (("nvidia-smi",),),
        (("sudo", "reboot"),),
        ((*PIP, "install"),),
        ((*PIP, "install", "--target", "/elsewhere", "a"),),
        ((*PIP, "download", "a"),),
        ((*PIP, "install", "a"), ("rm", "-rf", "/env/lib")),
        (("/env/bin/python", "-m", "ensurepip"),),
        ((),),
        (("rm", "-r", "/"),),
        (("rm", "-r", "/site/a-1.dist-info", "/etc"),),
        (("rm", "-r"),),
    ],
)
def test_what_is_not_known_is_for_a_person(commands: tuple[Command, ...]) -> None:
    assert changes_of(commands) is None


@given(st.lists(st.lists(st.text(max_size=8), max_size=6).map(tuple), max_size=3).map(tuple))
def test_no_command_is_too_strange(commands: tuple[Command, ...]) -> None:
    changes_of(commands)
