"""Text that names one folder, made to name another and back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from doctor.applying.relocation import Names, move_in, move_out, twin_name

from .workshop import digest

ORIGINAL, TWIN = "/home/me/.venv", "/home/me/.k3x9"


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_a_twins_name_is_as_long_and_of_the_same_shape(name: str) -> None:
    made = twin_name(name, [name])
    if made is None:
        assert len({one for one in name if one.isascii() and one.isalnum()}) <= 1  # or an unlikely draw
        return
    assert made != name and len(os.fsencode(made)) == len(os.fsencode(name))
    assert [one for one in made if not one.isalnum()] == [one for one in name if not one.isalnum()]


def test_a_name_without_a_letter_has_no_twin() -> None:
    assert twin_name("环境", ["环境"]) is None
    assert twin_name("v", [*"abcdefghijklmnopqrstuvwxyz0123456789"]) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#!/home/me/.venv/bin/python\n", "#!/home/me/.k3x9/bin/python\n"),
        ('VIRTUAL_ENV="/home/me/.venv"', 'VIRTUAL_ENV="/home/me/.k3x9"'),
        ("--python=/home/me/.venv", "--python=/home/me/.k3x9"),
        ("file:///home/me/.venv/src/x", "file:///home/me/.k3x9/src/x"),
        ("/home/me/.venv2/bin", "/home/me/.venv2/bin"),
        ("/home/me/.venv-old", "/home/me/.venv-old"),
        ("/home/me/.venv.before-1", "/home/me/.venv.before-1"),
    ],
)
def test_a_folder_is_named_and_no_other(text: str, told: str) -> None:
    assert Names((ORIGINAL,), TWIN).replaced_text(text) == told


def test_a_folder_is_named_in_a_url_too() -> None:
    names = Names(("/home/me/my env",), "/home/me/k3 x9z")
    assert names.replaced(b"file:///home/me/my%20env/src") == b"file:///home/me/k3%20x9z/src"


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_what_is_moved_comes_back(before: bytes, after: bytes) -> None:
    content = before + ORIGINAL.encode() + after
    assume(TWIN.encode() not in content)
    moved = Names((ORIGINAL,), TWIN).replaced(content)
    assert len(moved) == len(content)
    assert Names((TWIN,), ORIGINAL).replaced(moved) == content


def test_a_record_agrees_with_what_was_moved(tmp_path: Path) -> None:
    original, twin = tmp_path / "venv", tmp_path / "k3x9"
    for folder in (original, twin):
        (folder / "lib" / "site-packages" / "new-1.dist-info").mkdir(parents=True)
        (folder / "bin").mkdir()
    script, record = twin / "bin" / "new", twin / "lib" / "site-packages" / "new-1.dist-info" / "RECORD"
    script.write_text(f"#!{twin}/bin/python\n")
    wrong = twin / "bin" / "other"
    wrong.write_text(f"#!{twin}/bin/python\n")
    rows = [
        f"../../bin/new,{digest(script.read_bytes())},{script.stat().st_size}",
        "../../bin/other,sha256=of-somebody-else,7",  # a fault that must stay to be seen
        '"new, with a comma.py",,',
        "new-1.dist-info/RECORD,,",
    ]
    record.write_bytes(("\r\n".join(rows) + "\r\n").encode())
    move_out(str(twin), str(original), Names((str(twin),), str(original)), Names((str(original),), str(twin)))
    assert script.read_text() == f"#!{original}/bin/python\n"
    told = record.read_bytes().decode().split("\r\n")
    assert told[0] == f"../../bin/new,{digest(script.read_bytes())},{script.stat().st_size}"
    assert told[1:] == [*rows[1:], ""]


def test_links_into_itself_follow(tmp_path: Path) -> None:
    original, twin = tmp_path / "venv", tmp_path / "k3x9"
    twin.mkdir()
    (twin / "lib64").symlink_to(original / "lib")
    (twin / "python").symlink_to("/usr/bin/python3")
    move_in(str(twin), Names((str(original),), str(twin)))
    assert os.readlink(twin / "lib64") == str(twin / "lib")
    assert os.readlink(twin / "python") == "/usr/bin/python3"
