"""The Python files of releases, one ``<name>-<version>.zip`` each: what the interpreter of the matrix reads.

A zip holds the ``*.py`` of a wheel, its METADATA, RECORD and top_level.txt, under their names in the wheel.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.version import Version

from releases import index, table

FOLDER = Path.home() / ".cache" / "lora-doctor" / "sources"
# From which release on a package is interpreted.
FLOORS = {
    **{"transformers": "4.28", "peft": "0.3", "accelerate": "0.18", "trl": "0.4", "bitsandbytes": "0.39"},
    **{"datasets": "2.10", "tokenizers": "0.13.3", "huggingface-hub": "0.14", "safetensors": "0.3"},
    **{"fsspec": "2023.1", "dill": "0.3.6", "multiprocess": "0.70.14", "pyarrow": "11", "numpy": "1.23"},
    **{"packaging": "23", "torchao": "0.4"},
}
# Large wheels that change little between patches: the last patch of every minor will do.
LAST_PATCH_ONLY = {"bitsandbytes", "fsspec", "pyarrow", "numpy", "torchao", "packaging"}
AT_ONCE = 4  # requests
KEPT = (".py", ".dist-info/METADATA", ".dist-info/RECORD", ".dist-info/top_level.txt")


def keep(package: str, folder: Path) -> Iterator[str]:
    """Put what a folder lacks of a package there; yields a line for each release, added or not readable."""
    if package not in FLOORS:
        return
    folder.mkdir(parents=True, exist_ok=True)
    chosen = interpreted(package, index.files(package))
    wanted = {folder / f"{package}-{version}.zip": file for version, file in chosen}
    missing = [path for path in wanted if not path.is_file()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(lambda path: kept(wanted[path], path), missing)


def interpreted(package: str, files: list[index.File]) -> Iterator[tuple[Version, index.File]]:
    """The wheel to read of each release that is interpreted: pure, or for Linux x86_64."""
    chosen: dict[tuple[int, ...], tuple[Version, index.File]] = {}
    for version, own in table.by_release(files).items():
        file = table.most_telling(own)
        if version >= Version(FLOORS[package]) and file.is_wheel and not file.yanked:
            key = version.release[:2] if package in LAST_PATCH_ONLY else (*version.release, version.post or 0)
            chosen[key] = version, file
    yield from chosen.values()


def kept(file: index.File, path: Path) -> str:
    """Write the zip of one wheel; says what came of it."""
    part = path.with_suffix(".part")
    try:
        with index.archive(file) as wheel, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as out:
            for name in wheel.namelist():
                if name.endswith(KEPT):
                    out.writestr(name, wheel.read(name))
    except (index.Unreadable, zipfile.BadZipFile) as error:
        part.unlink(missing_ok=True)
        return f"{path.name} is left out: {error}"
    part.replace(path)
    return f"{path.name} kept"
