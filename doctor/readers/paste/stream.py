"""The interesting lines of a log of any size, in bounded memory.

Work is done on whole blocks of bytes. Lines that differ in numbers alone, as a training prints at each step,
are of one kind; only the first of a kind are looked at. What is kept are lines with a mark of trouble or of a
report, and what stands around them: the first of them, and the last.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate

SMALL = 256 << 10  # bytes; what is no larger is interesting as a whole
BLOCK = 1 << 20
FIRST_KEPT, LAST_KEPT = 600_000, 400_000  # bytes of lines from the beginning and from the end
OF_A_KIND = 4  # lines of one kind that are looked at
MOST_KINDS = 100_000
LONGEST = 20_000  # bytes of one line
ABOVE, BELOW = 60, 25  # lines around a mark: a traceback above, a message of several lines below
BELOW_HEADS = 120  # lines of a traceback or a report below its head
AROUND = 3_000  # bytes around a mark within a line that is cut

# In lower case; any of them may stand anywhere in a line.
MARKS = tuple(
    word.encode()
    for word in (
        *("error", "exception", "traceback", "warning", "fatal", "cannot ", "could not", "no module named"),
        *("unexpected keyword", "has no attribute", "undefined symbol", "not supported", "incompatible"),
        *(
            "not compatible",
            "mismatch",
            "out of memory",
            "killed",
            "core dumped",
            "segmentation fault",
            "nvrm",
        ),
        *("xid", "not found", "libcuda", "cuda_setup", "cuda setup", "bug report", "failed", "unable to"),
        *("illegal", "does not support", "no cuda", "no gpu", "no nvidia", "deprecated", "requires"),
        *("driver version", "=nan", " nan"),
    )
)
HEADS = tuple(
    word.encode()
    for word in (
        *("traceback (most recent call last)", "collecting environment information", "pytorch version"),
        *("nvidia-smi", "` version:", "transformers version", "accelerate version", "package    "),
        *(
            "deepspeed c++/cuda",
            "versions of relevant libraries",
            "bitsandbytes v",
            "unsloth 20",
            "cuda specs:",
        ),
        *("pip list", "pip freeze", "nvcc: nvidia", "### ", "[pip3]"),
    )
)
ANY = re.compile(b"|".join(map(re.escape, (*HEADS, *MARKS))))
LOWER = bytes(range(65)) + bytes(range(97, 123)) + bytes(range(91, 256))
# What lines of one kind differ in: digits, signs, and the three bytes of each character of a progress bar.
DIFFERING = b"0123456789 .,:%+-|#=\t\r\xe2\x96\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f"
UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def interesting(chunks: Iterable[bytes]) -> tuple[str, tuple[int, ...]]:
    r"""The interesting lines, joined with ``\n``, and where each stands, counted from 1.

    Text of up to 256 kB is kept as it is. Larger logs yield about 1 MB at most. Bytes that are no UTF-8, nor
    UTF-16 with or without its mark, become U+FFFD.
    """
    source = iter(chunks)
    head: list[bytes] = []
    size = 0
    for chunk in source:
        head.append(chunk)
        size += len(chunk)
        if size > SMALL:
            break
    begun = b"".join(head)
    encoding = encoding_of(begun)
    if size <= SMALL:
        text = begun.decode(encoding, "replace").removeprefix("\ufeff")
        return text, tuple(range(1, text.count("\n") + 2))
    sieve = Sieve()
    for block in blocks(in_utf8(begun, source, encoding)):
        sieve.take(block)
    return sieve.result()


def encoding_of(head: bytes) -> str:
    """UTF-16 by its mark, or by the zeros in every other byte of plain text; UTF-8 else."""
    if head[:2] in UTF16:
        return UTF16[head[:2]]
    sample = head[:200]
    if len(sample) > 3 and sample[1::2].count(0) > len(sample) // 3:
        return "utf-16-le"
    return "utf-16-be" if len(sample) > 3 and sample[0::2].count(0) > len(sample) // 3 else "utf-8"


def in_utf8(begun: bytes, rest: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The bytes, as UTF-8 where they were UTF-16."""
    if encoding == "utf-8":
        yield begun.removeprefix(codecs.BOM_UTF8)
        yield from rest
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(begun).removeprefix("\ufeff").encode("utf-8", "replace")
    for chunk in rest:
        yield decoder.decode(chunk).encode("utf-8", "replace")


def blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, about a block at a time, without the last line end. An endless line is cut meanwhile."""
    waiting: list[bytes] = []
    size = 0
    for chunk in chunks:
        for at in range(0, len(chunk), BLOCK):
            waiting.append(chunk[at : at + BLOCK])
            size += len(waiting[-1])
            if size < BLOCK:
                continue
            whole, end, rest = b"".join(waiting).rpartition(b"\n")
            if end:
                yield whole
            waiting = [shortened(rest)]
            size = len(waiting[0])
    yield b"".join(waiting)


def shortened(line: bytes) -> bytes:
    """A line cut to what stands around its marks, its beginning and its end."""
    if len(line) <= LONGEST:
        return line
    lower = line.translate(LOWER)
    parts, kept = [line[:AROUND]], AROUND
    for mark in ANY.finditer(lower, AROUND, len(line) - AROUND):
        if mark.start() < kept:
            continue
        start = max(kept, mark.start() - AROUND // 3)
        kept = min(mark.start() + AROUND, len(line) - AROUND)
        parts.append(line[start:kept])
        if len(parts) > LONGEST // AROUND - 3:
            break
    return b" ... ".join([*parts, line[-AROUND:]])


class Sieve:
    """Takes blocks of whole lines and keeps the interesting ones."""

    def __init__(self) -> None:
        self.count = 0  # lines that went by
        self.seen: dict[int, int] = {}  # kind: how often it came
        self.before: list[bytes] = []  # the last lines of the block before, for what stands above a mark
        self.until = BELOW_HEADS  # up to this line all is kept; a log begins with its environment
        self.newest = 0  # the last line that was kept
        self.first: list[tuple[int, bytes]] = []
        self.last: deque[tuple[int, bytes]] = deque()
        self.first_size = self.last_size = 0

    def take(self, block: bytes) -> None:
        """One more block."""
        lines = block.split(b"\n")
        for at, is_head in self.marked(lines):
            number = self.count + at + 1
            self.keep_up_to(min(self.until, number), lines)
            self.newest = max(self.newest, number - 1 - ABOVE)
            self.until = max(self.until, number + (BELOW_HEADS if is_head else BELOW))
            self.keep_up_to(number, lines)
        self.keep_up_to(self.until, lines)
        self.count += len(lines)
        self.before = (self.before + lines[-ABOVE - 1 :])[-ABOVE - 1 :]

    def marked(self, lines: list[bytes]) -> Iterator[tuple[int, bool]]:
        """Places of lines with a mark, of new kinds, and whether a head stands in them."""
        fresh = self.fresh(lines)
        text = b"\n".join([lines[at] for at in fresh]).translate(LOWER)
        starts = [0, *accumulate(len(lines[at]) + 1 for at in fresh)]
        heads, marks = places(text, starts, HEADS), places(text, starts, MARKS)
        for place in sorted(heads | marks):
            yield fresh[place], place in heads

    def fresh(self, lines: list[bytes]) -> list[int]:
        """Places of lines whose kind did not come often yet."""
        kinds = b"\n".join(lines).translate(None, DIFFERING).split(b"\n")
        seen, found = self.seen, []
        for at, kind in enumerate(kinds):
            times = seen.get(name := hash(kind[:400]), 0)
            if times < OF_A_KIND:
                seen[name] = times + 1
                found.append(at)
        if len(seen) > MOST_KINDS:
            self.seen = {kind: times for kind, times in seen.items() if times == OF_A_KIND}
            if len(self.seen) > MOST_KINDS // 2:
                self.seen = {}
        return found

    def keep_up_to(self, number: int, lines: list[bytes]) -> None:
        """Keep all lines from the newest one on up to this one, as far as they are at hand."""
        oldest = self.count - len(self.before)
        for one in range(max(self.newest, oldest) + 1, min(number, self.count + len(lines)) + 1):
            at = one - self.count - 1
            self.keep(one, shortened(lines[at] if at >= 0 else self.before[at]))
        self.newest = max(self.newest, min(number, self.count + len(lines)))

    def keep(self, number: int, line: bytes) -> None:
        """One line: among the first, else among the last."""
        size = len(line) + 1
        if self.first_size + size <= FIRST_KEPT and not self.last:
            self.first.append((number, line))
            self.first_size += size
            return
        self.last.append((number, line))
        self.last_size += size
        while self.last_size > LAST_KEPT:
            self.last_size -= len(self.last.popleft()[1]) + 1

    def result(self) -> tuple[str, tuple[int, ...]]:
        """What was kept. The end of a log is kept in any case, for there a program died."""
        self.newest = max(self.newest, self.count - ABOVE)
        for number in range(self.newest + 1, self.count + 1):
            self.keep(number, shortened(self.before[number - self.count - 1]))
        kept = [*self.first, *self.last]
        text = "\n".join(line.decode("utf-8", "replace") for _, line in kept)
        return text, tuple(number for number, _ in kept)


def places(text: bytes, starts: list[int], words: Iterable[bytes]) -> set[int]:
    """Which lines have one of the words. ``starts`` has where each line begins."""
    found = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            found.add(place)
            at = text.find(word, starts[place + 1] if place + 1 < len(starts) else len(text))
    return found
