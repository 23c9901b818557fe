"""What the documentation site has beyond docs/: the matrix as tables, and pages that lie beside the code.

mkdocs calls these functions while it builds the site (scripts/mkdocs.yml).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from doctor.matrix.computed import computed_rows
from doctor.matrix.rows import Row, Term, load_rows, reviewed
from doctor.render.markdown_text import prose, table

ROOT = Path(__file__).resolve().parents[1]
# Pages of the site that are files outside of docs/, and how links to them are written there.
BESIDE = {
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
    "matrix_rows.md": "compat_matrix/README.md",
}
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")
MATRIX = """# The compatibility matrix

What does not go together, by the package at fault. A row bites where all its terms hold; *reproduced* means
that both sides of each bound were installed and run, *computed* that the releases' own code was evaluated,
*declared* that a release says so itself, *reported* that somebody else saw it.
[How rows are written](matrix_rows.md). Reviewed {date}, up to {packages}.
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are no files of docs/."""
    for name, source in BESIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=linked(text, source)))
    files.append(File.generated(config, "matrix.md", content=matrix()))
    return files


def linked(text: str, source: str) -> str:
    """A page from beside the code, its links as they are on the site; what is no page there is no link."""
    pages = {path: name for name, path in BESIDE.items()}
    folder = Path(source).parent

    def moved(match: re.Match[str]) -> str:
        target = (ROOT / folder / match[1]).resolve().relative_to(ROOT).as_posix()
        page = pages.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else "")
        return f"]({page}{match[2] or ''})" if page else "](#)"

    return re.sub(r"\[([^\]]*)\]\(#\)", r"\1", LINK.sub(moved, text))


def matrix() -> str:
    """All rows as tables."""
    newest = ", ".join(f"{name} {version}" for name, version in reviewed()["packages"].items())
    rows = [row for row in (*load_rows(), *computed_rows()) if not row.withdrawn]
    subjects = sorted({row.id.split("/")[0] for row in rows})
    head = MATRIX.format(date=reviewed()["date"], packages=newest)
    return "\n".join([head, *(of_subject(one, rows) for one in subjects)])


def of_subject(subject: str, rows: Iterable[Row]) -> str:
    """The rows of one subject, in the order of their ids."""
    own = sorted((row for row in rows if row.id.split("/")[0] == subject), key=lambda row: (row.id, row.row))
    lines = [
        (f"[{row.id}](findings/{row.id}.md)", " and ".join(terms(row)), why(row), row.basis) for row in own
    ]
    return f"## {subject}\n\n{table(('fault', 'where', 'why', 'basis'), lines)}\n"


def terms(row: Row) -> Iterator[str]:
    """What must hold for a row to bite."""
    for subject, term in row.when.items():
        yield f"{subject} {condition(term)}"


def condition(term: Term) -> str:
    """One term in words."""
    if term.absent:
        return "not installed"
    return " or ".join(term.one_of) if term.one_of else str(term.interval)


def why(row: Row) -> str:
    """The reason, as far as its first plain end of a sentence."""
    return prose(re.split(r"(?<=[a-z)])\. ", " ".join(row.why.split()))[0].rstrip(".") + ".")
