"""Memory as bars: each GPU with what is used and free, a plan with its parts against the device."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts, Gpu, Workload
from doctor.render.describe import gib, listed
from doctor.render.fit_svg import COLORS
from doctor.render.report_html.findings import table
from doctor.render.report_html.markup import Html, Piece, join, tag

_WIDTH = 1000  # units of a bar's picture, which is stretched to the page


def memory(facts: Facts) -> Html:
    """The bars of what this machine has; nothing where nobody tells of memory."""
    bars = [*_gpus(facts), *_others(facts), *_system(facts)]
    return tag("div", *bars, class_="panel bars machine") if bars else Html()


def _gpus(facts: Facts) -> Iterator[Html]:
    for gpu in facts.gpus or ():
        name = f"GPU {gpu.index}: {gpu.name}"
        if gpu.mig_instances:
            for one in gpu.mig_instances:
                yield _bar(f"GPU {gpu.index}: {one.name}", one.memory_total_bytes, one.memory_free_bytes)
        elif gpu.shares_memory:
            yield _untold(name, "it uses the memory of the system")
        else:
            yield _bar(name, gpu.memory_total_bytes, gpu.memory_free_bytes, _holders(gpu))


def _others(facts: Facts) -> Iterator[Html]:
    for one in facts.accelerators or ():
        if one.memory_total_bytes is not None:
            yield _bar(one.name, one.memory_total_bytes, None)


def _system(facts: Facts) -> Iterator[Html]:
    seen = facts.system
    if seen:
        yield _bar("System memory", seen.ram_total_bytes, seen.ram_available_bytes)


def _holders(gpu: Gpu) -> str:
    """Who holds it: "python 3.0 GiB and Xorg"."""
    held = [
        f"{one.name} {gib(one.memory_bytes)}" if one.memory_bytes is not None else one.name
        for one in gpu.processes or ()
    ]
    return f"held by {listed(held)}" if held else ""


def _bar(name: str, total: int | None, free: int | None, remark: str = "") -> Html:
    if total is None or total <= 0:
        return _untold(name, "its memory is not told")
    if free is None:
        return _untold(name, f"{gib(total)}, how much is free is not told")
    used = min(max(total - free, 0), total)
    words = f"{gib(used)} of {gib(total)} used, {gib(free)} free"
    share = _rect(0, used / total, "used")
    picture = _picture(f"{name}: {words}", [_rect(0, 1, "free"), share])
    told = tag("figcaption", tag("strong", name), tag("span", words))
    return tag("figure", told, picture, tag("p", remark, class_="dim") if remark else "")


def _untold(name: str, words: str) -> Html:
    return tag("figure", tag("figcaption", tag("strong", name), tag("span", words)))


def plan(load: Workload) -> Html:
    """The parts of a plan's peak, the room that its error leaves, and what the device has free."""
    whole = max(load.most_bytes, load.free_bytes or 0, load.total_bytes or 0, 1)
    rects, reached = [_rect(0, 1, "free")], 0
    for name, size in load.parts.items():
        rects.append(_rect(reached / whole, size / whole, "part", COLORS.get(name, COLORS["overhead"])))
        reached += size
    if not load.parts:
        rects.append(_rect(0, load.needed_bytes / whole, "used"))
    rects.append(_rect(load.least_bytes / whole, (load.most_bytes - load.least_bytes) / whole, "doubt"))
    if load.free_bytes is not None:
        at = load.free_bytes / whole
        rects += [_rect(at - 0.004, 0.008, "halo"), _rect(at - 0.0015, 0.003, "mark")]
    words = _need(load)
    caption = tag("figcaption", tag("strong", f"{load.model}: {load.plan}"), tag("span", words))
    picture = _picture(f"{words}; {listed(_parts(load))}", rects, tall=True)
    return tag("div", tag("figure", caption, picture, _legend(load)), *_below(load), class_="panel bars")


def _need(load: Workload) -> str:
    free = "no GPU is seen" if load.free_bytes is None else f"{gib(load.free_bytes)} are free"
    device = f" on {load.device}" if load.device else ""
    return f"needs {gib(load.needed_bytes)}, give or take {load.error:.0%}; {free}{device}"


def _parts(load: Workload) -> list[str]:
    return [f"{name} {gib(size)}" for name, size in load.parts.items()]


def _legend(load: Workload) -> Html:
    keys = [
        _key(words, "part", COLORS.get(name, COLORS["overhead"]))
        for name, words in zip(load.parts, _parts(load), strict=True)
    ]
    keys.append(
        _key(f"from {gib(load.least_bytes)} to {gib(load.most_bytes)}: what the error leaves open", "doubt")
    )
    if load.free_bytes is not None:
        keys.append(_key(f"{gib(load.free_bytes)} free on the device", "mark"))
    return tag("ul", *keys, class_="legend")


def _key(words: str, kind: str, color: str = "") -> Html:
    swatch = tag("svg", _rect(0, 1, kind, color), viewBox=f"0 0 {_WIDTH} 10", preserveAspectRatio="none",
                 aria_hidden="true", focusable="false")  # fmt: skip
    return tag("li", swatch, words)


def _below(load: Workload) -> Iterator[Piece]:
    if load.holders:
        held = [f"{name} {gib(size)}" for name, size in load.holders.items()]
        yield tag("p", f"The rest of the device is held by {listed(held)}.")
    told = [
        f"The peak is in {load.moment}." if load.moment else "",
        f"Estimated by {load.tier}.",
        *load.assumed,
    ]
    yield tag("p", " ".join(filter(None, told)), class_="dim")
    if load.reliefs:
        rows = [
            (one.title, gib(one.saves_bytes), "yes" if one.fits else "no", one.cost) for one in load.reliefs
        ]
        yield tag("h3", "What would make it smaller")
        yield table(("change", "saves", "fits then", "cost"), rows)


def _picture(words: str, rects: list[Html], *, tall: bool = False) -> Html:
    return tag("svg", *rects, class_="bar tall" if tall else "bar", viewBox=f"0 0 {_WIDTH} 10",
               preserveAspectRatio="none", role="img", aria_label=words)  # fmt: skip


def _rect(start: float, share: float, kind: str, color: str = "") -> Html:
    """A stretch of the bar, from and as wide as these shares of it."""
    x, width = (min(max(part, 0), 1) * _WIDTH for part in (start, share))
    return tag("rect", x=f"{x:.1f}", width=f"{width:.1f}", height="10", class_=kind, fill=color)


def sections(facts: Facts) -> Html:
    """Both kinds of bars."""
    return join([memory(facts), plan(facts.workload) if facts.workload else ""])
