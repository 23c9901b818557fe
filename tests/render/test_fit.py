"""Answers of ``fit``, compared letter by letter. ``UPDATE_GOLDEN=1 pytest tests/render`` writes them anew."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from memory.billing import GIB, SHAPE, Billing, device, estimate

from doctor.memory.answer import Answer
from doctor.memory.answering import Question, answered
from doctor.memory.plan import Plan
from doctor.render import fit_html, fit_json, fit_markdown, fit_svg, fit_terminal

GOLDEN = Path(__file__).parent / "golden_fit"
SETTLED = Plan(kbit_upcast=True, fused_loss=False, adapter_dtype="float32", reentrant=False)
SHOWN = device(11.7, total_bytes=12 * GIB, others={"Xorg": GIB // 5})
SCRIPT = {"Python": 'name = "example/seven-billion"\n', "LLaMA-Factory": "stage: sft\n"}


def answer_to(**fields: object) -> Answer:
    question = Question(**{"shape": SHAPE, "plan": SETTLED, "device": SHOWN, **fields})  # type: ignore[arg-type]
    return answered(question, Billing(), Billing("formula"), Billing("formula"))


ANSWERS: dict[str, Callable[[], Answer]] = {
    "does_not_fit": lambda: answer_to(best=True, table=True),
    "searched": lambda: msgspec.structs.replace(answer_to(searched=True), snippets=SCRIPT),
    "nothing_fits": lambda: answer_to(searched=True, device=device(2.0)),
    "no_device": lambda: answer_to(device=device(None, name="")),
}
FORMS: dict[str, Callable[[Answer], str]] = {
    "txt": lambda answer: fit_terminal.render(answer, width=80),
    "unicode.txt": lambda answer: fit_terminal.render(answer, width=80, unicode=True),
    "narrow.txt": lambda answer: fit_terminal.render(answer, width=40, unicode=True),
    "md": fit_markdown.render,
    "json": fit_json.render,
    "svg": fit_svg.render,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ANSWERS)
def test_answer(name: str, form: str) -> None:
    told = re.sub(r'("tool_version": )"[^"]+"', r'\1"x"', FORMS[form](ANSWERS[name]()))
    file = GOLDEN / f"{name}.{form}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


def test_every_golden_file_is_compared() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == {
        f"{name}.{form}" for name in ANSWERS for form in FORMS
    }


@pytest.mark.parametrize("name", ANSWERS)
def test_a_terminal_of_80_columns_of_ascii_is_enough(name: str) -> None:
    text = fit_terminal.render(ANSWERS[name](), width=80)
    assert text.isascii() and max(map(len, text.splitlines())) <= 80


def test_json_has_what_is_promised() -> None:
    told = json.loads(fit_json.render(ANSWERS["does_not_fit"]()))
    assert told["schema"] == 1 and told["fits"] is False and told["device_bytes"] == 12 * GIB
    assert told["peak_bytes"] == told["peak_reserved_bytes"] + told["context_bytes"]
    assert sum(told["parts"].values()) == told["peak_bytes"]
    assert set(told["parts"]) <= set(
        "weights adapter gradients optimizer activations logits overhead".split()
    )
    assert {one["name"] for one in told["advice"]} >= {"fused-loss", "half-length"}
    assert told["trainable_parameters"] == 40_000_000


def test_json_without_a_device_claims_nothing() -> None:
    told = json.loads(fit_json.render(ANSWERS["no_device"]()))
    assert told["fits"] is None and told["verdict"] == "unknown" and told["device_bytes"] is None
    assert told["tiers"]["16 GB"] == "fits" and told["tiers"]["12 GB"] == "does-not-fit"


def test_a_line_of_json_is_one_line() -> None:
    assert fit_json.render_line(ANSWERS["searched"]()).count("\n") == 1


def test_the_bar_is_as_long_as_the_peak_and_the_mark_stands_where_memory_ends() -> None:
    lines = fit_terminal.render(ANSWERS["does_not_fit"](), width=80).splitlines()
    at = next(index for index, line in enumerate(lines) if line.rstrip().startswith("  ###"))
    assert len(lines[at]) == 78  # the peak does not fit: the bar takes all the room
    peak_gib = estimate(SETTLED).peak_bytes / GIB
    assert lines[at + 1].index("^") == 1 + round(76 * 11.7 / peak_gib)


def test_the_parts_of_the_picture_are_as_wide_as_they_are_large() -> None:
    answer = ANSWERS["does_not_fit"]()
    root = ElementTree.fromstring(fit_svg.render(answer))
    space = "{http://www.w3.org/2000/svg}"
    bars = [rect for rect in root.iter(f"{space}rect") if rect.get("class") == "edge"]
    widths = {bar[0].text: float(bar.get("width", "0")) for bar in bars}
    whole = sum(widths.values())
    assert whole == pytest.approx(720, abs=1)
    peak = answer.estimate.peak_bytes
    assert widths["logits: 8.00 GiB"] / whole == pytest.approx(8 * GIB / peak, abs=0.002)


def test_the_picture_says_in_words_what_it_shows() -> None:
    root = ElementTree.fromstring(fit_svg.render(ANSWERS["searched"]()))
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img" and root.get("aria-labelledby") == "title desc"
    assert "weights 4.00 GiB" in (root.findtext(f"{space}desc") or "")
    assert "prefers-color-scheme: dark" in (root.findtext(f"{space}style") or "")


HOSTILE = "</title><script>alert(1)</script>\x1b[31m `|` <b>"


def test_foreign_names_are_shown_and_never_obeyed() -> None:
    shape = msgspec.structs.replace(SHAPE, name=HOSTILE, notes=(HOSTILE,))
    answer = answer_to(
        shape=shape, device=device(11.7, name=HOSTILE, others={HOSTILE: GIB}, total_bytes=12 * GIB)
    )
    assert "<script" not in fit_svg.render(answer)
    ElementTree.fromstring(fit_svg.render(answer))
    page = fit_html.render(answer)
    assert "<script" not in page and "\x1b" not in page
    assert "\x1b" not in fit_terminal.render(answer, width=80)


def test_a_page_holds_picture_and_words() -> None:
    page = fit_html.render(ANSWERS["does_not_fit"]())
    assert page.count("<svg") == 1 and "</svg>" in page and "<table>" in page and "&lt;svg" not in page
