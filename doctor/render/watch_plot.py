"""The curves of a watched run as SVG: one panel a GPU, or the memory of the system where no GPU was used.

The colours are those of M. Okabe and K. Ito (jfly.uni-koeln.de/color), which the colour-blind tell apart too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from doctor.memory.amounts import GIB, MIB, amount
from doctor.memory.usage import Curve, Run
from doctor.render.watch_words import heading, peak

WIDTH, PANEL, TOP = 960, 260, 44
LEFT, RIGHT, ABOVE, BELOW = 76, 200, 30, 40
MOST_POINTS = 1200  # of a line: more than it has pixels

STYLE = """
svg { font: 13px system-ui, sans-serif; background: #fff; }
text { fill: #222; } .quiet { fill: #666; } .grid { stroke: #ddd; }
.ceiling { stroke: #c00; stroke-dasharray: 6 4; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c; } text { fill: #e6e6e6; } .quiet { fill: #9a9a9a; } .grid { stroke: #33363c; }
  .ceiling { stroke: #ff6b6b; }
}
"""


class Drawn(NamedTuple):
    """One line of a panel."""

    label: str
    curve: Curve
    color: str


class Panel(NamedTuple):
    """Lines over the same time and the same sizes."""

    title: str
    lines: tuple[Drawn, ...]
    ceiling: int | None


def render(run: Run) -> str:
    """The whole picture."""
    drawn = [panel for panel in panels(run) if any(line.curve for line in panel.lines)]
    height = TOP + PANEL * max(len(drawn), 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}" role="img" aria-label="{escape(heading(run))}">',
        f"<style>{STYLE}</style>",
        f'<text x="{LEFT}" y="26" font-size="16">{escape(heading(run))}</text>',
    ]
    for number, panel in enumerate(drawn):
        parts += _panel(panel, TOP + number * PANEL, max(run.seconds, 0.1))
    if not drawn:
        parts.append(f'<text x="{LEFT}" y="{TOP + 40}" class="quiet">Nothing was seen.</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def panels(run: Run) -> Iterator[Panel]:
    """What is drawn together."""
    for gpu in run.gpus:
        torch = [device for one in run.processes for device in one.devices if device.gpu == gpu.index]
        lines = [Drawn("used, all processes", gpu.used, "#0072b2"), Drawn("this run", gpu.own, "#56b4e9")]
        lines.append(Drawn("other processes", gpu.others if peak(gpu.others) else (), "#999999"))
        for device in torch[:1]:
            lines.append(Drawn("torch reserved", device.reserved, "#e69f00"))
            lines.append(Drawn("torch allocated", device.allocated, "#009e73"))
        yield Panel(
            f"GPU {gpu.index} {gpu.name}", tuple(line for line in lines if line.curve), gpu.total_bytes
        )
    yield Panel("System memory", (Drawn("resident", run.resident, "#cc79a7"),), None)


def _panel(panel: Panel, top: int, seconds: float) -> Iterator[str]:
    highest = max(max(peak(line.curve) for line in panel.lines), 1)
    near = panel.ceiling if panel.ceiling and highest > panel.ceiling / 3 else None
    step, unit, letters = scale(max(highest, near or 0))
    size = step * (int(max(highest, near or 0) / step) + 1)
    width, height = WIDTH - LEFT - RIGHT, PANEL - ABOVE - BELOW

    def x(at_s: float) -> float:
        return LEFT + width * at_s / seconds

    def y(held: float) -> float:
        return top + ABOVE + height * (1 - held / size)

    yield f'<text x="{LEFT}" y="{top + 18}">{escape(panel.title)}</text>'
    for number in range(int(size / step) + 1):
        at = y(number * step)
        yield f'<line class="grid" x1="{LEFT}" x2="{LEFT + width}" y1="{at:.1f}" y2="{at:.1f}"/>'
        words = f"{number * step / unit:g} {letters}"
        yield f'<text class="quiet" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{words}</text>'
    for part in range(5):
        at_s = seconds * part / 4
        yield (
            f'<text class="quiet" x="{x(at_s):.1f}" y="{top + PANEL - BELOW + 18}" text-anchor="middle">'
            f"{clock(at_s)}</text>"
        )
    if near:
        yield f'<line class="ceiling" x1="{LEFT}" x2="{LEFT + width}" y1="{y(near):.1f}" y2="{y(near):.1f}"/>'
    for number, line in enumerate(panel.lines):
        points = " ".join(f"{x(at_s):.1f},{y(held):.1f}" for at_s, held in fewer(line.curve))
        yield f'<polyline class="line" stroke="{line.color}" points="{points}"/>'
        at = top + ABOVE + 14 + number * 32
        yield f'<rect x="{LEFT + width + 16}" y="{at - 9}" width="12" height="4" fill="{line.color}"/>'
        yield f'<text x="{LEFT + width + 34}" y="{at - 2}">{escape(line.label)}</text>'
        words = f"peak {amount(peak(line.curve))}"
        yield f'<text class="quiet" x="{LEFT + width + 34}" y="{at + 13}">{words}</text>'


def scale(highest: int) -> tuple[int, int, str]:
    """A round distance between lines of the grid, in bytes, and its unit."""
    unit, letters = (GIB, "GiB") if highest >= 2 * GIB else (MIB, "MiB")
    steps = (number * 10**power for power in range(6) for number in (1, 2, 5))
    step = next((step for step in steps if highest / unit / step <= 6), 500_000)
    return step * unit, unit, letters


def clock(seconds: float) -> str:
    """ "12 s", "3:20", "1:03:20"."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def fewer(curve: Curve) -> Sequence[tuple[float, int]]:
    """At most as many points as can be seen, each the highest of its share."""
    if len(curve) <= MOST_POINTS:
        return curve
    edges = [round(part * len(curve) / MOST_POINTS) for part in range(MOST_POINTS + 1)]
    shares = (curve[start:end] for start, end in zip(edges, edges[1:], strict=False))
    return [max(share, key=lambda point: point[1]) for share in shares]
