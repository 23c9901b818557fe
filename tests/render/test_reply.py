"""The answer to an issue: what it says, and that nothing in a paste comes alive in it."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from doctor.facts import Facts
from doctor.findings import Confidence, Evidence, Finding, Fix, Question, Report, Subject
from doctor.render import paste_markdown, paste_terminal, reply

HOSTILE = (
    "@everyone closes #1 <img src=x onerror=alert(1)> [a](http://evil.example) ![b](http://evil.example/b) "
    "`` ``` ~~~ </details> \x1b[31m\u202e\x00 | a | b |\n# head\n- [ ] box\n<!-- c -->"
)
ALIVE = {"html_inline", "html_block", "link_open", "image"}
OURS = ("<sub>", "</sub>", "<!-- -->")


def finding(sure: Confidence = "confirmed", seen: str = "no such name", id: str = "peft/too-old") -> Finding:
    return Finding(
        id=id,
        severity="error",
        confidence=sure,
        title="peft 0.9 is too old",
        why="It asks for a name that is gone.",
        evidence=(Evidence("error text", seen, where="line 3"), Evidence("torch", "", "a CUDA build")),
        fixes=(Fix("Upgrade peft", (("python", "-m", "pip", "install", "peft>=0.18"),)),),
    )


def report(*findings: Finding, questions: tuple[Question, ...] = (), name: str = "#7") -> Report:
    return Report(
        tool_version="1",
        matrix_reviewed="2026-11-30",
        subject=Subject("report", name),
        verdict="broken" if findings else "undetermined",
        primary=findings[0].id if findings else None,
        findings=findings,
        questions=questions,
        facts=Facts(),
    )


def test_a_cause_with_its_evidence_and_its_command() -> None:
    assert reply.render(report(finding())) == (
        "**The cause: peft 0.9 is too old** (`peft/too-old`)\n\n"
        "- error text: `no such name` (line 3)\n"
        "- torch: wanted `a CUDA build`\n\n"
        "It asks for a name that is gone.\n\n"
        "Fix: Upgrade peft\n\n"
        "```sh\npython -m pip install 'peft>=0.18'\n```\n\n"
        "<sub>Written from the text alone by lora-doctor 1 (matrix of 2026-11-30). "
        "`lora-doctor check` on the machine itself sees more.</sub>\n"
    )


def test_possible_causes_are_told_side_by_side_with_the_question() -> None:
    asked = Question("Which peft is it?", (("python", "-m", "pip", "show", "peft"),))
    text = reply.render(
        report(finding("possible"), finding("possible", id="peft/missing"), questions=(asked,))
    )
    assert text.count("**One possible cause: ") == 2
    assert "To be sure, please answer:\n\n- Which peft is it?\n  `python -m pip show peft`\n" in text


def test_what_is_not_known_is_said_and_asked_for() -> None:
    text = reply.render(report(questions=(Question("Which versions?"),)))
    assert text.startswith("No known cause was recognised") and "Please add:\n\n- Which versions?" in text


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ((finding(),), ["environment", "cause: peft"]),
        ((finding(id="script/mixed-devices"),), ["not environment", "cause: script"]),
        ((finding("possible"),), []),
        ((), []),
    ],
)
def test_labels(given: tuple[Finding, ...], labels: list[str]) -> None:
    assert reply.labels(report(*given)).splitlines() == labels


@pytest.mark.parametrize("render", [reply.render, lambda one: paste_markdown.render([one])])
def test_nothing_of_a_paste_comes_alive(render) -> None:  # type: ignore[no-untyped-def]
    text = render(report(finding(seen=HOSTILE), name=HOSTILE))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inside = [token for block in tokens for token in (block.children or [])]
    alive = [token for token in (*tokens, *inside) if token.type in ALIVE and token.content not in OURS]
    assert alive == []
    prose = [token.content for token in inside if token.type == "text"]
    assert not any("@everyone" in one or "#1" in one for one in prose)
    assert not any(mark in text for mark in "\x1b\u202e\x00")
    assert "python -m pip install 'peft>=0.18'\n" in [one.content for one in tokens if one.type == "fence"]


def test_the_terminal_says_how_sure_it_is_first() -> None:
    first = {
        sure: paste_terminal.render([report(finding(sure))], width=80).splitlines()[0]
        for sure in ("confirmed", "likely", "possible")
    }
    assert first == {
        "confirmed": "The cause: peft/too-old",
        "likely": "The likely cause: peft/too-old",
        "possible": "Several causes are possible, first: peft/too-old",
    }


def test_the_terminal_shows_no_escape_of_a_paste() -> None:
    text = paste_terminal.render([report(finding(seen=HOSTILE), name=HOSTILE)], width=80, unicode=True)
    assert not any(mark in text for mark in "\x1b\u202e\x00")


def test_many_pastes_take_a_line_each() -> None:
    text = paste_terminal.render([report(finding()), report(name="#8")])
    assert text == (
        "#7: peft/too-old: peft 0.9 is too old\n"
        "#8: undetermined, no cause known\n"
        "2 pastes, of 1 a cause is known\n"
    )
