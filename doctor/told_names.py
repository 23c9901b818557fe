"""Names that a paste tells of by their form in one place, masked wherever else they stand in its report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.plain import plain
from doctor.private_forms import HOSTS, PROMPT, SECRET, SECRETS, SSH, USERS, Mask, unnumbered

HOME = re.compile(
    r"[/\\](?:homes?\d{0,2}|[Uu]sers|g?scratch\d?(?=[/\\]{1,2}[A-Za-z_]))"
    r"[/\\]{1,2}(?P<user>\w[\w-]{0,31})(?![\w.])"
)
NAME = re.compile(r"[\w-]+(?:\.[\w-]+){0,12}")
WORD_OF_A_SECRET = re.compile(r"[A-Za-z0-9]{8,}")
LONGEST_WORD = 3  # characters of a name that is as often a word
A_MEASURE = re.compile(r"\d{1,5}[A-Za-z]{0,4}")  # 2080, 80GB, 8bit: as often anything else
A_DEVICE = re.compile(
    r"(?i)(?:[abhlktvp]|gb|gh|mi|rtx|gtx|sm_?|cu|cuda|gfx|cu|py|cp|gpu|cpu|npu|rank|node|worker|host)-?\d{1,4}"
)


class Names(NamedTuple):
    """Words that a paste shows to be names or secrets, wherever else they stand in it."""

    users: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()

    def without(self, generic: frozenset[str]) -> Names | None:
        """These without the names that thousands share; None where nothing is left."""
        left = Names(*(frozenset(one for one in names if one.lower() not in generic) for names in self))
        return left if any(left) else None


def names_in(raw: str) -> Names:
    """What a text, read as a whole, tells of its author: a prompt, the host's column of a log, keys."""
    text = plain(raw)
    users, hosts = set[str](), set[str]()
    for pattern in (PROMPT, SSH, *HOSTS, *USERS, HOME):
        for found in pattern.finditer(text):
            told = found.groupdict()
            users.add(told.get("user") or "")
            hosts.update({told.get("host") or "", (told.get("host") or "").partition(".")[0]})
    return Names(
        frozenset(filter(is_telling, users)),
        frozenset(one for one in hosts if len(one) > LONGEST_WORD and is_odd(one)),
        frozenset(secret_words(text)),
    )


def is_telling(user: str) -> bool:
    """Is a name of a user one wherever it stands?"""
    return len(user) > LONGEST_WORD and not A_MEASURE.fullmatch(user)


def is_odd(host: str) -> bool:
    """Is a name of a host no word and no model of a GPU? Only then is it one wherever it stands."""
    return re.search(r"[\d-]", host) is not None and not A_DEVICE.fullmatch(host)


def secret_words(text: str) -> Iterator[str]:
    """The words of which secrets are made, as far as they are no words of a language."""
    for form in SECRETS:
        if form.needs in text and form.masked not in ("<e-mail>", "://<redacted>@"):
            for found in form.pattern.finditer(text):
                secret = found[0][len(found[1] or "") :] if form.pattern.groups else found[0]
                yield from (word for word in WORD_OF_A_SECRET.findall(secret) if is_random(word))


def is_random(word: str) -> bool:
    """Are there digits among letters, or capitals amid small ones?"""
    mixed = any(one.isdigit() for one in word) and not word.isdigit()
    return mixed or re.search(r"[a-z][A-Z][a-z]{0,20}[A-Z]", word) is not None


def masked_names(text: str, names: Names, mask: Mask = unnumbered) -> str:
    """A text without the names that it, or another place of its report, tells of."""
    text = NAME.sub(lambda word: mask_of(word[0], names, mask), text)
    if names.secrets:
        text = WORD_OF_A_SECRET.sub(lambda word: SECRET if word[0] in names.secrets else word[0], text)
    return text


def mask_of(word: str, names: Names, mask: Mask) -> str:
    """What is written for a word."""
    if word in names.users:
        return mask("user", word)
    is_host = word in names.hosts or word.partition(".")[0] in names.hosts
    return mask("host", word) if is_host else word
