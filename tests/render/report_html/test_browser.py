"""The page as a person meets it: in a real browser, from a file, by mouse, keyboard and screen reader."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.findings import Report
from doctor.render import html, markdown
from doctor.render.report_html import fragment, page
from doctor.render.shell import command_line

from ..machines import MACHINES
from .browser import Browser, browser
from .samples import everything, hostile

pytestmark = [pytest.mark.environments, pytest.mark.program("chromium")]

REPORTS: dict[str, Callable[[], Report]] = {**MACHINES, "everything": everything, "hostile": hostile}
COMMANDS = [command_line(command) for fix in everything().findings[0].fixes for command in fix.commands]
FRAME = "<!doctype html><meta charset=utf-8><body style='color:{};background:{}'>{}"
OPEN_ALL = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"

# Contrast of every text with what lies behind it, as WCAG 2.2 counts; of a gradient, with either end.
FAINT = """
(() => {
  const parse = (text) => (text.match(/rgba?\\([^)]*\\)/g) || [])
    .map((one) => one.match(/[\\d.]+/g).map(Number));
  const light = (color) => color.slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05); };
  const grounds = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at), gradient = parse(style.backgroundImage);
      if (gradient.length) return gradient;
      const [plain] = parse(style.backgroundColor);
      if (plain && (plain.length < 4 || plain[3] === 1)) return [plain];
    }
    return [[255, 255, 255]];
  };
  const found = [];
  const hold = (element, pseudo, least, what) => {
    const [color] = parse(getComputedStyle(element, pseudo).color);
    for (const ground of grounds(element)) {
      const seen = ratio(color, ground);
      if (seen < least) found.push(`${seen.toFixed(2)} ${element.className || element.tagName} ${what}`);
    }
    held += 1;
  };
  let held = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() && element.checkVisibility() && !["SCRIPT", "STYLE"].includes(element.tagName))
      hold(element, null, 4.5, node.data.trim().slice(0, 40));
  }
  for (const prompt of document.querySelectorAll(".command code")) hold(prompt, "::before", 4.5, "prompt");
  for (const sign of document.querySelectorAll(".sign")) hold(sign, null, 3, "sign");
  return { found, held };
})()
"""
CONTROLS = """
[...document.querySelectorAll("a[href], button, summary")].filter((one) => one.checkVisibility())
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of each page."""
    folder = tmp_path_factory.mktemp("pages")
    written = {name: page.render(make()) for name, make in REPORTS.items()}
    written["document"] = html.render(markdown.render(everything()))
    told = fragment.render(everything())
    written |= {
        "on white": FRAME.format("#111", "#fff", told),
        "on black": FRAME.format("#ddd", "#111", told),
    }
    for name, text in written.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in written}


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def happened(tab: Browser, method: str) -> list[dict[str, Any]]:
    return [event["params"] for event in tab.events if event["method"] == method]


def is_in_view(tab: Browser, selector: str) -> bool:
    inside = "box.top >= 0 && box.bottom <= innerHeight && box.height > 0"
    return bool(tab.run(f"(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();"
                        f" return {inside}; }})()"))  # fmt: skip


def click(tab: Browser, selector: str) -> None:
    tab.run(f"document.querySelector('{selector}').focus()")
    tab.press("Enter")


@pytest.mark.parametrize("name", ["everything", "hostile", "document"])
def test_it_loads_from_a_file_and_asks_nobody_for_anything(
    tab: Browser, pages: dict[str, str], name: str
) -> None:
    tab.open(pages[name])
    tab.run("new Promise((done) => setTimeout(done, 100))")
    assert [one["request"]["url"] for one in happened(tab, "Network.requestWillBeSent")] == [pages[name]]
    for trouble in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
        assert happened(tab, trouble) == []
    assert happened(tab, "Page.javascriptDialogOpening") == []


def test_the_verdict_is_the_first_thing_seen(tab: Browser, pages: dict[str, str]) -> None:
    for width in (360, 1280):
        tab.open(pages["everything"], width=width)
        assert tab.run("document.querySelector('h1').innerText") == "Broken"
        assert is_in_view(tab, "h1") and is_in_view(tab, ".verdict .lead")


CLIPBOARD = "window.kept = navigator.clipboard;"
MISSING = f"{CLIPBOARD} Object.defineProperty(navigator, 'clipboard', {{ value: undefined }});"
REFUSED = f"{CLIPBOARD} navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"


@pytest.mark.parametrize("before", [CLIPBOARD, MISSING, REFUSED], ids=["there", "missing", "refused"])
def test_a_button_copies_the_command(tab: Browser, pages: dict[str, str], before: str) -> None:
    tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    tab.open(pages["everything"], before=before)
    buttons = tab.run("[...document.querySelectorAll('#root .copyable button')].map((one) => one.ariaLabel)")
    assert buttons[: len(COMMANDS)] == [f"Copy: {command}" for command in COMMANDS]
    for number, command in enumerate(COMMANDS):
        tab.run(f"document.querySelectorAll('#root .copyable button')[{number}].focus()")
        tab.press("Enter" if number else " ")
        tab.wait("document.getElementById('told').textContent === 'Copied'")
        assert tab.run("kept.readText()") == command
        assert tab.run("document.activeElement.textContent") == "Copied"


def test_where_nothing_can_copy_the_command_lies_selected(tab: Browser, pages: dict[str, str]) -> None:
    tab.open(pages["everything"], before=f"{MISSING} document.execCommand = () => false;")
    click(tab, "#root .copyable button")
    tab.wait("document.getElementById('told').textContent === 'Press Ctrl+C'")
    assert tab.run("getSelection().toString()") == COMMANDS[0]


def test_what_is_hostile_is_copied_as_it_is_shown(tab: Browser, pages: dict[str, str]) -> None:
    tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    tab.open(pages["hostile"], before=CLIPBOARD)
    click(tab, "#root .copyable button")
    tab.wait("document.getElementById('told').textContent === 'Copied'")
    (command,) = hostile().findings[0].fixes[0].commands
    assert tab.run("kept.readText()") == command_line(command)


@pytest.mark.parametrize("dark", [False, True])
def test_a_button_changes_the_theme(tab: Browser, pages: dict[str, str], dark: bool) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.open(pages["everything"], dark=dark)
    before = tab.run(ground)
    assert tab.run("document.getElementById('theme').innerText") == ("Light theme" if dark else "Dark theme")
    click(tab, "#theme")
    after = tab.run(ground)
    assert after != before
    assert tab.run("document.getElementById('theme').innerText") == ("Dark theme" if dark else "Light theme")
    tab.open(pages["everything"], dark=not dark)
    assert tab.run(ground) == after


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["everything", "healthy_cpu", "nothing_installed", "document"])
def test_all_text_stands_out(tab: Browser, pages: dict[str, str], name: str, dark: bool) -> None:
    tab.open(pages[name], dark=dark)
    tab.run(OPEN_ALL)
    told = tab.run(FAINT)
    assert told["found"] == [] and told["held"] > 30


@pytest.mark.parametrize("name", ["on white", "on black"])
def test_a_fragment_stands_out_on_any_ground(tab: Browser, pages: dict[str, str], name: str) -> None:
    tab.open(pages[name])
    tab.run(OPEN_ALL)
    told = tab.run(FAINT)
    assert told["found"] == [] and told["held"] > 30


def test_the_keyboard_reaches_every_control_in_order(tab: Browser, pages: dict[str, str]) -> None:
    tab.open(pages["everything"])
    tab.run(f"window.controls = {CONTROLS}; window.at = -1; window.dull = [];")
    look = """(() => {
      const now = document.activeElement, style = getComputedStyle(now);
      const ring = style.outlineStyle === "solid" && parseFloat(style.outlineWidth) >= 2;
      if (!ring || now.getBoundingClientRect().bottom <= 0) dull.push(now.outerHTML.slice(0, 80));
      return controls.indexOf(now);
    })()"""
    count = tab.run("controls.length")
    assert count > 20
    for number in range(count):
        tab.press("Tab")
        assert tab.run(look) == number
    assert tab.run("dull") == []
    tab.press("Tab", shift=True)
    assert tab.run(look) == count - 2


def test_the_keyboard_skips_to_the_report_and_opens_what_is_folded(
    tab: Browser, pages: dict[str, str]
) -> None:
    tab.open(pages["everything"])
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Skip to the report"
    tab.press("Enter")
    tab.wait("location.hash === '#main'")
    folded = "#others article:nth-of-type(1) details"
    assert not tab.run(f"document.querySelector('{folded}').open")
    click(tab, f"{folded} summary")
    tab.wait(f"document.querySelector('{folded}').open")


def test_a_link_of_a_card_opens_its_finding(tab: Browser, pages: dict[str, str]) -> None:
    tab.open(pages["everything"])
    target = "document.querySelector('#others article details')"
    assert tab.run(f"{target}.open") is False
    click(tab, '#seen a[href="#finding-2"]')
    tab.wait(f"{target}.open")
    assert is_in_view(tab, "#finding-2 h3")


def named(nodes: list[dict[str, Any]], role: str) -> list[str]:
    return [
        node.get("name", {}).get("value", "")
        for node in nodes
        if not node.get("ignored") and node["role"]["value"] == role
    ]


def test_a_screen_reader_is_told_what_everything_is(tab: Browser, pages: dict[str, str]) -> None:
    tab.open(pages["everything"])
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    for role in ("banner", "main", "navigation", "contentinfo", "status"):
        assert len(named(nodes, role)) == 1, role
    for role in ("button", "heading", "link", "region", "article", "image", "DisclosureTriangle"):
        assert named(nodes, role) and all(named(nodes, role)), role
    levels = [
        property["value"]["value"]
        for node in nodes
        if not node.get("ignored") and node["role"]["value"] == "heading"
        for property in node["properties"]
        if property["name"] == "level"
    ]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    assert "What was seen" in named(nodes, "region")
    assert "GPU 0: NVIDIA GeForce RTX 4090: 1.0 GiB of 24.0 GiB used, 23.0 GiB free" in named(nodes, "image")


@pytest.mark.parametrize("width", [320, 360, 768, 2560])
@pytest.mark.parametrize("name", ["everything", "hostile"])
def test_it_never_scrolls_sideways(tab: Browser, pages: dict[str, str], name: str, width: int) -> None:
    tab.open(pages[name], width=width)
    tab.run(OPEN_ALL)
    assert tab.run("document.documentElement.scrollWidth") <= width


def test_it_prints_with_its_findings_open(tab: Browser, pages: dict[str, str]) -> None:
    tab.open(pages["everything"], dark=True)
    closed = "document.querySelectorAll('article.finding details:not([open])').length"
    before = tab.run(closed)
    assert before > 1
    tab.run(f"addEventListener('beforeprint', () => {{ window.left = {closed}; }})")
    printed = base64.b64decode(tab.call("Page.printToPDF")["data"])
    assert printed.startswith(b"%PDF-") and len(printed) > 20_000
    assert tab.run("window.left") == 0 and tab.run(closed) == before
    tab.call("Emulation.setEmulatedMedia", media="print", features=[])
    tab.run(OPEN_ALL)
    assert tab.run(FAINT)["found"] == []


def test_without_scripts_no_control_is_dead(tab: Browser, pages: dict[str, str], tmp_path: Path) -> None:
    tab.open("about:blank#first")
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.call("Page.navigate", url=pages["everything"])
    tab.wait("document.readyState === 'complete' && location.protocol === 'file:'")
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert (
        tab.run("[...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).length") == 0
    )
    assert COMMANDS[0] in tab.run("document.querySelector('#root').innerText")
