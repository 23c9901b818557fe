from __future__ import annotations

import re
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from doctor.findings import Fix
from doctor.page import Brief, Case, Page
from doctor.render import page_json, page_list, page_text
from doctor.render.page import TOLD_CASES, markdown, terminal

from .hostile import TEXTS

INSTALL = ("python", "-m", "pip", "install", "peft>=0.18")
PAGE = Page(
    id="peft/too-old",
    title="peft is too old",
    why="It lacks what is asked for.",
    see="Look at its version.",
    looks=(("python", "-m", "pip", "show", "peft"),),
    symptoms=("cannot import name 'X'",),
    fix="Upgrade it.",
    fixes=(
        Fix("Take a newer one", (INSTALL,)),
        Fix("Go back", (("python", "-m", "pip", "install", "trl<1"),)),
    ),
    verify="It imports.",
    proofs=(("python", "-c", "import peft"),),
    in_vain="Waiting.",
    references=("https://example.org/peft",),
)
STYLE = {"width": 80, "color": False, "unicode": True}
changed = msgspec.structs.replace


def case(number: int, bound: str) -> Case:
    fixes = (
        Fix(f"Upgrade peft to {bound} or newer", (("python", "-m", "pip", "install", f"peft>={bound}"),)),
    )
    return Case(f"trl 0.{number}.0 and above, peft below {bound}", f"Reason {number}.", (), fixes)


def order(text: str, *parts: str) -> bool:
    """Do the parts stand in a text in their order?"""
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_the_parts_stand_in_the_order_in_which_somebody_under_stress_reads() -> None:
    parts = (
        "What it means",
        "Is it your case",
        "cannot import name",
        "Fix",
        "peft>=0.18",
        "See that",
        "Tried in vain",
    )
    assert order(terminal(PAGE, **STYLE), *parts, "References", "https://example.org/peft")
    assert order(markdown(PAGE), *parts, "References", "https://example.org/peft")


def test_a_command_stands_right_below_the_words_of_its_fix() -> None:
    lines = terminal(PAGE, **STYLE).splitlines()
    at = lines.index("    python -m pip install 'peft>=0.18'")
    assert lines[at - 1] == "  Take a newer one"
    assert lines[at + 1] == "  Or: go back"


def test_a_part_that_says_nothing_has_no_heading() -> None:
    told = terminal(changed(PAGE, in_vain="", references=()), **STYLE)
    assert "Tried in vain" not in told and "References" not in told


def test_a_title_that_the_words_of_the_fix_say_is_not_repeated() -> None:
    told = terminal(changed(PAGE, fix="Take a newer one, soon."), **STYLE)
    assert told.count("ake a newer one") == 1


def test_the_cases_that_one_fix_cures_stand_together() -> None:
    told = terminal(changed(PAGE, cases=(case(1, "0.5"), case(2, "0.5"), case(3, "0.6"))), **STYLE)
    assert told.count("'peft>=0.5'") == 1
    assert order(told, "'peft>=0.5'", "Reason 1.", "Reason 2.", "'peft>=0.6'", "Reason 3.")


def test_of_very_many_cases_the_releases_are_told_alone() -> None:
    several = changed(PAGE, cases=tuple(case(number, "0.5") for number in range(TOLD_CASES + 2)))
    told = terminal(several, **STYLE)
    assert "Reason" not in told and "peft below" not in told
    assert order(told, "'peft>=0.5'", "      trl 0.1.0 and above\n", "      trl 0.7.0 and above\n")
    assert "| trl 0.1.0 and above | `python -m pip install 'peft>=0.5'` |" in markdown(several)


def test_a_page_in_chinese_has_chinese_headings_and_no_english_titles() -> None:
    told = terminal(changed(PAGE, language="zh", fix="升级。"), **STYLE)
    assert order(told, "这是什么问题", "怎样判断", "解决办法", "或者：", "如何确认", "参考资料")
    assert "Take a newer one" not in told and "What it means" not in told


@pytest.mark.parametrize("width", [20, 40, 80, None])
def test_no_line_of_prose_is_wider_than_the_terminal(width: int | None) -> None:
    lines = terminal(changed(PAGE, why="word " * 60), width=width).splitlines()
    assert width is None or all(len(line) <= width for line in lines if "word" in line)


@given(TEXTS, st.booleans())
def test_nothing_foreign_reaches_the_terminal(text: str, color: bool) -> None:
    fix = Fix(text, ((text, text),))
    hostile = changed(
        PAGE,
        title=text,
        why=text,
        see=text,
        symptoms=(text,),
        fix=text,
        fixes=(fix,),
        cases=(Case(text, text, (), (fix,)),),
    )
    told = re.sub(r"\x1b\[[0-9;]+m", "", terminal(hostile, color=color, unicode=True))
    assert {letter for letter in told if unicodedata.category(letter) in ("Cc", "Cs")} <= {"\n"}


@given(TEXTS)
def test_foreign_text_in_markdown_is_shown_and_never_obeyed(text: str) -> None:
    hostile = changed(PAGE, title=text, why=text, symptoms=(text,), fix=text, references=())
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown(hostile))
    assert not re.search(r"<(script|img|details|a )", html.replace('<a href="https://example.org', ""))


def test_a_list_for_a_terminal_is_by_subject_and_in_a_pipe_one_fault_a_line() -> None:
    faults = (
        Brief("peft/too-old", "peft is too old", ("one", "two", "three", "four")),
        Brief("trl/missing", "No trl"),
    )
    told = page_list.terminal(faults, **STYLE)
    assert (
        order(told, "peft\n", "  peft/too-old", "    peft is too old", "three", "trl\n")
        and "four" not in told
    )
    piped = page_list.terminal(faults).splitlines()
    assert piped == ["peft/too-old\tpeft is too old\tone | two | three", "trl/missing\tNo trl"]


def test_a_list_of_nothing_is_an_empty_line() -> None:
    assert page_list.terminal(()) == "\n"


def test_links_of_the_index_name_the_files() -> None:
    assert "[`peft/too-old`](peft/too-old.md): Old" in page_list.markdown(
        [Brief("peft/too-old", "Old")], ".md"
    )
    assert "](" not in page_list.markdown([Brief("peft/too-old", "Old")])


def test_json_has_the_whole_page_and_its_schema() -> None:
    answer = msgspec.json.decode(page_json.render([PAGE], [Brief("a/b", "c")]))
    assert answer["schema"] == 1
    assert answer["pages"][0]["fixes"][0]["commands"] == [list(INSTALL)]
    assert answer["faults"] == [{"id": "a/b", "title": "c", "symptoms": []}]
    assert page_json.render_lines([PAGE], [Brief("a/b", "c")]).count("\n") == 2


def test_an_answer_says_where_a_page_is_not_translated_and_what_fits_as_well() -> None:
    for told in (
        page_text.terminal([PAGE], [Brief("a/b", "c")], "zh", STYLE),
        page_text.markdown([PAGE], [], "zh"),
    ):
        assert told.startswith("这一页还没有中文版")
        assert "What it means" in told
    assert "a/b: c" in page_text.terminal([PAGE], [Brief("a/b", "c")], "en", STYLE)
