"""The statements of one block while it is read."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.paste import Form, Statement, Topic
from doctor.readers.paste import LONGEST, Block

MOST = 2_000  # statements of one block; a repeated paste of a large cluster ends there
MAY_BE_EMPTY = ("library", "absent")  # of which the name is what is said


class Notes:
    """What a block says so far, and the lines that it stands in."""

    def __init__(self, form: Form, line: int) -> None:
        """``line`` is where the block begins."""
        self.form: Form = form
        self.first = self.last = line
        self.is_whole = True
        self._said: dict[Statement, None] = {}

    def say(self, topic: Topic, value: str, line: int, name: str = "") -> None:
        """Add a statement, unless it has no value or was made already."""
        plain = value.strip()[:LONGEST]
        if (plain or topic in MAY_BE_EMPTY) and len(self._said) < MOST:
            one = Statement(topic=topic, value=plain, name=name[:LONGEST], form=self.form, line=line)
            self._said.setdefault(one)
            self.last = max(self.last, line)

    def has(self, topic: Topic) -> bool:
        """Was anything said of a topic?"""
        return any(one.topic == topic for one in self._said)

    def block(self) -> Iterator[Block]:
        """The block, where it says anything."""
        if self._said:
            yield Block(self.form, self.first, self.last, tuple(self._said), self.is_whole)
