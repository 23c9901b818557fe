"""The documentation site, really built: whole, and it fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("material", reason="the extra docs is not installed")

ROOT = Path(__file__).parents[2]
# What a browser loads by itself when it opens a page.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|embed|object|link)\b[^>]*?\b(?:src|href|data)=[\"']?([^\"'\s>]+)[^>]*>"
)
LINKS = re.compile(r"<a\b[^>]*?\bhref=[\"']?([^\"'\s>]+)")
IDS = re.compile(r"\bid=[\"']?([^\"'\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a warning is a failure. What would ask the network for anything finds a closed port."""
    folder = tmp_path_factory.mktemp("site")
    command = ("build", "--strict", "--quiet", "--config-file", ROOT / "scripts" / "mkdocs.yml")
    closed = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https")}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *command, "--site-dir", folder],
        capture_output=True,
        text=True,
        env={**os.environ, **closed, "NO_MKDOCS_2_WARNING": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def ids_of(page: Path) -> frozenset[str]:
    return frozenset(IDS.findall(text_of(page)))


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_document_is_a_page(site: Path) -> None:
    names = {page.relative_to(site).with_suffix("").as_posix() for page in pages(site)}
    documents = (
        file.relative_to(ROOT / "docs").with_suffix("").as_posix() for file in ROOT.glob("docs/**/*.md")
    )
    assert {re.sub(r"README$", "index", name) for name in documents} - names == set()
    assert {"matrix", "matrix_rows", "contributing", "changes"} <= names


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    foreign = {
        target
        for page in pages(site)
        for tag in LOADED.finditer(text_of(page))
        if re.match(r"(https?:)?//", target := tag[1]) and 'rel="canonical"' not in tag[0]
    }
    assert foreign == set()
    sheets = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheets) == []


def test_every_link_within_leads_somewhere(site: Path) -> None:
    dead = []
    for page in pages(site):
        for link in LINKS.findall(text_of(page)):
            if re.match(r"[a-z]+:|//", link) or page.name == "404.html":
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            is_there = target.is_file() and (
                not anchor or target.suffix != ".html" or anchor in ids_of(target) or anchor.startswith("__")
            )
            if not is_there:
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == []


def test_the_matrix_and_the_schemas_are_on_it(site: Path) -> None:
    matrix = text_of(site / "matrix.html")
    assert "findings/peft/too-old-for-transformers.html" in matrix and "HybridCache" in matrix
    assert (site / "schema" / "report.json").is_file()
    assert (site / "zh" / "quick_start.html").is_file()
