"""bitsandbytes as it answers once it is imported: which library is really mapped."""

from __future__ import annotations

from doctor.facts import BitsandbytesRuntime, Gap
from doctor.probes import Looks
from doctor.probes.torch_runtime import details_of


def probe(looks: Looks) -> BitsandbytesRuntime | Gap:
    """What the import showed."""
    return details_of(looks, "bitsandbytes_runtime", ("import-bitsandbytes",), BitsandbytesRuntime)
