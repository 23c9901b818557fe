"""docs/findings is what the rules and rows say."""

from __future__ import annotations

from pathlib import Path

import pytest
import write_pages

from doctor.pages import sources_by_id
from doctor.pages.languages import translations


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(write_pages, "FOLDER", tmp_path / "findings")
    return tmp_path / "findings"


def test_the_pages_are_as_they_would_be_written() -> None:
    assert write_pages.differences(dict(write_pages.pages())) == []


def test_every_fault_has_a_page_and_a_line_in_the_index() -> None:
    pages = dict(write_pages.pages())
    assert {f"{id}.md" for id in sources_by_id()} <= set(pages)
    assert {f"zh/{id}.md" for id in translations("zh")} <= set(pages)
    assert [id for id in sources_by_id() if f"({id}.md)" not in pages["README.md"]] == []


def test_what_is_written_passes_and_what_is_changed_or_left_over_does_not(folder: Path) -> None:
    assert write_pages.main([]) == 0
    assert write_pages.main(["--check"]) == 0
    (folder / "torch" / "cpu-only-build.md").write_text("changed")
    (folder / "torch" / "gone.md").write_text("left over")
    assert write_pages.main(["--check"]) == 1
    assert write_pages.main([]) == 0
    assert write_pages.main(["--check"]) == 0
    assert not (folder / "torch" / "gone.md").exists()


def test_pages_have_no_paths_of_a_machine() -> None:
    text = "\n".join(dict(write_pages.pages()).values())
    assert str(Path.home()) not in text and str(write_pages.FOLDER) not in text


def test_other_arguments_are_refused() -> None:
    assert write_pages.main(["--force"]) == 2
