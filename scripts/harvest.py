#!/usr/bin/env python3
"""Brings compat_matrix/releases/ up to the package index, and says what changed.

    scripts/harvest.py [PACKAGE...] [--again] [--sources [FOLDER]]

What a known release declares is not read again (``--again`` does); which wheels it has, and whether it was
yanked, is. A release that cannot be read is named and left out; the next run tries it again. Of torch and
other large wheels the metadata alone is read. With ``--sources`` the Python files of the releases that are
interpreted are kept too (some GB), for ``compute_matrix.py`` and ``extract_api.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version
from releases import index, sources
from releases import table as release_table

from doctor.matrix.releases import Release, decode, spelt_out
from doctor.matrix.rows import reviewed
from doctor.versions import comparable

RELEASES = Path(__file__).resolve().parent.parent / "compat_matrix" / "releases"
PACKAGES = tuple(
    # What a fine-tune imports,
    "torch torchvision torchaudio triton transformers peft accelerate trl bitsandbytes datasets pyarrow "
    "tokenizers huggingface-hub safetensors numpy fsspec dill multiprocess pandas scipy setuptools packaging "
    "rich protobuf sentencepiece "
    # and what some add.
    "flash-attn xformers deepspeed torchao liger-kernel unsloth unsloth-zoo auto-gptq gptqmodel optimum "
    "evaluate sentence-transformers axolotl llamafactory".split()
)
AT_ONCE = 4  # requests


def known_releases(file: Path) -> dict[str, Release]:
    """The releases of a table by version; none where there is no table yet."""
    return {known.version: known for known in spelt_out(decode(file.read_bytes()))} if file.is_file() else {}


def declared(file: index.File) -> tuple[str, ...]:
    """What a release requires. Raises :class:`index.Unreadable`."""
    named = index.metadata(file).get_all("Requires-Dist") or []
    bad = release_table.invalid(named)
    if bad:
        raise index.Unreadable(f"{file.name} requires {bad[0]!r}, which is no requirement")
    return release_table.requirements(named)


def harvest(package: str, table: Path, again: bool) -> Iterator[str]:
    """Write the table of one package anew; yields what changed, a line each."""
    old = known_releases(table)
    published = release_table.by_release(index.files(package))

    def one(version: Version) -> Release | str:
        own, known = published[version], old.get(str(version))
        try:
            requires = known.requires if known and not again else declared(release_table.most_telling(own))
        except index.Unreadable as error:
            return f"{package} {version} is left out: {error}"
        return release_table.released(version, own, requires)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(one, published))
    new = {result.version: result for result in results if isinstance(result, Release)}
    table.write_text(release_table.table_text(new.values()), encoding="utf-8")
    yield from (result for result in results if isinstance(result, str))
    yield from changes(package, old, new)


def changes(package: str, old: Mapping[str, Release], new: Mapping[str, Release]) -> Iterator[str]:
    """What differs between two tables of a package: a line for what is new, gone, or changed."""
    happened: dict[str, list[str]] = {"new": [version for version in new if version not in old]}
    happened["gone"] = [version for version in old if version not in new]
    for key in Release.__struct_fields__:
        both = [version for version in new if version in old]
        happened[key] = [each for each in both if getattr(new[each], key) != getattr(old[each], key)]
    for what, versions in happened.items():
        shown = versions if len(versions) < 8 else [versions[0], "...", f"{versions[-1]} ({len(versions)})"]
        if versions:
            yield f"{package}: {what if what in ('new', 'gone') else what + ' changed'}: {', '.join(shown)}"


def unreviewed(package: str, table: Path) -> Iterator[str]:
    """Says so where the newest release is above what the rows were held against."""
    limit = comparable(reviewed()["packages"].get(package, ""))
    versions = [known.version for known in known_releases(table).values() if not known.yanked]
    newest = max(versions, key=Version, default="0")
    if limit and Version(newest) > limit:
        yield f"{package} {newest} is newer than the review, which ends at {limit}"


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="default: every package of the matrix")
    parser.add_argument("--again", action="store_true", help="read again what known releases declare")
    parser.add_argument(
        "--sources",
        nargs="?",
        const=sources.FOLDER,
        type=Path,
        metavar="FOLDER",
        help=f"keep Python files of releases too, by default in {sources.FOLDER}",
    )
    parser.add_argument("--releases", type=Path, default=RELEASES, metavar="FOLDER", help="the tables")
    parser.add_argument("--index", default=index.INDEX, metavar="URL", help="a simple index that speaks JSON")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Harvest; 1 where a package could not be read at all."""
    asked = arguments(argv)
    index.INDEX = asked.index
    failed = 0
    for package in map(canonicalize_name, asked.packages or PACKAGES):
        table = asked.releases / f"{package}.json"
        try:
            for line in harvest(package, table, asked.again):
                print(line, flush=True)
            if asked.sources:
                for line in sources.keep(package, asked.sources):
                    print(line, flush=True)
        except index.Unreadable as error:
            failed = 1
            print(f"{package} was not read: {error}", flush=True)
            continue
        for line in unreviewed(package, table):
            print(line, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
