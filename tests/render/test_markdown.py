from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from doctor.facts import Package, Packages
from doctor.findings import Evidence, Report
from doctor.render.issue_limits import BODY_LIMIT_BYTES, SMALLEST_LIMIT
from doctor.render.markdown import render, size_bytes
from doctor.render.markdown_text import code, fenced, folded, prose, table

from .hostile import TEXTS, reports
from .machines import CPU_FACTS, MACHINES, OLD_PEFT, SITE, broken_pair

replace = msgspec.structs.replace
GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])
FOREIGN = {
    "link_open", "image", "code_block", "hr", "blockquote_open", "ordered_list_open", "s_open", "em_open",
}  # fmt: skip
OURS = re.compile(r"</?details>|<summary>[^<]*</summary>|\n|<!-- -->")


def shown(source: str) -> tuple[set[str], str, str]:
    """The kinds of tokens, the HTML, and the text that a reader sees."""
    kinds, html, text = set(), [], []
    for token in GITHUB.parse(source):
        for one in [token, *(token.children or [])]:
            kinds.add(one.type)
            if one.type in ("html_block", "html_inline"):
                html.append(one.content)
            elif one.type in ("text", "code_inline", "fence", "code_block"):
                text.append(one.content)
    return kinds, "".join(html), "".join(text)


@given(reports())
def test_nothing_foreign_is_obeyed(report: Report) -> None:
    kinds, html, _ = shown(render(report))
    assert not kinds & FOREIGN
    assert OURS.sub("", html) == ""
    assert html.count("<details>") == html.count("</details>")


@given(reports(), st.integers(SMALLEST_LIMIT, 20_000))
def test_a_report_that_is_cut_is_whole_blocks(report: Report, limit_bytes: int) -> None:
    told = render(report, limit_bytes)
    assert size_bytes(told) <= limit_bytes
    assert told.startswith("**")
    assert_well_formed(told)
    whole = render(report, 10_000_000)
    left_out = told.rpartition("Left out, since there is no room for it: ")
    assert set(left_out[0].split("\n\n")) - {""} <= set(whole.split("\n\n")) if left_out[1] else told == whole


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_is_told_in_good_order(machine: str) -> None:
    told = render(MACHINES[machine]())
    assert_well_formed(told)
    verdict, *_ = told.split("\n")
    assert verdict.startswith("**") and verdict.endswith("**")
    assert told.index("### Versions") < told.index("<details>")


def assert_well_formed(told: str) -> None:
    """Sections that open and close in turn, tables of even width, fences that end."""
    is_open = False
    for token in GITHUB.parse(told):
        if token.type == "html_block":
            opens, closes = "<details>" in token.content, "</details>" in token.content
            assert opens != closes and opens != is_open
            is_open = opens
        assert token.type != "code_block"
        if token.type == "fence":
            last = told.split("\n")[(token.map or [0, 0])[1] - 1]
            assert last == token.markup
    assert not is_open
    columns = 0
    for token in GITHUB.parse(told):
        columns = 0 if token.type in ("thead_open", "tr_open") else columns
        columns += token.type in ("td_open", "th_open")
        if token.type == "tr_close":
            assert columns in (2, 3, 4, 5)


@given(TEXTS)
def test_a_summary_holds_no_tag_and_calls_nobody(text: str) -> None:
    told = folded(f"x {text}", "body")
    [line] = re.findall(r"<summary>[^<\n]*</summary>", told)
    assert told.count("\n") == folded("x", "body").count("\n")
    assert not re.search(r"[@#]\w|GH-\w", line.replace("&#", ""))


@given(TEXTS)
def test_prose_shows_what_it_was_given(text: str) -> None:
    kinds, html, told = shown(f"x {prose(text)}")
    assert kinds <= {"paragraph_open", "inline", "paragraph_close", "text", "text_special", "html_inline"}
    assert set(re.findall(r"<[^>]*>", html)) <= {"<!-- -->"}
    assert prose(text).count("\n") == 0


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("peft 0.17.0 imports HybridCache", "peft 0.17.0 imports HybridCache"),
        ("@user and #12 and GH-12", r"@<!-- -->user and \#<!-- -->12 and GH-<!-- -->12"),
        ("<script>", r"\<script>"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("> no quote", r"\> no quote"),
        ("nf4_error*", r"nf4\_error\*"),
        ("[text](javascript:x)", r"\[text\](javascript:x)"),
    ],
)
def test_prose(text: str, escaped: str) -> None:
    assert prose(text) == escaped


