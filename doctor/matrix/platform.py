"""The platform tables as they stand, and which wheels of bitsandbytes hold libraries for a system."""

from __future__ import annotations

from functools import cache
from typing import Any

from doctor.facts import Facts
from doctor.matrix.rows import FOLDER, read_toml
from doctor.versions import comparable


@cache
def table(name: str) -> dict[str, Any]:
    """One platform table, read when first asked for."""
    return read_toml(FOLDER / "platform" / f"{name}.toml")


def bitsandbytes_with(library: str, above: str, facts: Facts) -> str | None:
    """The first bitsandbytes release above one that ships a library for this system, None without one."""
    # Releases with twins have them for every CUDA, and later ones have need of none.
    digits = library.removeprefix("libbitsandbytes_cuda").removesuffix("_nocublaslt")
    floor = comparable(above)
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
