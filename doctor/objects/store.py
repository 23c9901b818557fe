"""What was read of native files, kept for the next run under each file's identity."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec

from doctor.host import Host
from doctor.objects import ObjectUnreadable, SharedObject

if TYPE_CHECKING:
    from doctor.objects.symbols import Symbols

KEPT = "objects-1.msgpack"
KEPT_FILES = 400  # torch's CUDA build with all that it brings is some 60
KEPT_ANSWERS = 400
KEPT_BYTES = 8 << 10  # of one of them; libstdc++ takes 1 KiB

Identity = tuple[int, int, int]  # as Host.identity tells it


class Kept(msgspec.Struct, array_like=True):
    """What was read of one file while it had one identity."""

    identity: Identity
    object: SharedObject | None = None
    fault: str = ""  # why it cannot be read; "" beside an object
    architectures: tuple[str, ...] | None = None  # None: not read


class Store(msgspec.Struct):
    """The file that is kept."""

    files: dict[str, Kept] = {}  # by path
    answers: dict[str, str] = {}  # what took long to find out, by a digest of all that it depends on


class Opened(NamedTuple):
    """What opening a path gave: an object, or why it is none."""

    identity: Identity
    object: SharedObject | None
    fault: str


class Objects:
    """Native files of a host by path, each read once while it stays as it is."""

    def __init__(self, host: Host) -> None:
        self.host = host
        store = _decoded(host.cached(KEPT))
        self._kept, self._answers = store.files, store.answers
        self._used: dict[str, Kept] = {}
        self._symbols: dict[str, Symbols] = {}
        self._is_changed = False

    def open(self, path: str) -> Opened | None:
        """What the loader finds under a path; None where it finds nothing and goes on."""
        identity = self.host.identity(path)
        if identity is None:
            return None
        kept = self._current(path, identity)
        if kept is None or (kept.object is None and not kept.fault):
            kept = self._read(path, identity, kept)
        return Opened(identity, kept.object, kept.fault) if kept else None

    def architectures(self, path: str, *, only_kept: bool = False) -> tuple[str, ...] | None:
        """The GPU architectures in a file; None where it cannot be read or, by ``only_kept``, was not yet."""
        identity = self.host.identity(path)
        kept = self._current(path, identity) if identity else None
        if identity is None or only_kept or (kept and kept.architectures is not None):
            return kept.architectures if kept else None
        from doctor.objects.fatbin import architectures

        try:
            with self.host.open_binary(path) as file:
                found = architectures(file, identity[0])
        except OSError:
            return None
        known = kept or Kept(identity)
        self._keep(path, Kept(identity, known.object, known.fault, found))
        return found

    def symbols(self, path: str) -> Symbols:
        """The symbols of a file. Raises ObjectUnreadable or OSError; they are many and not kept for long."""
        if path not in self._symbols:
            from doctor.objects.symbols import Symbols

            with self.host.open_binary(path) as file:
                self._symbols[path] = Symbols(file, (self.host.identity(path) or (0, 0, 0))[0])
        return self._symbols[path]

    def answer(self, about: Sequence[object], find_out: Callable[[], str]) -> str:
        """What an earlier run found out about the same, else what is found out now."""
        found = self.kept_answer(about)
        if found is None:
            found = self._answers[self._key(about)] = find_out()
            self._is_changed = True
        return found

    def kept_answer(self, about: Sequence[object]) -> str | None:
        """What an earlier run found out about the same, None where none has."""
        return self._answers.get(self._key(about))

    @staticmethod
    def _key(about: Sequence[object]) -> str:
        import hashlib  # rarely

        return hashlib.sha256(repr(about).encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def save(self) -> None:
        """Keep what was read for the next run, if anything is new."""
        if not self._is_changed:
            return
        others = {path: one for path, one in self._kept.items() if path not in self._used}
        both = [*self._used.items(), *others.items()][:KEPT_FILES]
        files = {path: one for path, one in both if _is_kept(path, one)}
        answers = dict([one for one in self._answers.items() if _is_kept(*one)][-KEPT_ANSWERS:])
        self.host.cache(KEPT, msgspec.msgpack.encode(Store(files, answers)))

    def _reader(self) -> Callable[[IO[bytes], int], SharedObject]:
        """Native files are of one form on each system."""
        form = {"win32": "pe", "darwin": "macho"}.get(self.host.os, "elf")
        reader: Callable[[IO[bytes], int], SharedObject] = import_module(f"doctor.objects.{form}").read_object
        return reader

    def _current(self, path: str, identity: Identity) -> Kept | None:
        kept = self._used.get(path) or self._kept.get(path)
        if kept is None or kept.identity != identity:
            return None
        self._used[path] = kept
        return kept

    def _keep(self, path: str, kept: Kept) -> Kept:
        self._used[path] = kept
        self._is_changed = True
        return kept

    def _read(self, path: str, identity: Identity, known: Kept | None) -> Kept | None:
        found = known.architectures if known else None
        try:
            with self.host.open_binary(path) as file:
                return self._keep(path, Kept(identity, self._reader()(file, identity[0]), "", found))
        except ObjectUnreadable as error:
            return self._keep(path, Kept(identity, None, str(error), found))
        except IsADirectoryError:
            return Kept(identity, None, "is no regular file")
        except OSError as error:
            is_passed_over = error.errno in (errno.EACCES, errno.ENOENT)  # by the loader itself
            return None if is_passed_over else Kept(identity, None, "cannot be read")


def _decoded(content: bytes | None) -> Store:
    """What an earlier run kept; nothing where it is damaged or of another form."""
    try:
        return msgspec.msgpack.decode(content or b"", type=Store)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Store()


def _is_kept(*told: object) -> bool:
    """Can it be written as UTF-8, and is it of a usual size? Names in files can be any bytes, and many."""
    try:
        return len(msgspec.msgpack.encode(told)) < KEPT_BYTES
    except UnicodeEncodeError:
        return False
