"""The platform tables as they stand, and the wheels of bitsandbytes by system."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.matrix.platform import bitsandbytes_with, table

from .test_rows import facts_of


@pytest.mark.parametrize(
    ("library", "above", "system", "arch", "first"),
    [
        ("cuda130", "0.45.5", "linux", "x86_64", "0.48.0"),
        ("cuda126", "0.44.1", "linux", "x86_64", "0.45.0"),
        ("cuda126", "0.44.1", "linux", "aarch64", "0.46.0"),
        ("cuda134", "0.50.0", "linux", "x86_64", None),  # Windows on ARM alone has it
        ("cuda126", "0.45.0", "darwin", "arm64", None),
    ],
)
def test_the_first_bitsandbytes_with_a_library_for_this_system(
    library: str, above: str, system: str, arch: str, first: str | None
) -> None:
    facts = facts_of({"torch": "2.13.0", "os": system, "arch": arch})
    assert bitsandbytes_with(f"libbitsandbytes_{library}", above, facts) == first


@pytest.mark.parametrize(
    "name", ["cuda_driver", "torch_builds", "bitsandbytes_builds", "gpu_architectures", "triton_tools"]
)
def test_every_row_has_a_source_that_is_spelt_out(name: str) -> None:
    document: dict[str, Any] = table(name)
    rows = [row for key, rows in document.items() if key != "sources" for row in rows]
    assert len(rows) > 5
    named = {row["source"] for row in rows}
    if name == "torch_builds":  # every build that is not merely expected was seen published as well
        named |= {"published" for row in document["build"] if not row.get("expected")}
    assert named == set(document["sources"])
