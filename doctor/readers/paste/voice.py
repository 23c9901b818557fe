"""What one process wrote, listened to line by line: frames are gathered until an exception ends them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from doctor.paste import Frame
from doctor.readers.paste.frames import (
    HEADING,
    HEADING_OF_IPYTHON,
    PATH_CUT,
    POINTED_AT,
    frame,
    frame_of,
    of_rich,
)
from doctor.readers.paste.kinds import exception_in, passed_on_below
from doctor.readers.paste.messages import CONNECTORS, WARNED, Numbered, message_from, unwrapped
from doctor.readers.paste.shapes import Shape, shape_of, starts_shape

Level = Literal["error", "warning", "line"]
BY_LEVEL: dict[str, Level] = {
    **dict.fromkeys(("ERROR", "CRITICAL", "FATAL"), "error"),
    **dict.fromkeys(("WARNING", "WARN"), "warning"),
}
AT_THE_END = 1 << 40  # of a chain: a wrapper that stands before what it passes on
FARTHEST = 40  # lines below its last frame that an exception still belongs to it
MOST_FRAMES = 80
GROUP = re.compile(r"\s{0,40}(?:\| ?|\+[-+ ]{1,60}\d{0,4} ?-{0,60}$|\+(?= Exception Group))")
MARKS = re.compile(r"[\s~^]{1,400}$")
NUMBERED = re.compile(r"\s{0,8}\d{1,7}(?:\s|$)")
IGNORED = ("Exception ignored in", "Exception in thread Thread-", "Exception while deallocating")
LAST_CALL = "Traceback (most recent call last):"  # behind what a logger says
FIRST_CALL = "(most recent call first)"


class Draft(NamedTuple):
    """A complaint as one process told it."""

    kind: str
    message: str
    line: int
    level: Level
    frames: tuple[Frame, ...]
    speaker: str
    chain: int  # line of the first exception of its chain
    chain_line: tuple[int, int]  # by which it is ordered: the chain's line, its own


def without_rails(lines: Sequence[Numbered]) -> Sequence[Numbered]:
    """The lines without the rails that an exception group draws before its members."""
    heads = (at for at, line in enumerate(lines) if "Exception Group Traceback" in line.text)
    first = next(heads, len(lines))
    bare = (line._replace(text=GROUP.sub("", line.text, count=1)) for line in lines[first:])
    return [*lines[:first], *bare] if first < len(lines) else lines


class Voice:
    """The lines of one process, and what was understood so far."""

    def __init__(self, lines: Sequence[Numbered], speaker: str) -> None:
        self.lines = without_rails(lines)
        self.speaker = speaker
        self.found: list[Draft] = []
        self.frames: list[Frame] = []
        self.kind = ""  # that the heading of IPython tells beforehand
        self.last = -FARTHEST  # the newest line of the traceback that is open
        self.is_open = False
        self.is_linked = False  # the next exception follows from the one before
        self.is_ignored = False  # Python itself says that the next exception ends nothing
        self.awaited = 0  # exceptions that a wrapper announced
        self.is_backwards = False  # faulthandler begins with the innermost frame
        self.is_boxed = False

    def listen(self) -> list[Draft]:
        """All that it complains of."""
        at = 0
        while at < len(self.lines):
            at = self.step(at, self.lines[at].text)
        self.close()
        return self.found

    def step(self, at: int, text: str) -> int:
        """Understand one line, or more. Gives the next that is to be read."""
        if at - self.last > FARTHEST:
            self.close()
        bare = text.strip()
        if not bare or MARKS.match(text):
            return at + 1
        if bare.startswith(CONNECTORS):
            self.close()
            self.is_linked = bool(self.found)
            return at + 1
        if bare.startswith(IGNORED):
            self.is_ignored = True
            return at + 1
        for part in (self.heading, self.frame, self.warning, self.exception):
            if behind := part(at, text):
                return behind
        return self.code(at, text) or self.shape(at, text)

    def heading(self, at: int, text: str) -> int:
        """A traceback begins."""
        if "(most recent call" not in text:
            return 0
        named = HEADING_OF_IPYTHON.match(text)
        if not (named or HEADING.match(text) or FIRST_CALL in text or text.rstrip().endswith(LAST_CALL)):
            return 0
        self.close()
        self.is_open, self.last = True, at
        self.kind = named[1] if named else ""
        self.is_backwards = FIRST_CALL in text
        return at + 1

    def frame(self, at: int, text: str) -> int:
        """One frame, and the line of code that follows it."""
        behind = at + 1
        found = frame_of(text[:800])
        self.is_boxed = self.is_boxed or (found is not None and of_rich(text[:800]) is not None)
        if not found and PATH_CUT.match(text) and behind < len(self.lines):
            found = of_rich(text.rstrip() + self.lines[behind].text.strip()[:400])
            behind += 1
        if not found:
            return 0
        if found.line or self.is_open or found.function.startswith("<"):
            self.add(found)
        self.last = behind - 1
        self.is_open = True
        return behind

    def add(self, found: Frame) -> None:
        """One more frame; of an endless recursion the middle is left out."""
        self.frames.append(found)
        if len(self.frames) > MOST_FRAMES:
            del self.frames[MOST_FRAMES // 4]

    def warning(self, at: int, text: str) -> int:
        """ "a.py:31: UserWarning: text"."""
        found = WARNED.match(text)
        if not found:
            return 0
        message, behind = message_from(self.lines, at, found[4] or "", ends_too=starts_shape)
        below = self.lines[behind : behind + 2]
        code = next((line.text for line in below if line.text.strip()), "")
        place = frame(found[1], int(found[2]), "")
        if code[:2] == "  ":
            place = msgspec.structs.replace(place, code=code.strip()[:300])
        self.tell(at, found[3], message, "warning", (place,))
        return behind

    def exception(self, at: int, text: str) -> int:
        """ "ImportError: message", below its frames or alone."""
        is_near = self.is_open and bool(self.frames or self.kind)
        expects_code = self.expects_code(at, text)
        bare = re.sub(r"^(?:[-*•] |#{1,6} |E {3,8}|\*\*)", "", text.strip())
        named = exception_in(bare, in_traceback=is_near and not expects_code and at - self.last < 4)
        if not named or NUMBERED.match(text):
            return 0
        kind, first = named
        message, behind = message_from(self.lines, at, first.removesuffix("**"))
        if self.is_boxed and is_near:
            message = unwrapped(message)
        is_warning = self.is_ignored or (kind.endswith("Warning") and not is_near)
        self.is_ignored = False
        self.tell(at, kind, message, "warning" if is_warning else "error", self.take())
        return behind

    def take(self) -> tuple[Frame, ...]:
        """The frames that were gathered; they belong to the exception that ends them."""
        frames = tuple(self.frames)
        self.frames, self.kind, self.is_open, self.is_boxed = [], "", False, False
        return frames

    def code(self, at: int, text: str) -> int:
        """A line of code below a frame, or around it."""
        if not self.is_open:
            return 0
        pointed = POINTED_AT.match(text)
        if pointed and self.frames:
            self.put(pointed[2].strip(), int(pointed[1]))
        elif self.expects_code(at, text) and not NUMBERED.match(text):
            self.put(text.strip(), 0)
        elif not (text[:1].isspace() or NUMBERED.match(text) or text.startswith("[Previous line")):
            return 0
        self.last = at
        return at + 1

    def expects_code(self, at: int, text: str) -> bool:
        """Would this be the code of the newest frame? It is indented, unless all indentation was lost."""
        if not (self.is_open and self.frames and at - self.last == 1 and not self.frames[-1].code):
            return False
        return text[:1].isspace() or not self.lines[self.last].text[:1].isspace()

    def put(self, code: str, line: int) -> None:
        """The code of the newest frame, and its line where the frame did not tell it."""
        newest = self.frames[-1]
        code = code.lstrip("│ ")[:300]
        self.frames[-1] = msgspec.structs.replace(newest, code=code, line=newest.line or line)

    def shape(self, at: int, text: str) -> int:
        """A line that complains without a class."""
        found = shape_of(text) or self.logged(at, text)
        if not found:
            return at + 1
        if self.is_backwards:  # its frames belong to the line above them
            self.close()
        level = BY_LEVEL.get(self.lines[at].level, found.level)
        if found.message:
            self.tell(at, found.kind, found.message, level, ())
            return at + 1
        message, behind = message_from(self.lines, at, text[found.start :].strip(), ends_too=starts_shape)
        ends_frames = self.is_open and bool(self.frames) and at - self.last == 1
        self.tell(at, "", message, "error" if ends_frames else level, self.take() if ends_frames else ())
        return behind

    def logged(self, at: int, text: str) -> Shape | None:
        """What a logger calls an error is one, whatever its words."""
        start = len(text) - len(text.lstrip())
        return Shape(start, "error") if BY_LEVEL.get(self.lines[at].level) == "error" else None

    def tell(
        self,
        at: int,
        kind: str,
        message: str,
        level: Level,
        frames: tuple[Frame, ...],
    ) -> None:
        """One more complaint. What is linked, or was announced by a wrapper, belongs to the chain before."""
        line = self.lines[at].number
        follows = bool(self.found) and (self.is_linked or (self.awaited > 0 and bool(frames)))
        chain = self.found[-1].chain if follows else line
        self.awaited -= self.awaited > 0 and bool(frames)
        self.is_linked = self.is_linked and level != "error" and not frames
        awaited = passed_on_below(kind, message)
        self.awaited = awaited or self.awaited
        order = (chain, AT_THE_END if awaited else line)
        self.found.append(Draft(kind, message, line, level, frames, self.speaker, chain, order))

    def close(self) -> None:
        """The end of a traceback that no exception ended: its last line of code is what it tells."""
        frames, kind = tuple(self.frames), self.kind
        if self.is_backwards and frames and self.found:
            self.found[-1] = self.found[-1]._replace(frames=tuple(reversed(frames)))
        elif frames and (kind or (frames[-1].code and (not self.found or "import " in frames[-1].code))):
            self.tell(max(self.last, 0), kind, frames[-1].code, "error" if kind else "line", frames)
        self.take()
        self.is_backwards = False
