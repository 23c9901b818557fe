"""What became of a plan that was carried out, for people."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.render.layout import Layout, Paint
from doctor.render.shell import command_line
from doctor.treatment.outcome import Outcome

WORDS: dict[str, tuple[str, Paint]] = {
    "cured": ("Cured: the check finds none of it any more.", "ok"),
    "improved": ("Better, and not yet well.", "warn"),
    "restored": ("Not cured: the environment is as it was.", "bad"),
}
COLUMN = 14


def render(
    outcome: Outcome,
    target: str,
    *,
    width: int | None = None,
    color: bool = False,
    unicode: bool = False,
    windows: bool = False,
) -> str:
    """The state, what was cured and what was not, what changed, and the commands that go on and back."""
    layout = Layout(width, color, unicode)
    words, paint = WORDS[outcome.state]
    return (
        "\n".join(
            [
                "",
                *layout.wrap(words, 0, paint),
                *_lines(outcome, layout),
                *_commands(outcome, target, layout, windows),
            ]
        )
        + "\n"
    )


def _commands(outcome: Outcome, target: str, layout: Layout, windows: bool) -> Iterator[str]:
    """What cures the rest, and what takes it back: copied whole, and so not broken into lines."""
    fix = ("lora-doctor", "fix", "--python", target)
    told = (
        ("next", fix if outcome.state == "improved" else ()),
        ("way back", (*fix, "--undo") if outcome.past else ()),
    )
    for label, command in told:
        if command:
            line = layout.clean(command_line(command, windows=windows))
            yield layout.heading(label, COLUMN) + layout.paint(line, "command")


def _lines(outcome: Outcome, layout: Layout) -> Iterator[str]:
    told = (
        ("failed", outcome.failed),
        ("said", outcome.said),
        ("cured", ", ".join(outcome.cured)),
        ("not cured", ", ".join(outcome.not_cured)),
        ("new", ", ".join(outcome.new)),
        ("changed", ", ".join(changes(outcome))),
    )
    for label, text in told:
        if text:
            yield from layout.labelled(label, text, COLUMN)


def changes(outcome: Outcome) -> Iterator[str]:
    """ "peft 0.17.1 -> 0.18.0", "flash-attn 2.8.3 -> none" of each package that is not what it was."""
    if outcome.state == "restored":
        return
    old, new = versions(outcome.before), versions(outcome.after)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"


def versions(frozen: tuple[str, ...]) -> dict[str, str]:
    """The version or URL of each line of a freeze, by package."""
    return {name: version for name, _, version in map(split, frozen)}


def split(line: str) -> tuple[str, str, str]:
    """ "peft==0.18.0" or "peft @ url" in its parts."""
    return line.partition("==") if "==" in line else line.partition(" @ ")
