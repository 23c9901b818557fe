"""Order of releases and intervals of them: the version traps, each solved once.

``2.6.0+cu124`` is 2.6.0 (a local label says how it was built, not when). NVIDIA's containers call
their torch ``2.6.0a0+ecf3bae40a.nv25.01``: it holds what 2.6.0 holds. ``0.45.1.dev0`` stands below
0.45.1 and may hold its repair all the same, so a hit on a pre-release is less sure.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from packaging.version import InvalidVersion, Version


@lru_cache(maxsize=65_536)
def comparable(text: str) -> Version | None:
    """The version by which a release is ordered, None where the text is no version."""
    try:
        version = Version(text.strip())
    except (InvalidVersion, AttributeError):
        return None
    container_build = bool(version.local) and "nv" in str(version.local)
    return Version(version.base_version if container_build else version.public)


class Interval(NamedTuple):
    """``[introduced, fixed)``, or up to and with ``last_affected`` where no repair is known."""

    introduced: str = "0"
    fixed: str | None = None
    last_affected: str | None = None

    def contains(self, text: str) -> bool:
        """Does a release lie inside? A text that is no version lies nowhere."""
        version = comparable(text)
        low, high, last = (comparable(bound or "") for bound in self)
        if version is None or low is None:
            return False
        # A pre-release of the lower bound already holds what the bound introduced.
        above = version >= low or Version(version.base_version) == low
        return above and (high is None or version < high) and (last is None or version <= last)

    def is_sure(self, text: str) -> bool:
        """Is membership certain? It is not for pre-releases next to a bound."""
        version = comparable(text)
        if version is None or not version.is_prerelease:
            return version is not None
        base = Version(version.base_version)
        return base not in {comparable(bound or "") for bound in self}

    @property
    def outside(self) -> str:
        """The releases around it, in words: "below 0.16.0, or 0.18.0 or newer"."""
        below = f"below {self.introduced}" if self.introduced != "0" else ""
        above = f"{self.fixed} or newer" if self.fixed else ""
        above = f"newer than {self.last_affected}" if self.last_affected else above
        return ", or ".join(part for part in (below, above) if part) or "none"

    def __str__(self) -> str:
        """In words: "0.16.0 to below 0.18.0", "below 0.32", "5.0.0 and above"."""
        low = "" if self.introduced == "0" else self.introduced
        if self.fixed:
            return f"{low} to below {self.fixed}" if low else f"below {self.fixed}"
        if self.last_affected:
            return f"{low} to {self.last_affected}" if low else f"up to {self.last_affected}"
        return f"{low} and above" if low else "any"
