"""Queries of the platform tables: which torch build a driver, a GPU and a Python can use."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from doctor.facts import Facts
from doctor.matrix.releases import releases_of
from doctor.matrix.rows import FOLDER, read_toml
from doctor.versions import comparable


class TorchChoice(NamedTuple):
    """A torch release and the CUDA build of it."""

    release: str  # "2.13.0+cu126", or "2.14.*" where another release is wanted
    variant: str  # "cu126"


@cache
def table(name: str) -> dict[str, Any]:
    """One platform table, read when first asked for."""
    return read_toml(FOLDER / "platform" / f"{name}.toml")


def torch_for(facts: Facts) -> TorchChoice | None:
    """The torch build for this driver, GPU and Python: of the installed release, else of the newest.

    None where the driver is not known, or no build was published that all three can use.
    """
    builds = [build for build in reversed(table("torch_builds")["build"]) if is_usable(build, facts)]
    installed = comparable(facts.torch.version) if facts.torch else None
    minor = f"{installed.major}.{installed.minor}" if installed else ""
    same = [build for build in builds if build["torch"] == minor]
    if same and installed:
        # The label makes an installer replace the build that is there: "2.13.0" is what it has already.
        return TorchChoice(f"{installed}+{same[0]['variant']}", same[0]["variant"])
    return TorchChoice(builds[0]["torch"] + ".*", builds[0]["variant"]) if builds else None


def is_usable(build: dict[str, Any], facts: Facts) -> bool:
    """Was this build published, and can the machine and the interpreter use it?"""
    if build.get("expected") or not runs_on_driver(build["variant"], facts):
        return False
    system = facts.system
    arch = "aarch64" if system and system.arch in ("aarch64", "arm64") else "x86_64"
    capabilities = [gpu.compute_capability for gpu in facts.gpus or () if gpu.compute_capability]
    has_code = all(has_code_for(build["sm"], capability) for capability in capabilities)
    return build["arch"] == arch and has_code and has_python(build["torch"], facts)


def has_python(minor: str, facts: Facts) -> bool:
    """Were wheels of this torch published for the target's Python? True where that is not known."""
    releases = [known for known in releases_of("torch") if known.version.startswith(f"{minor}.")]
    if facts.interpreter is None or not releases:
        return True
    python = ".".join(facts.interpreter.version.split(".")[:2])
    os, arch = (facts.system.os, facts.system.arch) if facts.system else ("linux", "x86_64")
    return any(known.has_wheel(python, os, arch) for known in releases)


def runs_on_driver(variant: str, facts: Facts) -> bool:
    """Does the driver of these facts reach the first one of this CUDA major?"""
    system = facts.system.os if facts.system else "linux"
    return facts.driver is not None and driver_reaches(variant, facts.driver.version, system)


def driver_floor(variant: str, os: str) -> str:
    """The first driver for the CUDA major of a build: "525.60.13" for "cu126" on Linux; "" where unknown."""
    major, system = variant.removeprefix("cu")[:2], "windows" if os == "win32" else "linux"
    return next((row[system] for row in table("cuda_driver")["major"] if row["cuda"] == major), "")


def driver_reaches(variant: str, driver: str, os: str) -> bool:
    """Does a driver reach the first one of this CUDA major?"""
    have, need = comparable(driver), comparable(driver_floor(variant, os))
    return bool(have and need and have >= need)


def bitsandbytes_with(library: str, above: str, facts: Facts) -> str | None:
    """The first bitsandbytes release above one that ships a library for this system, None without one."""
    digits, floor = library.removeprefix("libbitsandbytes_cuda"), comparable(above)
    wheels = [row for row in table("bitsandbytes_builds")["wheel"] if installs_here(row["platform"], facts)]
    spans = [row["first"] for row in wheels if digits in row.get("cuda", ())]
    later = [(order, first) for first in spans if (order := comparable(first)) and floor and order > floor]
    return min(later)[1] if later else None


def installs_here(tag: str, facts: Facts) -> bool:
    """Does a wheel of this platform tag hold libraries for the machine? "any" holds those of Linux x86_64."""
    if facts.system is None:
        return holds_libraries(tag, "linux", "x86_64")
    return holds_libraries(tag, facts.system.os, facts.system.arch)


def holds_libraries(tag: str, os: str, arch: str) -> bool:
    """The same for an os as sys.platform has it, and an architecture by any of its names."""
    arm = arch.lower() in ("aarch64", "arm64")
    if os == "win32":
        return tag == ("win_arm64" if arm else "win_amd64")
    if os == "darwin":
        return tag.startswith("macosx") and tag.endswith("arm64") == arm
    return tag.endswith("aarch64") if arm else tag == "any" or tag.endswith("x86_64")


def has_code_for(arch_list: tuple[str, ...] | list[str], capability: str, ptx: bool = False) -> bool:
    """Does a build hold machine code for a GPU: same major, no newer minor? ``ptx``: or older PTX.

    PTX is translated by the driver, and only by one as new as the toolkit that made it.
    """
    major, minor = (int(part) for part in capability.split("."))
    for arch in arch_list:
        kind, _, digits = arch.partition("_")
        digits = digits.rstrip("af")
        if not digits.isdigit():
            continue
        built = (int(digits[:-1]), int(digits[-1]))
        if kind == "sm" and built[0] == major and built[1] <= minor:
            return True
        if kind == "compute" and ptx and built <= (major, minor):
            return True
    return False
