"""A Chromium without a window, spoken to through two pipes in the DevTools protocol.

Source of the protocol: https://chromedevtools.github.io/devtools-protocol/. ``--remote-debugging-pipe`` reads
from descriptor 3 and writes to descriptor 4, one JSON text after the other, each ended by a zero byte.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DEADLINE_S = 30
_START = """
import os, sys
for number, name in ((3, 1), (4, 2)):
    os.dup2(int(sys.argv[name]), number)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One browser with one tab at a time."""

    def __init__(self, profile: Path) -> None:
        heard, self._write = _pipe()
        self._read, said = _pipe()
        launcher = (sys.executable, "-c", _START, str(heard), str(said))
        self._process = subprocess.Popen(
            (*launcher, "chromium", *_FLAGS, f"--user-data-dir={profile}"),
            pass_fds=(heard, said),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(heard)
        os.close(said)
        self._number, self._session, self._rest = 0, "", b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **parameters: Any) -> Any:
        """Ask, and wait for the answer; what happens meanwhile is kept in ``events``."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        if self._session and not method.startswith(("Target.", "Browser.")):
            asked["sessionId"] = self._session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        for message in self._messages():
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.events.append(message)
        raise AssertionError(f"no answer to {method}")

    def open(self, address: str, *, width: int = 1280, dark: bool = False, before: str = "") -> None:
        """A fresh tab with this address, loaded; ``before`` runs ahead of the page's own script."""
        if self._session:
            self.call("Page.close")
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.size(width)
        self.scheme("dark" if dark else "light")
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def size(self, width: int, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)  # fmt: skip

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str) -> Any:
        """The value of an expression, a promise awaited."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while not self.run(condition):
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def press(self, key: str, *, shift: bool = False) -> None:
        """One key, down and up."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        code = {"Tab": 9, "Enter": 13, " ": 32}[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      modifiers=8 if shift else 0, text=text if kind == "keyDown" else "")  # fmt: skip

    def close(self) -> None:
        with suppress(OSError, AssertionError):
            self.call("Browser.close")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def _messages(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + DEADLINE_S
        while (left := end - time.monotonic()) > 0:
            while b"\0" in self._rest:
                message, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(message)
            if select.select([self._read], [], [], left)[0]:
                heard = os.read(self._read, 1 << 20)
                assert heard, "the browser has gone"
                self._rest += heard


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser for the length of a block."""
    opened = Browser(profile)
    try:
        yield opened
    finally:
        opened.close()


def _pipe() -> tuple[int, int]:
    """Both ends of a pipe, out of the way of 3 and 4."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]
