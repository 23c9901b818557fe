"""A set for people and for installers: the table with its reasons, Markdown, a constraints file, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.plain import one_line
from doctor.render import markdown_text
from doctor.render.json_report import encode
from doctor.render.layout import Layout
from doctor.render.shell import command_line
from doctor.resolution import Resolution


def render(
    resolution: Resolution,
    *,
    width: int | None = None,
    color: bool = False,
    unicode: bool = False,
    windows: bool = False,
) -> str:
    """The set as a table, why it is this one, and the commands that install it."""
    layout = Layout(width, color, unicode)
    lines = list(_set(resolution, layout, windows) if resolution.pins else _no_set(resolution, layout))
    return "\n".join(lines) + "\n"


def _set(resolution: Resolution, layout: Layout, windows: bool) -> Iterator[str]:
    yield from layout.wrap(f"A set for {resolution.machine}", 0, "strong")
    yield ""
    for name, version in resolution.pins.items():
        yield layout.clean(f"  {name:20}{version:12}{one_line(_remark(resolution, name))}").rstrip()
    yield from _listed("Why", resolution.because, layout)
    yield from _listed("Note", resolution.warnings, layout)
    for installer, commands in resolution.installers.items():
        yield from ("", layout.paint(f"Install with {installer}", "strong"))
        for command in commands:
            yield "  " + layout.paint(layout.clean(command_line(command, windows=windows)), "command")
    yield from ("", *layout.wrap(_verdict(resolution.verified), 0, "ok" if resolution.verified else "dim"))


def _remark(resolution: Resolution, name: str) -> str:
    """torch's build, and what is installed in place of a pick."""
    build = f"{resolution.torch_variant} build" if name == "torch" and resolution.torch_variant else ""
    installed = resolution.changes.get(name)
    change = "" if installed is None else f"now {installed}" if installed else "not installed yet"
    return ", ".join(part for part in (build, change) if part)


def _verdict(verified: bool | None) -> str:
    if verified is None:
        return "Not verified; --verify asks the target's own installer for a dry run."
    return (
        "Verified: the target's own installer agrees."
        if verified
        else "The target's own installer refuses this set."
    )


def _no_set(resolution: Resolution, layout: Layout) -> Iterator[str]:
    yield from layout.wrap(f"No set for {resolution.machine}", 0, "bad")
    yield from _listed("Why", resolution.because, layout)
    yield from _listed("Ways out", resolution.ways_out, layout)


def _listed(title: str, sentences: Sequence[str], layout: Layout) -> Iterator[str]:
    """A heading and its sentences; nothing where there are none."""
    if sentences:
        yield from ("", layout.paint(title, "strong"))
        for sentence in sentences:
            first, *rest = layout.wrap(sentence, 4)
            yield from ("  - " + first[4:], *rest)


def markdown(resolution: Resolution) -> str:
    """The same for an issue or a chat."""
    if not resolution.pins:
        parts = [f"**No set for {markdown_text.prose(resolution.machine)}**", *_bullets(resolution.because)]
        return "\n".join([*parts, *_bullets(resolution.ways_out)]) + "\n"
    rows = [(name, version, _remark(resolution, name)) for name, version in resolution.pins.items()]
    shell = "\n".join(command_line(command) for command in resolution.commands)
    parts = [
        f"**A set for {markdown_text.prose(resolution.machine)}**\n",
        markdown_text.table(("package", "version", ""), rows) + "\n",
        *_bullets([*resolution.because, *resolution.warnings]),
        "",
        markdown_text.fenced(shell, "sh"),
        _verdict(resolution.verified),
    ]
    return "\n".join(parts) + "\n"


def _bullets(sentences: Sequence[str]) -> list[str]:
    return [f"- {markdown_text.prose(sentence)}" for sentence in sentences]


def constraints(resolution: Resolution) -> str:
    """A file for ``pip install -c``; the index of torch is a comment, for uv reads none from such a file."""
    head = [f"# A set for {resolution.machine}, by lora-doctor resolve."]
    if resolution.index_url:
        head.append(f"# torch: --index-url {resolution.index_url}")
    return "\n".join([*head, *resolution.constraints]) + "\n"


def json(resolution: Resolution) -> str:
    """Indented JSON."""
    return msgspec.json.format(encode(resolution), indent=2).decode("utf-8") + "\n"


def json_line(resolution: Resolution) -> str:
    """The same on one line."""
    return encode(resolution).decode("utf-8") + "\n"
