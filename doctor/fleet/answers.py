"""Runs what a launcher needs, and turns what it prints, or its silence, into one answer of each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from doctor.child import Completed, Patience
from doctor.fleet.envelope import Collective, Envelope, line
from doctor.fleet.frames import Joiner
from doctor.fleet.rendezvous import reason_of
from doctor.host import Host
from doctor.plain import one_line

OnAnswer = Callable[[str], None]  # takes a node's line as it comes, from any thread
SSH_FAILED, NOT_FOUND, NOT_EXECUTABLE = 255, 127, 126  # as ssh(1) and shells say it
REASON_KEPT = 300
# c10d waits for an answer of whatever accepts its connection, without a limit of its own.
STUCK = "torchrun started no rank, as where a program that is no store of torch's has the port; ended after"


class Heard:
    """What one process says: each answer is handed on, and the nodes that gave one are kept."""

    def __init__(self, on_answer: OnAnswer, name: str = "") -> None:
        self.joiner, self.on_answer, self.name = Joiner(), on_answer, name
        self.nodes: list[str] = []
        self.liar = ""

    def take(self, text: str) -> bool:
        """A line of output. True where it completes an answer."""
        whole = self.joiner.feed(text)
        if whole is None:
            return False
        node = node_of(whole)
        if self.name and node != self.name:
            self.liar = node or "nobody"
            return False
        self.nodes.append(node)
        self.on_answer(whole)
        return True


class _Named(msgspec.Struct):
    node: str


def node_of(text: str) -> str:
    """Whose answer a line is, "" where it does not say it."""
    try:
        return msgspec.json.decode(text, type=_Named).node
    except msgspec.DecodeError:
        return ""


def ask(
    host: Host, argv: Sequence[str], limit_s: float, on_answer: OnAnswer, *, here: str, ranks: bool = False
) -> Completed:
    """Run one launcher to its end or the limit. What it brings is handed on while it runs.

    ``here`` is this machine's name: where no rank is started at all, it is this node that says so.
    """
    heard = Heard(on_answer)
    done = host.run(argv, patience=Patience(limit_s), on_line=lambda text: heard.take(text) and False)
    if not heard.nodes:
        on_answer(line(silence(here if ranks else argv[0], heard, done, limit_s, ranks)))
    for node, why in heard.joiner.incomplete().items() if heard.nodes else ():
        on_answer(line(Envelope(node=node, failure=why)))
    return done


def ask_each(
    host: Host,
    each: Iterable[tuple[str, Sequence[str]]],
    limit_s: float,
    at_once: int,
    on_answer: OnAnswer,
    *,
    ranks: bool = False,
) -> None:
    """Ask every host, so many at once; each gives one answer at least, be it why there is none."""

    def one(name: str, argv: Sequence[str]) -> None:
        heard = Heard(on_answer, name)
        done = host.run(argv, patience=Patience(limit_s), on_line=lambda text: heard.take(text) and False)
        if not heard.nodes:
            on_answer(line(silence(name, heard, done, limit_s, ranks)))

    with ThreadPoolExecutor(at_once) as pool:
        for asked in [pool.submit(one, name, argv) for name, argv in each]:
            asked.result()


def silence(name: str, heard: Heard, done: Completed, limit_s: float, ranks: bool) -> Envelope:
    """The answer in the name of a node that gave none."""
    seconds = round(done.seconds, 3)
    if ranks and done.code not in (None, SSH_FAILED, NOT_FOUND, NOT_EXECUTABLE) and not heard.liar:
        return Envelope(node=name, seconds=seconds, collective=no_rendezvous(done, limit_s))
    return Envelope(node=name, failure=why_silent(heard, done, limit_s), seconds=seconds)


def no_rendezvous(done: Completed, limit_s: float) -> Collective:
    """The collective test of a node where torchrun started no rank."""
    text = f"{STUCK} {limit_s:.0f} s" if done.timed_out else reason_of(done.stderr, done.code)
    return Collective(outcome="failed", step="rendezvous", reason=text, seconds=round(done.seconds, 3))


def why_silent(heard: Heard, done: Completed, limit_s: float) -> str:
    """In one line, why a host gave no answer."""
    if heard.liar:
        return f"it answered under another name: {one_line(heard.liar)[:80]}"
    if done.code is None:
        return f"the launcher cannot be started: {done.error}"
    incomplete = next(iter(heard.joiner.incomplete().values()), "")
    if done.timed_out:
        return f"no answer within {limit_s:.0f} s" + (f"; {incomplete}" if incomplete else "")
    words = last_words(done)
    if incomplete:
        return f"it stopped in the middle (exit code {done.code}): {incomplete}"
    if done.code == SSH_FAILED and not done.stdout:
        return f"ssh: {words.removeprefix('ssh: ') or 'the connection ended'}"
    if done.code in (NOT_FOUND, NOT_EXECUTABLE):
        return f"lora-doctor cannot be run there ({words}); say where it is with --doctor PATH"
    return f"exit code {done.code} and no answer" + (f": {words}" if words else "")


def last_words(done: Completed) -> str:
    """The last line that was said to standard error, else to standard output."""
    lines = [text for text in (done.stderr.strip() or done.stdout.strip()).splitlines() if text.strip()]
    return one_line(lines[-1])[:REASON_KEPT] if lines else ""
