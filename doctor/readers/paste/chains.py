"""Drafts to complaints: chains, wrappers and what they pass on, repetitions and ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from doctor.paste import Complaint
from doctor.readers.paste.kinds import inner_of, is_wrapper
from doctor.readers.paste.voice import Draft

MOST = 300  # complaints of one paste
DEEPEST = 4  # messages within a message
RANK = re.compile(r"(?:rank|default) ?(\d{1,5})$|\d{1,5},(\d{1,5})$|\S{0,40} ?(?:rank|TP)=?(\d{1,5})\b")
NUMBER = re.compile(r"\d+")


def complaints_of(drafts: Sequence[Draft]) -> tuple[Complaint, ...]:
    """Complaints in order; a chain that several ranks tell is one, and counted."""
    told = Told()
    for number, links in enumerate(chains(drafts), start=1):
        whole = [one for draft in links for one in unfolded(draft, links)]
        chain = number if len(whole) > 1 else 0
        told.add([msgspec.structs.replace(one, chain=chain) for one in whole], bool(links[0].speaker))
    whole = [one for chain in told.chains for one in chain]
    return tuple(whole if len(whole) <= MOST else whole[: MOST * 2 // 3] + whole[-MOST // 3 :])


def chains(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """Drafts of one chain together."""
    for _, told in groupby(drafts, key=lambda draft: (draft.speaker, draft.chain)):
        yield list(told)


class Told:
    """The chains that were told so far, each once."""

    def __init__(self) -> None:
        self.chains: list[list[Complaint]] = []
        self.known: dict[tuple[str, ...], list[Complaint]] = {}  # by all texts, and by each

    def add(self, chain: list[Complaint], of_a_rank: bool) -> None:
        """A chain, or one more time of one that is known. Ranks differ in numbers of their own."""
        texts = tuple(NUMBER.sub("#", one.text) if of_a_rank else one.text for one in chain)
        known = self.known.get(texts)
        if known is not None:
            counted(known, chain)
            return
        self.chains.append(chain)
        for text in texts:
            self.known.setdefault((text,), chain)
        self.known[texts] = chain


def counted(known: list[Complaint], again: Sequence[Complaint]) -> None:
    """The same complaints once more; frames that were missing so far are taken over."""
    for one in again:
        for at, link in enumerate(known):
            if NUMBER.sub("#", link.text) == NUMBER.sub("#", one.text):
                frames = link.frames or one.frames
                level = "error" if "error" in (link.level, one.level) else link.level
                known[at] = msgspec.structs.replace(link, times=link.times + 1, frames=frames, level=level)
                break


def unfolded(draft: Draft, chain: Sequence[Draft], depth: int = 0) -> Iterator[Complaint]:
    """A complaint, before it the one that its message passes on; once, where the chain tells it anyway."""
    inner = inner_of(draft.message) if depth < DEEPEST else None
    if inner:
        below, kind, message = inner
        if not any(message and message in other.message for other in chain if other is not draft):
            nested = draft._replace(kind=kind, message=message, line=draft.line + below, frames=())
            yield from unfolded(nested, (), depth + 1)
    yield complaint_of(draft, bool(inner) or is_wrapper(draft.kind, draft.message))


def complaint_of(draft: Draft, wraps: bool) -> Complaint:
    """One draft as it is."""
    found = RANK.match(draft.speaker)
    rank = next((int(group) for group in found.groups() if group), None) if found else None
    return Complaint(
        kind=draft.kind,
        message=draft.message,
        line=draft.line,
        level=draft.level,
        frames=draft.frames,
        is_wrapper=wraps,
        rank=rank,
    )