@given(st.text(alphabet="`a \n|~", max_size=30))
def test_code_and_fences_hold_any_backticks(text: str) -> None:
    span, block = GITHUB.parse(f"x {code(text)} y"), GITHUB.parse(fenced(text))
    assert len(block) == 1
    assert block[0].content.rstrip("\n") == text.strip("\n")
    inner = [child.content for child in span[1].children or [] if child.type == "code_inline"]
    assert inner == ([" ".join(text.split())] if text.split() else [])


def test_a_pipe_stays_in_its_cell() -> None:
    tokens = GITHUB.parse(table(("a", "b"), [(code("x|y"), prose("p|q"))]))
    cells = [token for token in tokens if token.type == "td_open"]
    assert len(cells) == 2
    inline = [token.children[0].content for token in tokens if token.children]
    assert inline[2] == "x|y"


@pytest.mark.parametrize("machine", MACHINES)
def test_each_command_stands_in_a_code_block(machine: str) -> None:
    report = MACHINES[machine]()
    blocks = [token.content for token in GITHUB.parse(render(report)) if token.type == "fence"]
    for finding in report.findings:
        for fix in finding.fixes:
            assert not fix.commands or any(fix.commands[-1][0] in block for block in blocks)


def test_an_error_text_keeps_its_lines() -> None:
    evidence = (Evidence("import peft", "Traceback:\n  File x\n```\n<b>"),)
    told = render(replace(broken_pair(), findings=(replace(OLD_PEFT, evidence=evidence),)))
    assert "````text\nTraceback:\n  File x\n```\n<b>\n````" in told


def test_too_many_packages_leave_out_the_list_and_say_so() -> None:
    names = [f"package-{number:05d}-{'x' * 40}" for number in range(2000)]
    installed = {name: Package(name=name, version="1", location=SITE, installer="pip") for name in names}
    facts = replace(CPU_FACTS, packages=Packages(installed=installed))
    told = render(replace(broken_pair(), facts=facts))
    assert size_bytes(told) <= BODY_LIMIT_BYTES
    assert told.endswith("Left out, since there is no room for it: the installed packages.\n")
    assert "<summary>Facts</summary>" in told


def test_what_matters_least_is_left_out_first() -> None:
    many = tuple(replace(OLD_PEFT, id=f"peft/f{number}", why="because " * 150) for number in range(400))
    told = render(replace(broken_pair(), findings=many))
    assert size_bytes(told) <= BODY_LIMIT_BYTES
    assert "<summary>error: peft/f0: " in told
    assert re.search(r"no room for it: \d+ findings of less weight\.\n$", told)
    assert "<summary>What was seen</summary>" in told
    assert "<summary>Stages of the trial</summary>" in told


@given(st.integers(1, 3), st.sampled_from(["`", "@a", "x", "|", "<a>"]))
def test_never_longer_than_an_issue_may_be(count: int, letter: str) -> None:
    huge = letter * 20_000
    evidence = tuple(Evidence(huge, huge, huge) for _ in range(20))
    finding = replace(OLD_PEFT, title=huge, why=huge, evidence=evidence)
    facts = replace(CPU_FACTS, environment={"X": huge * 4})
    told = render(replace(broken_pair(), findings=(finding,) * count, facts=facts))
    assert size_bytes(told) <= BODY_LIMIT_BYTES
    assert "<summary>What was seen</summary>" in told


def test_the_root_cause_stands_open_and_the_others_are_folded() -> None:
    told = render(broken_pair())
    assert told.index("### error: `peft/too-old-for-transformers`") < told.index("### Versions")
    assert "<summary>warning, likely: python/path-pollution: " in told
    assert "### warning" not in told


def test_a_root_cause_without_room_for_its_evidence_is_named() -> None:
    huge = "x" * 1_400
    finding = replace(OLD_PEFT, evidence=tuple(Evidence(huge, huge, huge) for _ in range(12)))
    told = render(replace(broken_pair(), findings=(finding,)), SMALLEST_LIMIT)
    assert "### error: `peft/too-old-for-transformers`" in told and huge not in told


def test_a_healthy_machine_has_its_versions_and_no_cause() -> None:
    told = render(MACHINES["healthy_cpu"]())
    assert "| torch | 2.13.0+cpu |" in told and "### error" not in told
