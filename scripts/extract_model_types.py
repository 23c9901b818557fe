"""Writes `compat_matrix/api/model_types.toml`: which releases of transformers know which model type.

Reads zips of the sources of releases (`transformers-VERSION.zip`, as `scripts/harvest.py` leaves them in its
cache) and runs none of them: the keys of CONFIG_MAPPING_NAMES are literals.
"""

from __future__ import annotations

import argparse
import ast
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version
from releases import sources

OUT = Path(__file__).parents[1] / "compat_matrix" / "api" / "model_types.toml"
# Releases from 5.6 on keep most of the mapping in a file of its own.
FILES = ("transformers/models/auto/configuration_auto.py", "transformers/models/auto/auto_mappings.py")
NAME = "CONFIG_MAPPING_NAMES"
HEADER = """# Model types that AutoConfig knows: the first release with each, and the first without.
# Written by scripts/extract_model_types.py. "0" is a release before the first that was read.

"""


def main() -> None:
    """Read every zip and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path, default=sources.FOLDER)
    folder: Path = parser.parse_args().sources
    paths = {Version(path.stem.partition("-")[2]): path for path in folder.glob("transformers-*.zip")}
    if not paths:
        sys.exit(f"{folder} has no zips of transformers")
    known = {version: frozenset(model_types(paths[version])) for version in sorted(paths)}
    OUT.write_text(HEADER + "".join(lines(known)), encoding="utf-8")


def model_types(path: Path) -> Iterator[str]:
    """The model types of one release."""
    with zipfile.ZipFile(path) as archive:
        for name in FILES:
            if name in archive.namelist():
                yield from keys(ast.parse(archive.read(name)))


def keys(tree: ast.Module) -> Iterator[str]:
    """Every literal key that is given to the mapping, in whichever way it is filled."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) and NAME in target(node):
            for part in ast.walk(node):
                if isinstance(part, ast.Dict):
                    yield from (key.value for key in part.keys if is_text(key))
                elif isinstance(part, ast.Tuple) and len(part.elts) == 2 and all(map(is_text, part.elts)):
                    yield part.elts[0].value  # type: ignore[attr-defined]


def target(node: ast.Assign | ast.AnnAssign | ast.Expr) -> str:
    """What a statement fills: the name before "=", or before ".update"."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target)
    return ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""


def is_text(node: ast.expr | None) -> bool:
    """Is it a literal string?"""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def lines(known: dict[Version, frozenset[str]]) -> Iterator[str]:
    """One line a model type, sorted."""
    releases = list(known)
    for name in sorted(frozenset.union(*known.values())):
        having = [place for place, release in enumerate(releases) if name in known[release]]
        first, last = having[0], having[-1]
        introduced = str(releases[first]) if first else "0"
        fixed = f', fixed = "{releases[last + 1]}"' if last + 1 < len(releases) else ""
        yield f'"{name}" = {{ introduced = "{introduced}"{fixed} }}\n'


if __name__ == "__main__":
    main()
