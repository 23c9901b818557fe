"""Programs that run inside another interpreter, and the one way to run them.

Each collector is a text: the parts of a program are joined and sent to ``python -``. What it emits
comes back between random marks, so nothing that the interpreter prints besides can corrupt it.
"""

from __future__ import annotations

import json
import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from doctor.child import Completed, Patience
from doctor.host import Host

SURVEY = ("interpreter", "packages", "files", "shadows", "builds", "end")
NOISE_KEPT = 4000  # characters of what a child prints besides

Event = Mapping[str, Any]


class Collected(NamedTuple):
    """What a collector emitted, what was printed besides, and how its process ended."""

    events: tuple[Event, ...]
    noise: str
    completed: Completed

    def section(self, name: str) -> Event | None:
        """The event of one section, None where it was not reached."""
        return next((event for event in self.events if event.get("section") == name), None)

    @property
    def trouble(self) -> str:
        """In words, why a section may be absent."""
        done = self.completed
        if done.code is None:
            return f"the interpreter cannot be started: {done.error}"
        if done.timed_out:
            return f"it gave no answer within {done.seconds:.0f} s and was killed"
        last = (self.noise.strip() or done.stderr.strip()).splitlines()[-1:]
        ended = f"was killed by {done.signal}" if done.signal else f"ended with exit code {done.code}"
        return f"the interpreter {ended}" + (f": {last[0][:300]}" if last else " and said nothing")


# Read by any Python since 2.7: the program itself is a literal, which only a new one takes apart.
GATE = """import sys
if sys.version_info < (3, 8):
    sys.stderr.write("lora-doctor: Python %%d.%%d is older than 3.8\\n" %% tuple(sys.version_info[:2]))
    sys.exit(78)
exec(compile(%s, "<lora-doctor>", "exec"))
"""


def joined(parts: Sequence[str], package: str = "doctor.collectors") -> str:
    """The frame, then the parts, as one text."""
    texts = [pkgutil.get_data("doctor.collectors", "frame.py")]
    texts += [pkgutil.get_data(package, f"{part}.py") for part in parts]
    return "\n".join(text.decode("utf-8") for text in texts if text)


def behind_gate(text: str) -> str:
    """A text as a program that an interpreter below 3.8 refuses in words."""
    return GATE % ascii(text)


def program(parts: Sequence[str], package: str = "doctor.collectors") -> str:
    """The program of a collector."""
    return behind_gate(joined(parts, package))


def collect(
    host: Host,
    executable: str,
    text: str,
    config: Mapping[str, Any],
    *,
    patience: Patience,
    env: Mapping[str, str] | None = None,
    merge: bool = False,
    on_event: Callable[[Event], None] | None = None,
    on_noise: Callable[[str], None] | None = None,
) -> Collected:
    """Run a collector in an interpreter to its end, handing on each event as it comes.

    ``env`` replaces the environment; ``merge`` puts standard error among the noise, in its true order.
    """
    mark = f"<{os.urandom(12).hex()}>"
    events: list[Event] = []
    noise: list[str] = []

    def take(line: str) -> bool:
        event = _event_in(line, mark)
        if event is None:
            noise.append(line[:NOISE_KEPT])
            del noise[200:]
            if on_noise:
                on_noise(line[:NOISE_KEPT])
            return False
        events.append(event)
        if on_event:
            on_event(event)
        return True

    completed = host.run(
        [executable, "-", json.dumps({**config, "mark": mark})],
        stdin=text,
        env={**(host.env if env is None else env), "PYTHONUTF8": "1"},
        merge=merge,
        patience=patience,
        on_line=take,
    )
    return Collected(tuple(events), "".join(noise).strip()[:NOISE_KEPT], completed)


def _event_in(line: str, mark: str) -> Event | None:
    """The event between the marks of a line, None for any other line."""
    start, end = line.find(mark), line.rfind(mark)
    if start == end:
        return None
    try:
        event = json.loads(line[start + len(mark) : end])
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
