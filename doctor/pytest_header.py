"""A plugin of pytest: what the tests run on, in two lines of the header, where that is asked for.

``pytest --lora-doctor``, or ``lora_doctor = true`` in the ini file. Unasked it costs the import of this
file. PYTEST_DONT_REWRITE: there is no assertion here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PATIENCE_S = 20.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option and the ini value."""
    about = "Versions, GPU and verdict of lora-doctor in the header."
    parser.getgroup("lora-doctor").addoption("--lora-doctor", action="store_true", default=False, help=about)
    parser.addini("lora_doctor", about, type="bool", default=False)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The lines; [] unasked. Whatever goes wrong is one line, and never the end of a test run."""
    try:
        if not (config.getoption("--lora-doctor") or config.getini("lora_doctor")):
            return []
        return looked()
    except Exception as error:
        return [f"lora-doctor: could not look: {type(error).__name__}: {error}"]


def looked() -> list[str]:
    """What a child says: a look in this process would import the doctor among the tests' own modules."""
    from doctor.child import Patience
    from doctor.host import LocalHost

    host = LocalHost()
    try:
        words = [sys.executable, "-m", "doctor.report", "--header"]
        done = host.run(words, patience=Patience(limit_s=PATIENCE_S))
    finally:
        host.close()
    lines = [line for line in done.stdout.splitlines() if line.startswith("lora-doctor")]
    if lines:
        return lines
    how = done.error or (f"no answer in {PATIENCE_S:.0f} s" if done.timed_out else f"exit code {done.code}")
    return [f"lora-doctor: could not look: {how}"]
