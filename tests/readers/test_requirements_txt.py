"""requirements.txt as pip reads it, and as people write it."""

from __future__ import annotations

import pytest

from doctor.readers import Unreadable

from .reading import lines, pairs, wanted


def test_comments_continuations_hashes_and_options() -> None:
    found = wanted(
        "# a comment\n"
        "--index-url https://download.pytorch.org/whl/cu121\n"
        "--extra-index-url=https://pypi.org/simple\n"
        "torch==2.3.0 \\\n"
        "    --hash=sha256:abc \\\n"
        "    --hash=sha256:def\n"
        "\n"
        "peft>=0.9  # pip install git+https://github.com/huggingface/peft\n"
        "--no-deps\n"
        "-e git+https://github.com/huggingface/trl.git#egg=trl\n"
        "-e .[dev]\n"
    )
    assert pairs(found) == [("torch", "==2.3.0"), ("peft", ">=0.9"), ("trl", "")]
    assert lines(found) == {"torch": 4, "peft": 8, "trl": 10}
    assert found.index_urls == ("https://download.pytorch.org/whl/cu121", "https://pypi.org/simple")
    assert (found.form, found.notes) == ("open", ())


def test_includes_are_found_beside_the_file() -> None:
    others = {"a/base.txt": "torch==2.3.0\n-c ../limits.txt\n", "limits.txt": "numpy<2\n"}
    found = wanted("-r base.txt\npeft\n", "a/requirements.txt", others)
    assert [(one.name, one.file, one.line, one.is_constraint) for one in found.requirements] == [
        ("torch", "a/base.txt", 1, False),
        ("numpy", "limits.txt", 1, True),
        ("peft", "a/requirements.txt", 2, False),
    ]


@pytest.mark.parametrize(
    ("text", "others", "words"),
    [
        ("-r requirements.txt", {}, "includes itself: requirements.txt -> requirements.txt"),
        ("-r b.txt", {"b.txt": "-r ./requirements.txt"}, "requirements.txt -> b.txt -> requirements.txt"),
        ("peft\n-r gone.txt", {}, "line 2 includes gone.txt: it cannot be read"),
        ("-r 0.txt", {f"{n}.txt": f"-r {n + 1}.txt" for n in range(20)}, "more than 10 files include"),
    ],
)
def test_includes_that_lead_nowhere(text: str, others: dict[str, str], words: str) -> None:
    with pytest.raises(Unreadable, match=words.replace(".", r"\.")):
        wanted(text, others=others)


def test_one_file_may_be_included_twice() -> None:
    found = wanted("-r b.txt\n-r b.txt\n", others={"b.txt": "peft\n"})
    assert pairs(found) == [("peft", ""), ("peft", "")]


def test_odd_lines_are_noted_and_the_rest_is_read() -> None:
    found = wanted("```\npip:\n<<<<<<< HEAD\npeft==0.9.0\nfoo bar baz\n```\n'trl==0.9.6',\n")
    assert pairs(found) == [("peft", "==0.9.0"), ("trl", "==0.9.6")]
    assert [note.line for note in found.notes] == [2, 3, 5]
    assert "unfinished merge" in found.notes[1].text


def test_a_patch_that_was_saved_as_requirements() -> None:
    found = wanted(
        "diff --git a/r.txt b/r.txt\n--- a/r.txt\n+++ b/r.txt\n@@ -1,2 +1,2 @@\n"
        "-peft==0.17.1\n+peft==0.18.0\n trl\n"
    )
    assert pairs(found) == [("peft", "==0.18.0"), ("trl", "")]
    assert lines(found) == {"peft": 6, "trl": 7}


def test_what_is_included_from_the_network_is_not_fetched() -> None:
    found = wanted("-r https://example.org/requirements.txt\npeft\n")
    assert pairs(found) == [("peft", "")]
    assert "not read" in found.notes[0].text


def test_a_file_of_rubbish_is_rubbish_once() -> None:
    assert len(wanted("foo bar baz\n" * 500 + "peft").notes) == 40
