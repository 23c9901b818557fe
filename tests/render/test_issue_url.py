"""The address of a new issue: what a browser sends and GitHub takes."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.findings import Evidence, Report
from doctor.plain import one_line
from doctor.render.issue_limits import REPOSITORY, TEMPLATE, TITLE_LIMIT, URL_LIMIT_BYTES
from doctor.render.issue_url import WHOLE_REPORT, encoded, issue_url

from .hostile import TEXTS, reports
from .machines import MACHINES, OLD_PEFT, broken_pair

replace = msgspec.structs.replace


def query_of(url: str) -> dict[str, str]:
    return {name: value for name, [value] in parse_qs(urlsplit(url).query, strict_parsing=True).items()}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine(machine: str) -> None:
    url = issue_url(MACHINES[machine](), "huggingface/peft")
    assert url.startswith("https://github.com/huggingface/peft/issues/new?title=")
    query = query_of(url)
    assert set(query) == {"title", "body"}
    assert query["body"].startswith("**") and query["body"].endswith(f"{WHOLE_REPORT}\n")
    assert "| Python | 3.11.9 |" in query["body"]


def test_the_root_cause_is_the_title_and_its_cure_is_told() -> None:
    query = query_of(issue_url(broken_pair(), "a/b"))
    assert query["title"] == OLD_PEFT.title
    assert "pip install 'peft>=0.18.0'" in query["body"]
    assert "- warning: `python/path-pollution`" in query["body"]


def test_a_form_has_its_field_filled_in_and_a_template_its_body() -> None:
    own = query_of(issue_url(broken_pair(), "a/b", "bug_report.yml"))
    theirs = query_of(issue_url(broken_pair(), "a/b", "bug-report.yml:system-info"))
    plain = query_of(issue_url(broken_pair(), "a/b", "bug.md"))
    assert (own["template"], set(own)) == ("bug_report.yml", {"template", "title", "report"})
    assert (theirs["template"], set(theirs)) == ("bug-report.yml", {"template", "title", "system-info"})
    assert (plain["template"], set(plain)) == ("bug.md", {"template", "title", "body"})
    assert own["report"] == theirs["system-info"]


@given(reports(), st.sampled_from(["", "bug_report.yml"]))
def test_whatever_a_report_says_the_address_is_one(report: Report, template: str) -> None:
    url = issue_url(report, "owner/name", template)
    assert len(url) <= URL_LIMIT_BYTES
    assert url.isascii() and url.isprintable() and " " not in url
    query = query_of(url)
    assert len(query["title"]) <= TITLE_LIMIT and query["title"] == one_line(query["title"])
    assert query["report" if template else "body"].endswith(f"{WHOLE_REPORT}\n")


def test_a_huge_report_loses_whole_parts() -> None:
    evidence = tuple(Evidence("torch", "日本" * 400, "x") for _ in range(12))
    report = replace(broken_pair(), findings=(replace(OLD_PEFT, evidence=evidence),))
    url = issue_url(report, "a/b")
    assert len(url) <= URL_LIMIT_BYTES
    body = query_of(url)["body"]
    assert "日本" not in body and OLD_PEFT.title in body and "| torch |" in body


@given(TEXTS)
def test_a_value_comes_back_as_it_was(text: str) -> None:
    sendable = text.encode("utf-8", "replace").decode("utf-8")
    assert parse_qs(f"a={encoded(text)}", keep_blank_values=True)["a"] == [sendable]


@pytest.mark.parametrize("name", ["huggingface/peft", "a/b", "A-b-c/x.y_z-1", "a/.github"])
def test_names_of_repositories(name: str) -> None:
    assert REPOSITORY.fullmatch(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "peft",
            "a/b/c",
            "/b",
            "a/",
            "a/..",
            "a/.",
            "-a/b",
            "a-/b",
            "a--b/c",
            "a/b?x=1",
            "a/b#c",
            "a b/c",
        ),
        *("a/b\n", "https://github.com/a/b", "é/b", f"{'a' * 41}/b", "@a/b", "a/b%2f"),
    ],
)
def test_what_is_no_repository(name: str) -> None:
    assert not REPOSITORY.fullmatch(name)


@pytest.mark.parametrize(
    "name", ["", "../x.yml", "x", "x.txt", "a/b.yml", "x.yml:", "x.yml:a b", "x.yml&a=b"]
)
def test_what_is_no_template(name: str) -> None:
    assert not TEMPLATE.fullmatch(name)
