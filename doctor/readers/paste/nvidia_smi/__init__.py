"""What nvidia-smi prints: its table of every era, ``-L``, ``-q`` and ``--query-gpu``.

Its refusals ("has failed because it couldn't communicate", "Failed to initialize NVML") are no part of a
block: they are what the paste complains of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.readers.paste import Block
from doctor.readers.paste.nvidia_smi import csv_rows, inventory, listing, table


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Every block of nvidia-smi, each way of calling it in its turn."""
    for form in (table, listing, inventory, csv_rows):
        yield from form.read(lines)
