"""The report for other programs: ``python -m doctor.report``, and :func:`text` for a framework's own ``env``.

::

    from doctor.report import text

    print(text())  # Markdown without names and secrets, in less than half a second

Both examine the interpreter that calls them. Nothing of the caller's is changed: no signal handler, no
setting of the garbage collector, no variable, no stream.
"""

from __future__ import annotations

import os
import sys

# `python -m` puts the working folder first; a tempfile.py there must not break the doctor.
if __name__ == "__main__" and sys.path[:1] == [os.getcwd()] and not os.path.isdir("doctor"):
    del sys.path[0]

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.findings import Report


def text(python: str | None = None, *, quick: bool = True) -> str:
    """The report as Markdown. ``python`` is the interpreter to examine, the caller's own by default.

    Never raises: what went wrong stands in place of the report. ``quick=False`` imports the libraries of
    the stack, in children, and runs the smoke test, which takes half a minute.
    """
    try:
        from doctor.render.markdown import render

        return render(examined(python or sys.executable, quick))
    except Exception as error:
        return f"{failed(error)}\n"


def header(python: str | None = None) -> list[str]:
    """One or two lines on versions, GPU and verdict, by a quick look. Never raises."""
    try:
        from doctor.render.header import lines

        return lines(examined(python or sys.executable, quick=True))
    except Exception as error:
        return [failed(error)]


def examined(python: str, quick: bool) -> Report:
    """The report of an interpreter, fit to be published."""
    from doctor.cli.publication import Publication
    from doctor.host import LocalHost
    from doctor.probes import Looks
    from doctor.smoke.trial import STAGE_LIMIT_S
    from doctor.target import find_target

    host = LocalHost()
    try:
        looks = Looks(host, find_target(host, python))
        return Publication(looks, quick=quick, stage_limit_s=STAGE_LIMIT_S).run()
    finally:
        host.close()


def failed(error: Exception) -> str:
    """What is said in place of a report, without names and secrets."""
    from doctor.cli import masked

    return masked(f"lora-doctor could not look at this environment: {type(error).__name__}: {error}")


def main(words: Sequence[str]) -> int:
    """``python -m doctor.report [--full] [--header] [PYTHON]``; 2 where the words are others."""
    options = {word for word in words if word.startswith("-")}
    named = [word for word in words if not word.startswith("-")]
    if len(named) > 1 or not options <= {"--full", "--header"} or len(options) > 1:
        sys.stderr.write("usage: python -m doctor.report [--full | --header] [PYTHON]\n")
        return 2
    python = named[0] if named else None
    for line in header(python) if "--header" in options else [text(python, quick="--full" not in options)]:
        sys.stdout.write(line.rstrip("\n") + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
