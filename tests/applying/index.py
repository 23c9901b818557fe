"""A package index on this machine that can fail in the ways in which indexes and networks do."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Index(BaseHTTPRequestHandler):
    """The simple API (PEP 503) over a folder of wheels, with one fault."""

    wheels: Path
    fault = ""

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        name = self.path.strip("/").split("/")[-1].partition("#")[0]
        if self.path.startswith("/simple/"):
            self.page(name)
        elif self.path.startswith("/files/"):
            self.file(name)
        else:
            self.answer(404, b"")

    def page(self, package: str) -> None:
        """The links of one package."""
        if self.fault == "error pages":
            self.answer(500, b"<html>Internal Server Error</html>")
        elif self.fault == "garbage":
            self.answer(200, b"\x00\xff not a page", "text/html")
        elif self.fault == "another kind":
            self.answer(200, b"%PDF-1.4", "application/pdf")
        elif self.fault == "login":
            self.answer(401, b"who are you?")
        elif self.fault == "nothing listed":
            self.answer(200, b"<html></html>", "text/html")
        else:
            links = "".join(self.link(path) for path in sorted(self.wheels.glob(f"{package}-*")))
            self.answer(200, f"<html><body>{links}</body></html>".encode(), "text/html")

    def link(self, path: Path) -> str:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if self.fault == "wrong hash" and path.name.startswith("demo"):
            digest = "0" * 64
        return f'<a href="/files/{path.name}#sha256={digest}">{path.name}</a><br>'

    def file(self, name: str) -> None:
        """A wheel, or what becomes of it."""
        content = (self.wheels / name).read_bytes()
        if not name.startswith("demo"):
            self.answer(200, content)
        elif self.fault == "missing file":
            self.answer(404, b"")
        elif self.fault == "cut short":
            self.answer(200, content[: len(content) // 2], length=len(content))
        elif self.fault == "reset":
            self.answer(200, content[:100], length=len(content))
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif self.fault == "stalls":
            self.answer(200, content[:100], length=len(content))
            time.sleep(8)
        elif self.fault == "other bytes":
            self.answer(200, b"PK\x03\x04" + content[4:][::-1])
        else:
            self.answer(200, content)

    def answer(
        self, code: int, body: bytes, kind: str = "application/octet-stream", length: int = -1
    ) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length < 0 else length))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body if self.command == "GET" else b"")
            self.wfile.flush()
        if length >= 0:
            self.close_connection = True


class Quiet(ThreadingHTTPServer):
    """A server whose clients may go whenever they like."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, address: object) -> None:
        """A client that has gone is no fault of the test."""


@contextlib.contextmanager
def served(wheels: Path, fault: str) -> Iterator[str]:
    """The address of an index with a fault."""
    handler = type("Handler", (Index,), {"wheels": wheels, "fault": fault})
    server = Quiet(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
