"""The package index over HTTP: what files a project has, and what one says of itself, seldom read whole."""

from __future__ import annotations

import email
import email.message
import io
import json
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

INDEX = "https://pypi.org/simple"
TRIES = 4
TIMEOUT_S = 60.0
BLOCK_BYTES = 256 * 1024  # the central directory of torch's wheel takes four of these
WHOLE_BYTES = 24 * 1024 * 1024  # a wheel up to this size is downloaded in one go rather than by parts


class Unreadable(Exception):
    """A file of the index that cannot be read; the message says why."""


class File(NamedTuple):
    """One file of a project on the index (PEP 691)."""

    name: str
    url: str
    size: int  # bytes
    requires_python: str
    uploaded: str  # "2026-11-20T10:00:00Z"
    yanked: bool
    has_metadata: bool | None  # PEP 658; None where the index does not say

    @property
    def is_wheel(self) -> bool:
        """Is it a wheel?"""
        return self.name.endswith(".whl")


def files(project: str) -> list[File]:
    """Every file of a project, as the index lists them. Raises :class:`Unreadable`."""
    listing = json.loads(fetch(f"{INDEX}/{project}/", {"Accept": "application/vnd.pypi.simple.v1+json"}))
    return [
        File(
            name=file["filename"],
            url=file["url"],
            size=file.get("size") or 0,
            requires_python=file.get("requires-python") or "",
            uploaded=file.get("upload-time") or "",
            yanked=bool(file.get("yanked")),
            has_metadata=bool(file["core-metadata"]) if "core-metadata" in file else None,
        )
        for file in listing["files"]
    ]


def fetch(url: str, headers: dict[str, str] | None = None) -> bytes:
    """The body of a URL; a server or a line that is busy is asked again. Raises :class:`Unreadable`."""
    request = urllib.request.Request(url, headers={"User-Agent": "lora-doctor-harvest", **(headers or {})})
    for again in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code}"
            if error.code not in (408, 429) and error.code < 500:
                break
        except (OSError, urllib.error.URLError) as error:
            reason = str(error)
        time.sleep(2**again)
    raise Unreadable(f"{url}: {reason}")


def metadata(file: File) -> email.message.Message:
    """The core metadata of a wheel or a source archive. Raises :class:`Unreadable`.

    Cheapest first: the metadata that the index keeps beside a wheel (some do without saying so), then the one
    member of the wheel, read by ranges. A source archive is read whole.
    """
    if not file.is_wheel:
        return source_metadata(file)
    if file.has_metadata is not False:
        try:
            return email.message_from_bytes(fetch(f"{file.url}.metadata"))
        except Unreadable:
            if file.has_metadata:
                raise
    with archive(file) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(wheel.read(name))


def source_metadata(file: File) -> email.message.Message:
    """PKG-INFO of a source archive; requirements come from setuptools' own list where it names none."""
    try:
        with tarfile.open(fileobj=io.BytesIO(fetch(file.url))) as source:
            members = {name.partition("/")[2]: name for name in source.getnames()}
            message = email.message_from_bytes(content(source, members["PKG-INFO"]))
            listed = next((full for full in members.values() if full.endswith("egg-info/requires.txt")), None)
            if listed and "Requires-Dist" not in message:
                for requirement in listed_requirements(content(source, listed).decode()):
                    message["Requires-Dist"] = requirement
    except (tarfile.TarError, KeyError) as error:
        raise Unreadable(f"{file.name}: {error!r}") from error
    return message


def content(source: tarfile.TarFile, name: str) -> bytes:
    """A member of an archive. Raises KeyError where it is no file."""
    member = source.extractfile(name)
    if member is None:
        raise KeyError(name)
    return member.read()


def listed_requirements(text: str) -> Iterator[str]:
    """Requirements in setuptools' requires.txt: sections are named "[extra:marker]"."""
    conditions = ""
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("["):
            extra, _, marker = line.strip("[]").partition(":")
            parts = ([f"({marker})"] if marker else []) + ([f'extra == "{extra}"'] if extra else [])
            conditions = " and ".join(parts)
        elif line:
            yield f"{line}; {conditions}" if conditions else line


def archive(file: File) -> zipfile.ZipFile:
    """A wheel, opened: a small one is downloaded, of a large one only the parts that are read."""
    try:
        if file.size and file.size <= WHOLE_BYTES:
            return zipfile.ZipFile(io.BytesIO(fetch(file.url)))
        return zipfile.ZipFile(io.BufferedReader(Ranges(file.url, file.size), BLOCK_BYTES))
    except zipfile.BadZipFile as error:
        raise Unreadable(f"{file.name}: {error}") from error


class Ranges(io.RawIOBase):
    """A file on a server, read by HTTP ranges."""

    def __init__(self, url: str, size: int) -> None:
        self.url, self.size, self.position = url, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        return self.position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        last = min(self.position + len(buffer), self.size) - 1
        if last < self.position:
            return 0
        block = fetch(self.url, {"Range": f"bytes={self.position}-{last}"})
        if len(block) != last - self.position + 1:
            raise Unreadable(f"{self.url}: the server gives no ranges")
        buffer[: len(block)] = block
        self.position += len(block)
        return len(block)
