"""Trees cloned, compared, exchanged and put back."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.applying import files

from .workshop import fingerprint

NAMES = st.sampled_from(["a", "b", "c.pth", "d", "RECORD"])
CONTENT = st.sampled_from(["", "x", "y", "link:a", "link:/nowhere"])
TREES = st.recursive(CONTENT, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12).filter(
    lambda tree: isinstance(tree, dict)
)


def grow(folder: Path, tree: object) -> None:
    """Make a tree of folders, files and links."""
    folder.mkdir()
    assert isinstance(tree, dict)
    for name, inner in tree.items():
        path = folder / name
        if isinstance(inner, dict):
            grow(path, inner)
        elif inner.startswith("link:"):
            path.symlink_to(inner[5:])
        else:
            path.write_text(inner)
            path.chmod(0o755 if inner == "y" else 0o644)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, TREES)
def test_whatever_became_of_a_tree_it_goes_back(tmp_path: Path, past: object, now: object) -> None:
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    grow(work / "live", past)
    before, mark = fingerprint(work / "live"), files.digest(str(work / "live"))
    files.link_tree(str(work / "live"), str(work / "kept"))
    assert fingerprint(work / "kept") == before and files.digest(str(work / "live")) == mark
    shutil.rmtree(work / "live")
    grow(work / "live", now)
    for _ in range(2):  # once more after a death
        files.put_back(str(work / "kept"), str(work / "live"))
        assert fingerprint(work / "live") == before


def test_a_clone_shares_what_nobody_edits(tmp_path: Path) -> None:
    grow(tmp_path / "one", {"a": "x", "c.pth": "y", "b": {"a": "y"}})
    files.link_tree(str(tmp_path / "one"), str(tmp_path / "two"))
    shared = {
        name: (tmp_path / "one" / name).samefile(tmp_path / "two" / name) for name in ("a", "b/a", "c.pth")
    }
    assert shared == {"a": True, "b/a": True, "c.pth": False}
    times = [(tmp_path / one / "b").stat().st_mtime_ns for one in ("one", "two")]
    assert times[0] == times[1]
    files.rewrite(str(tmp_path / "two" / "a"), b"new")
    assert (tmp_path / "one" / "a").read_text() == "x"


def test_a_digest_sees_what_changes_and_no_compiled_code(tmp_path: Path) -> None:
    grow(tmp_path / "one", {"a": "x", "b": {"a": "y"}})
    before = files.digest(str(tmp_path / "one"))
    (tmp_path / "one" / "__pycache__").mkdir()
    (tmp_path / "one" / "__pycache__" / "a.pyc").write_text("")
    assert files.digest(str(tmp_path / "one")) == before
    (tmp_path / "one" / "b" / "a").write_text("z")
    assert files.digest(str(tmp_path / "one")) != before


@pytest.mark.parametrize("can", [True, False])
def test_two_folders_change_names(can: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(one: str, other: str) -> None:
        raise OSError(errno.ENOSYS, "old kernel")

    if not can:
        monkeypatch.setattr(files, "_exchange", cannot)
    for name in ("one", "other"):
        grow(tmp_path / name, {name: "x"})
    files.exchange(str(tmp_path / "one"), str(tmp_path / "other"), str(tmp_path / "spare"))
    assert (tmp_path / "one" / "other").exists()
    assert (tmp_path / ("other" if can else "spare") / "one").exists()
    assert (tmp_path / "spare").exists() is not can


def test_an_exchange_that_is_forbidden_says_so(tmp_path: Path) -> None:
    grow(tmp_path / "one", {})
    with pytest.raises(FileNotFoundError):
        files.exchange(str(tmp_path / "one"), str(tmp_path / "nothing"), str(tmp_path / "spare"))
    assert (tmp_path / "one").exists()


def test_what_resists_is_removed_and_other_names_keep_their_modes(tmp_path: Path) -> None:
    grow(tmp_path / "one", {"a": {"b": {"a": "x"}}, "b": "link:a"})
    kept = tmp_path / "kept"
    os.link(tmp_path / "one" / "a" / "b" / "a", kept)
    kept.chmod(0o400)
    (tmp_path / "one" / "a" / "b").chmod(0o500)
    files.discard(str(tmp_path / "one"))
    assert not (tmp_path / "one").exists() and kept.stat().st_mode & 0o777 == 0o400
    files.discard(str(tmp_path / "one"))  # nothing is there


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state" / "journal.json"
    files.write(str(path), b"one")

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.write(str(path), b"two")
    assert path.read_bytes() == b"one" and os.listdir(path.parent) == ["journal.json"]
