"""The page of a fault as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.findings import Fix
from doctor.page import Case, Command, Page
from doctor.render.layout import Layout
from doctor.render.markdown_text import code, fenced, prose, table
from doctor.render.page_words import WORDS, Words
from doctor.render.shell import command_line

TOLD_CASES = 6  # whose reasons are told; of more the releases alone


class Part(NamedTuple):
    """A paragraph with what belongs to it, under a heading; "" continues the part before."""

    heading: str = ""
    text: str = ""
    quotes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    head: tuple[str, ...] = ()  # of the table of what follows
    cases: tuple[tuple[str, str], ...] = ()  # releases, and what happens
    choices: tuple[tuple[str, str], ...] = ()  # releases, and the command for them
    links: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Does it say nothing?"""
        return not any(self[1:])


def terminal(page: Page, *, width: int | None = None, color: bool = False, unicode: bool = False) -> str:
    """The page for a terminal."""
    layout = Layout(width, color, unicode)
    lines = [layout.paint(layout.clean(page.id), "strong"), *layout.wrap(page.title, 0)]
    for part in parts(page):
        if part.heading:
            lines += ["", layout.paint(layout.clean(part.heading), "strong")]
        lines += layout.wrap(part.text, 2) if part.text else []
        lines += [line for quote in part.quotes for line in layout.wrap(quote, 4, "dim")]
        lines += [f"    {layout.paint(layout.clean(line), 'command')}" for line in part.commands]
        lines += [line for case in part.cases for line in terminal_case(*case, layout)]
        lines += terminal_choices(part.choices, layout)
        lines += [f"  {layout.clean(link)}" for link in part.links]
    return "\n".join(lines) + "\n"


def terminal_case(releases: str, reason: str, layout: Layout) -> Iterator[str]:
    """One case: its releases, and beneath them what happens."""
    yield from layout.wrap(f"{releases}:", 6)
    yield from layout.wrap(reason, 8)


def terminal_choices(choices: Sequence[tuple[str, str]], layout: Layout) -> Iterator[str]:
    """Each command once, and beneath it the releases that it is for."""
    last = ""
    for releases, command in choices:
        if command != last:
            yield f"    {layout.paint(layout.clean(command), 'command')}"
        yield from layout.wrap(releases, 6)
        last = command


def markdown(page: Page) -> str:
    """The page in Markdown."""
    blocks = [f"# {code(page.id)}", f"**{prose(page.title)}**"]
    for part in parts(page):
        blocks += [f"## {prose(part.heading)}"] if part.heading else []
        blocks += [prose(part.text)] if part.text else []
        blocks += ["\n".join(f"- {code(quote)}" for quote in part.quotes)] if part.quotes else []
        blocks += [fenced("\n".join(part.commands), "sh")] if part.commands else []
        rows = [(prose(releases), prose(reason)) for releases, reason in part.cases]
        rows += [(prose(releases), code(command)) for releases, command in part.choices]
        blocks += [table(part.head, rows)] if rows else []
        blocks += ["\n".join(f"- <{link}>" for link in part.links)] if part.links else []
    return "\n\n".join(blocks) + "\n"


def parts(page: Page) -> Iterator[Part]:
    """The page part by part, in the order in which somebody under stress reads."""
    words, first = WORDS[page.language], ""
    for heading, told in (
        (words.means, meaning(page, words)),
        (words.yours, signs(page, words)),
        (words.fix, ways_out(page, words)),
        (words.verify, [Part(text=page.verify, commands=lines(page.proofs))]),
        (words.vain, [Part(text=page.in_vain)]),
        (words.more, [Part(links=page.references)]),
    ):
        first = heading
        for part in told:
            if not part.is_empty:
                yield part._replace(heading=first)
                first = ""


def meaning(page: Page, words: Words) -> Iterator[Part]:
    """The reason, and which releases it is about."""
    yield Part(text=page.why)
    if page.releases:
        yield Part(text=words.releases.format(page.releases))


def signs(page: Page, words: Words) -> Iterator[Part]:
    """How to see whether it is the reader's case."""
    yield Part(text=page.see, commands=lines(page.looks))
    if page.symptoms:
        yield Part(text=words.says, quotes=page.symptoms)


def ways_out(page: Page, words: Words) -> Iterator[Part]:
    """What to do, each command right below its words."""
    yield Part(text=page.fix)
    for number, fix in enumerate(page.fixes):
        text = "" if page.language != "en" or is_said(fix, page.fix) else fix.title
        if text or fix.commands:
            yield Part(text=alternative(text, number, words), commands=lines(fix.commands))
    if len(page.cases) > 1:
        yield Part(text=words.cases if page.fixes else words.depends)
    if len(page.cases) > TOLD_CASES or page.language != "en":
        choices = ((besides(case), "; ".join(lines(case.fixes[0].commands))) for case in curable(page.cases))
        yield Part(head=(words.installed, words.take), choices=tuple(dict.fromkeys(choices)))
        return
    for cases in by_fix(page.cases):
        fix = cases[0].fixes[0]
        yield Part(
            text=f"{fix.title}:",
            commands=lines(fix.commands),
            head=(words.installed, words.reason),
            cases=tuple((case.releases, case_told(case, words)) for case in cases),
        )


def is_said(fix: Fix, text: str) -> bool:
    """Do the words of the page say the title of a fix already?"""
    return fix.title.lower().removeprefix("or ") in text.lower()


def alternative(text: str, number: int, words: Words) -> str:
    """The words above a further way out: they tell that it stands in for the first."""
    if not number or text.startswith(("Or ", "Then ")):
        return text
    return f"{words.instead}{text[:1].lower()}{text[1:]}" if text else words.instead


def by_fix(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """The cases that one fix cures, together."""
    together: dict[tuple[Command, ...], list[Case]] = {}
    for case in curable(cases):
        together.setdefault(case.fixes[0].commands, []).append(case)
    yield from together.values()


def curable(cases: Sequence[Case]) -> Iterator[Case]:
    """The cases that something is known against."""
    return (case for case in cases if case.fixes)


def besides(case: Case) -> str:
    """The releases of a case but for those that its fix replaces by newer ones."""
    wanted = case.fixes[0].commands[-1][-1] if case.fixes[0].commands else ""
    upgraded = wanted.partition(">=")[0] if ">=" in wanted else ""
    return ", ".join(one for one in case.releases.split(", ") if one.split()[0] != upgraded)


def case_told(case: Case, words: Words) -> str:
    """The reason of one case, and what else cures it."""
    others = [fix.title[:1].lower() + fix.title[1:] for fix in case.fixes[1:]]
    return " ".join([case.why, *(f"{words.instead}{other}." for other in others)])


def lines(commands: Sequence[Command]) -> tuple[str, ...]:
    """Commands as they are typed."""
    return tuple(command_line(command) for command in commands)
