"""A watched run in each of its forms."""

from __future__ import annotations

import io
import json
import os
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory.watching import GIB, MIB, device, failed, gpu, holder, process, run

from doctor import __version__
from doctor.findings import Finding
from doctor.memory.remedies import answered
from doctor.memory.usage import Run
from doctor.memory.watched import diagnosed
from doctor.render import watch_html, watch_json, watch_markdown, watch_plot, watch_text
from doctor.render.layout import Layout
from doctor.render.watch_live import Foot, Moment
from doctor.render.watch_words import sparkline

PLAIN = Layout(width=100)
LEAKING = run(
    process(device(lambda step: 10 * GIB + step * 5 * MIB)),
    gpus=(gpu(others=(GIB, GIB), holders=(holder(GIB),)),),
)
HOSTILE = run(
    process(device()),
    gpus=(gpu(name="<script>alert(1)</script>|`x`", holders=(holder(GIB, name="</svg>\n\x1b[2J"),)),),
)


def findings(told: Run) -> list[Finding]:
    found = diagnosed(told)
    return [*answered(told, found), *found]


def test_the_text() -> None:
    assert watch_text.render(LEAKING, findings(LEAKING), Layout()) == (
        "\n"
        "Watched python for 2 min: exit code 0\n"
        "  over time       _=\n"
        "  GPU 0           NVIDIA GeForce RTX 4090: peak 13.00 GiB of 24.00 GiB, at least 11.00 GiB free\n"
        "  this run        peak 12.00 GiB\n"
        "  others          peak 1.00 GiB: jupyter (pid 4711) 1.00 GiB\n"
        "  torch           2.13.0: 200 optimizer steps\n"
        "  device 0        allocated peak 11.00 GiB, reserved peak 12.00 GiB\n"
        "  system memory   peak 2.00 GiB resident, 2.00 GiB at the end\n"
        "\n"
        "[warn]  Every step leaves 5.00 MiB behind\n"
        "        What is held at the same point of each step grows and does not level off, so "
        "something keeps what a step has made: a loss or an output that is appended with its graph, "
        "a metric, batches.\n"
        "        torch, device 0, right after a step: 10.10 GiB at step 21\n"
        "        torch, device 0, right after a step: 10.97 GiB at step 199\n"
        "        growth a step: 5.00 MiB (99 %: 5.00 MiB to 5.00 MiB) (wanted: none)\n"
        "        until the limit: some 2,463 steps (2,463 to 2,463), about 21 min\n"
        "        1. Keep numbers instead of tensors: loss.item(), or loss.detach() where it stays a tensor.\n"
        "        2. Outputs that are collected: .detach().cpu() before they are appended.\n"
    )


def test_what_could_not_be_seen_is_said() -> None:
    text = watch_text.render(run(hook="impossible"), [], PLAIN)
    assert "no Python found the hook" in text


def test_workers_that_only_import_torch_share_a_row() -> None:
    workers = [process(pid=5000 + number, steps=0) for number in range(50)]
    text = watch_text.render(run(process(device()), *workers), [], Layout())
    assert "50 more processes imported torch; no step and no memory of a GPU was seen" in text
    assert text.count("no optimizer step") == 0 and "200 optimizer steps" in text


def test_of_many_answers_the_first_are_told() -> None:
    told = run(process(device()), exit_code=1, failures=(failed("CUDA out of memory."),))
    text = watch_text.render(told, findings(told), PLAIN)
    assert "        8. " in text and "        9. " not in text
    assert "more, in --output FILE.html" in text


def test_the_json_is_a_promise() -> None:
    whole = json.loads(watch_json.render(LEAKING, findings(LEAKING)))
    assert list(whole) == ["schema", "tool_version", "run", "findings"]
    assert (whole["schema"], whole["tool_version"]) == (1, __version__)
    assert whole["run"]["gpus"][0]["used"] == [[0.0, GIB], [100.0, 13 * GIB]]
    assert whole["findings"][0]["id"] == "memory/leak"


def test_the_markdown() -> None:
    text = watch_markdown.render(LEAKING, findings(LEAKING))
    assert text.startswith("# Watched python for 2 min: exit code 0\n")
    assert "| GPU 0 | NVIDIA GeForce RTX 4090: peak 13.00 GiB of 24.00 GiB" in text
    assert "## warning: Every step leaves 5.00 MiB behind" in text


