"""The commands that install a set."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.resolution import Command

TORCH_INDEX = "https://download.pytorch.org/whl/"
PUBLIC_LABELS = ("cu", "cpu", "rocm", "xpu")  # of the builds that torch's own index has


def labelled(pins: Mapping[str, str], variant: str, os: str, arch: str) -> tuple[str, ...]:
    """A set as requirements, torch with the label of its build, so that an installer replaces another build.

    The wheels of macOS have no label, nor have all CPU wheels for aarch64.
    """
    plain = os == "darwin" or (variant == "cpu" and arch != "x86_64")
    label = "" if plain or not variant else f"+{variant}"
    return tuple(f"{name}=={version}{label if name == 'torch' else ''}" for name, version in pins.items())


def index_of(variant: str, os: str) -> str:
    """Where a build of torch stands; "" for the installer's own index, which has the wheels of macOS."""
    return "" if os == "darwin" or not variant else TORCH_INDEX + variant


def build_in(version: str) -> str:
    """The build that a version of torch names, "cu126" of "2.6.0+cu126"; "" of none, or of a vendor's own."""
    label = version.partition("+")[2]
    return label if label.startswith(PUBLIC_LABELS) else ""


def install_set(requirements: tuple[str, ...], index_url: str, install: Command) -> tuple[Command, ...]:
    """First torch from its own index, which has old releases of the rest, then these from the usual one."""
    torch = tuple(one for one in requirements if one.startswith("torch=="))
    rest = tuple(one for one in requirements if one not in torch)
    if not index_url or not torch:
        return ((*install, *requirements),)
    return ((*install, *torch, "--index-url", index_url), (*install, *rest))
