"""What the doctor says of its own knowledge, wherever the releases come from."""

from __future__ import annotations

import pytest

from doctor.facts import Facts
from doctor.lint.judging import report_on
from doctor.matrix.rows import reviewed
from doctor.readers import Source


@pytest.mark.parametrize("line", ["peft==99.0", "peft==99.0 --hash=sha256:" + "0" * 64])
def test_a_listed_release_that_is_newer_than_the_review_is_said(line: str) -> None:
    report = report_on(Source("requirements.txt", f"{line}\n"), Facts(), "", ())
    (found,) = (finding for finding in report.findings if finding.id == "doctor/matrix-outdated")
    assert found.severity == "note"
    known = reviewed()["packages"]["peft"]
    assert [(one.subject, one.seen, one.wanted) for one in found.evidence] == [
        ("peft", "99.0", f"reviewed up to {known}")
    ]


def test_what_was_reviewed_is_not_said_to_be_newer() -> None:
    text = "".join(f"{name}=={version}\n" for name, version in reviewed()["packages"].items())
    report = report_on(Source("requirements.txt", text), Facts(), "", ())
    assert "doctor/matrix-outdated" not in {finding.id for finding in report.findings}
