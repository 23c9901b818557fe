"""The page as text: well formed, inert whatever it is told, complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given

from doctor.cli.output import FILE_STYLE, rendered
from doctor.findings import Finding, Report
from doctor.plain import plain
from doctor.render.report_html import fragment, page
from doctor.render.report_html.markup import join, tag, text
from doctor.render.shell import command_line

from ..hostile import TEXTS, reports
from ..machines import MACHINES, broken_pair, healthy_cpu
from .samples import LOAD, everything, hostile

ALONE = {"meta", "br"}
TAGS = set(
    """
    html head meta title style body a header span svg path button main section div h1 h2 h3 h4 p dl dt dd
    nav ul li article details summary pre code table thead tbody tr th td figure figcaption strong rect
    footer script
    """.split()
)
REPORTS = {**MACHINES, "everything": everything, "hostile": hostile}


class Read(HTMLParser):
    """A page as a reader of HTML takes it: elements, their attributes, and the text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.shown = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), tag
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.shown += data

    def attributes(self, name: str) -> list[str]:
        return [
            value or "" for _, attributes in self.elements for key, value in attributes.items() if key == name
        ]


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_well_formed(name: str) -> None:
    told = Read(page.render(REPORTS[name]()))
    assert told.open == []
    ids = told.attributes("id")
    assert len(ids) == len(set(ids))
    targets = [link[1:] for link in told.attributes("href")]
    targets += [one for attribute in ("aria-labelledby",) for one in told.attributes(attribute)]
    assert set(targets) <= set(ids)


def test_one_fault_of_two_gpus_has_two_articles() -> None:
    report = everything()
    twice = msgspec.structs.replace(report, findings=(*report.findings, *report.findings))
    names = [name for name in Read(page.render(twice)).attributes("id") if name.startswith("finding-")]
    assert len(names) == len(set(names)) == 4 * len(report.findings)


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_loaded_from_anywhere(name: str) -> None:
    told = Read(page.render(REPORTS[name]()))
    assert told.attributes("src") == [] and all(link.startswith("#") for link in told.attributes("href"))
    policy = next(a["content"] or "" for _, a in told.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    assert not {key for _, attributes in told.elements for key in attributes if key.startswith("on")}
    assert "style" not in {key for _, attributes in told.elements for key in attributes}


@given(reports())
def test_nothing_foreign_is_obeyed(report: Report) -> None:
    for render in (page.render, fragment.render):
        told = Read(render(report))
        assert told.open == []
        assert {name for name, _ in told.elements} <= TAGS
        assert sum(name == "script" for name, _ in told.elements) == (render is page.render)
        assert not re.search(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", told.shown
        )


@given(TEXTS)
def test_text_is_shown_and_never_obeyed(foreign: str) -> None:
    element = Read(tag("p", foreign, title=foreign))
    assert [name for name, _ in element.elements] == ["p"]
    assert element.shown == Read(tag("p", text(foreign))).shown == Read(join([tag("p", foreign)])).shown


def test_attributes() -> None:
    assert tag("p", class_="a b", aria_label='"x"', hidden=True, open=False, id="") == (
        '<p class="a b" aria-label="&quot;x&quot;" hidden></p>'
    )
    assert tag("br") == "<br>"


def said_of(finding: Finding) -> Iterator[str]:
    yield from (finding.id, finding.title, *finding.why.split("\n\n"), *finding.breaks)
    for one in (*finding.evidence, *finding.against):
        yield from (one.subject, *one.seen.splitlines(), one.wanted, one.where)
    for fix in finding.fixes:
        yield from (fix.title, *map(command_line, fix.commands))
    for symptom in finding.symptoms:
        yield from said_of(symptom)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("render", [page.render, fragment.render], ids=["page", "fragment"])
def test_all_of_each_finding_is_told(name: str, render: Callable[[Report], str]) -> None:
    report = REPORTS[name]()
    told = words(Read(render(report)).shown)
    assert [line for one in report.findings for line in said_of(one) if words(plain(line)) not in told] == []


@pytest.mark.parametrize("name", REPORTS)
def test_headings_do_not_skip_a_level(name: str) -> None:
    levels = [
        int(tag[1]) for tag, _ in Read(page.render(REPORTS[name]())).elements if re.fullmatch(r"h\d", tag)
    ]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


def test_what_was_not_seen_and_not_judged_is_visible() -> None:
    told = words(Read(page.render(healthy_cpu())).shown)
    for gap in healthy_cpu().gaps:
        assert gap.reason in told
    assert "3 rules could not be asked, for want of driver and gpus." in told
    assert all(rule.id in told for rule in healthy_cpu().not_judged)


def test_the_bars_are_as_long_as_what_they_show() -> None:
    told = Read(page.render(everything()))
    wide = [
        (attributes["class"], float(attributes["width"] or 0))
        for name, attributes in told.elements
        if name == "rect"
    ]
    used = [width for kind, width in wide if kind == "used"]
    assert used == pytest.approx([1000 / 24, 1000 / 24, 1000 * (1 - 20 / 23.51)], abs=1)
    parts = [width for kind, width in wide if kind == "part"][: len(LOAD.parts)]
    assert parts == pytest.approx([4000 / 24, 8000 / 24, 4000 / 24], abs=0.1)
    labels = told.attributes("aria-label")
    assert "GPU 0: NVIDIA GeForce RTX 4090: 1.0 GiB of 24.0 GiB used, 23.0 GiB free" in labels


def test_memory_that_is_not_told_has_no_bar() -> None:
    report = everything()
    cards = tuple(msgspec.structs.replace(one, memory_total_bytes=None) for one in report.facts.gpus or ())
    facts = msgspec.structs.replace(report.facts, gpus=cards, workload=None)
    told = Read(page.render(msgspec.structs.replace(report, facts=facts)))
    assert told.shown.count("its memory is not told") == 2
    assert [a["class"] for name, a in told.elements if name == "svg" and a.get("class") == "bar"] == ["bar"]


def test_a_plan_that_does_not_fit_is_no_green_light() -> None:
    report = msgspec.structs.replace(broken_pair(), verdict="healthy")
    assert '<section class="panel verdict warn"' in page.render(report)
    assert '<section class="panel verdict ok"' in page.render(healthy_cpu())


def test_a_fragment_reaches_nothing_outside_of_itself() -> None:
    told = Read(fragment.render(everything()))
    assert told.elements[0] == ("div", {"class": "lora-doctor"})
    assert told.attributes("id") == [] and told.attributes("href") == []
    style = re.search(r"<style>(.*?)</style>", fragment.render(everything()), re.S)
    assert style and all(
        rule.strip().startswith(".lora-doctor") for rule in re.findall(r"([^{}]+)\{", style[1])
    )


def test_it_is_what_the_format_html_gives() -> None:
    assert rendered(everything(), "html", FILE_STYLE) == page.render(everything())


@pytest.mark.parametrize("name", REPORTS)
def test_pages_are_of_modest_size(name: str) -> None:
    assert len(page.render(REPORTS[name]()).encode()) < 100_000