def test_the_plot_is_svg_with_a_line_for_each_curve() -> None:
    tree = ElementTree.fromstring(watch_plot.render(LEAKING))
    lines = [element for element in tree.iter() if element.tag.endswith("polyline")]
    words = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert len(lines) == 6  # used, this run, others, reserved and allocated; below that the system's memory
    assert {"used, all processes", "torch reserved", "torch allocated", "peak 13.00 GiB", "resident"} <= set(
        words
    )
    assert "prefers-color-scheme: dark" in watch_plot.render(LEAKING)


def test_lines_stay_within_their_panel() -> None:
    tree = ElementTree.fromstring(watch_plot.render(LEAKING))
    for line in (element for element in tree.iter() if element.tag.endswith("polyline")):
        points = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
        for x, y in points:
            assert watch_plot.LEFT <= x <= watch_plot.WIDTH - watch_plot.RIGHT
            assert watch_plot.TOP <= y <= watch_plot.TOP + 2 * watch_plot.PANEL


def test_a_run_of_which_nothing_was_seen_has_a_plot_too() -> None:
    assert "Nothing was seen" in watch_plot.render(run(resident=()))


def test_the_page_stands_by_itself() -> None:
    page = watch_html.render(LEAKING, findings(LEAKING))
    assert page.startswith("<!doctype html>") and "<svg " in page and "<h1>Watched python" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "<script" not in page


def test_foreign_names_are_shown_and_never_obeyed() -> None:
    told = findings(HOSTILE)
    assert "<script>" not in watch_html.render(HOSTILE, told)
    ElementTree.fromstring(watch_plot.render(HOSTILE))
    assert "\x1b" not in watch_text.render(HOSTILE, told, PLAIN)


@given(st.lists(st.tuples(st.floats(0, 1e5), st.integers(0, 1 << 45)), max_size=80), st.integers(1, 50))
def test_a_sparkline_is_as_wide_as_it_may_be(points: list[tuple[float, int]], width: int) -> None:
    curve = tuple(sorted(points))
    line = sparkline(curve, width, None, unicode=True)
    assert len(line) == (min(width, len(curve)) if any(size for _, size in curve) else 0)
    if line:
        assert "█" in line  # the peak is as high as it can be


def test_a_time_without_a_look_stays_as_it_was() -> None:
    assert sparkline(((0, 8), (1, 4), (2, 4), (90, 8)), 4, 8, unicode=True) == "████"
    assert sparkline(((0, 4), (1, 4), (2, 4), (90, 8)), 4, 8, unicode=True) == "▅▅▅█"


@pytest.mark.parametrize(("highest", "scale"), [
    (500 * MIB, (100 * MIB, "MiB")), (24 * GIB, (5 * GIB, "GiB")), (80 * GIB, (20 * GIB, "GiB")),
    (1, (MIB, "MiB")),
])  # fmt: skip
def test_the_grid_is_round(highest: int, scale: tuple[int, str]) -> None:
    step, _, letters = watch_plot.scale(highest)
    assert (step, letters) == scale


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (62.5, "62.5 s"), (200, "3:20"), (3800, "1:03:20")]
)
def test_the_clock(seconds: float, text: str) -> None:
    assert watch_plot.clock(seconds) == text


# The live line


def moment(layout: Layout, used: int | None = 13 * GIB) -> str:
    return Moment().text(
        layout, 1.0, used=used, peak=14 * GIB, total=24 * GIB, free=11 * GIB, others=GIB, allocated=9 * GIB,
        gpu=0, step=1200,
    )  # fmt: skip


def test_the_live_line() -> None:
    assert moment(Layout(unicode=True)) == (
        "GPU 0  ▅  13.00 GiB of 24.00 GiB  peak 14.00 GiB  free 11.00 GiB  others 1.00 GiB  torch 9.00 GiB"
        "  step 1,200"
    )
    assert len(moment(Layout(width=40))) == 39
    assert moment(PLAIN, None) == "watch: nothing seen yet"


def test_the_last_row_is_taken_out_of_what_scrolls_and_given_back() -> None:
    stream, size = io.StringIO(), os.terminal_size((80, 24))
    foot = Foot(stream, lambda: size)
    foot.write("one")
    assert stream.getvalue() == "\n\x1b7\x1b[1;23r\x1b8\x1b[1A\x1b7\x1b[24;1H\x1b[2Kone\x1b8"
    foot.write("two")
    foot.leave()
    assert stream.getvalue().endswith("\x1b7\x1b[24;1H\x1b[2Ktwo\x1b8\x1b7\x1b[r\x1b[24;1H\x1b[2K\x1b8")


def test_a_terminal_of_three_rows_is_left_alone() -> None:
    stream = io.StringIO()
    foot = Foot(stream, lambda: os.terminal_size((80, 3)))
    foot.write("one")
    foot.leave()
    assert stream.getvalue() == ""
