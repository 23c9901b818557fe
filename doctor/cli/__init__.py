"""The command line: parse, call, print, exit. Nothing is judged here."""

from __future__ import annotations

import codecs
import contextlib
import gc
import os
import signal
import sys
from typing import Any, NoReturn

OWN_WORDS = "lora-doctor itself failed, which says nothing of your environment"
OWN_FAULT = 3  # exit code of a doctor that failed itself: the target was not examined


def main() -> None:
    """Run ``lora-doctor`` and leave with its exit code; never a traceback."""
    if sys.stdout is None:  # closed by whoever started us: the exit code still says how it stands
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stdout = Forgiving(sys.stdout)
    for number in ("SIGTERM", "SIGHUP"):
        # Under nohup the one stays ignored, for a watched command as well.
        if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) != signal.SIG_IGN:
            signal.signal(getattr(signal, number), leave_cleanly)
    codecs.register_error("escaped", escaped)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="escaped")  # an ASCII terminal must not end the report
    from doctor.cli import early

    gc.disable()  # a short life: collecting costs the start more than it gives back
    # Threads that feed and read children must not wait for an import to give way (5 ms by default).
    sys.setswitchinterval(0.0005)
    code: Any = 0
    try:
        early.begin(sys.argv[1:])
        from doctor.cli.app import app

        app(prog_name="lora-doctor")
    except SystemExit as leaving:
        code = leaving.code
    except Exception as error:  # the doctor's own fault: one line and a crash file
        sys.stderr.write(masked(f"{OWN_WORDS}: {type(error).__name__}: {error}") + f"\n{crash_file()}\n")
        code = OWN_FAULT
    finally:
        early.leave()
    end_at_once(code)


def end_at_once(code: int | None) -> NoReturn:
    """End with an exit code; the interpreter's own teardown takes 10 ms and shows nothing more."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code or 0)


def escaped(error: UnicodeError) -> tuple[str, int]:
    """What a stream cannot hold, as JSON writes it, so that a report in JSON stays one: \\u00fc."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)), error.end


def leave_cleanly(number: int, frame: object) -> None:
    """End as asked, by way of the code that kills the children."""
    sys.exit(128 + number)


class Forgiving:
    """Standard output that may fill up or lose its reader: the rest is lost, the exit code still counts."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or forget."""
        try:
            return int(self._stream.write(text))
        except OSError:
            return self._forget()

    def flush(self) -> None:
        """Flush, or forget."""
        try:
            self._stream.flush()
        except OSError:
            self._forget()

    def _forget(self) -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        return 0


def masked(text: str) -> str:
    """What an exception says, without names and secrets: it may well quote what was read."""
    try:
        from doctor.redact import Identity, redact_text

        return redact_text(text, Identity())
    except Exception as error:  # what cannot be masked is not told
        return f"{type(error).__name__} while its words were masked"


def crash_file() -> str:
    """Write the traceback where it can be picked up; say where, or say it here if nowhere can be written."""
    import tempfile
    import traceback

    text = masked(traceback.format_exc())
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="lora-doctor-crash-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        return f"what happened is in {file.name}; please attach it to an issue"
    except OSError:
        return text.strip().splitlines()[-2].strip()
