"""Native files as they lie on disk: what each asks for, offers and holds. Nothing is loaded."""

from __future__ import annotations

import msgspec


class ObjectUnreadable(Exception):
    """What is no native file at all, in words that follow its name: "is no ELF file"."""


class SharedObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one ELF file tells the loader. Bytes that are not UTF-8 are surrogates, as of os.fsdecode."""

    machine: str  # "x86_64", "aarch64"
    bits: int  # 64 or 32; 0 where that is rubbish
    damage: str = ""  # why it can be mapped by no process, "is cut short"; the rest is then not told
    soname: str = ""
    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # of Windows and macOS: what is loaded late, or may be absent
    rpath: tuple[str, ...] = ()  # folders, $ORIGIN as it stands there
    runpath: tuple[str, ...] = ()
    # By the library that has to offer them, the versions asked for; True where it may lack one (weak).
    needs: dict[str, dict[str, bool]] = {}
    defines: tuple[str, ...] = ()  # versions that it offers
    has_runpath: bool = False  # even an empty one makes the loader ignore each RPATH
    has_versions: bool = False  # its symbols are marked with versions, its own or those of others
    no_default_folders: bool = False  # DF_1_NODEFLIB
    interpreter: str = ""  # of a program, the loader that it asks for: "/lib64/ld-linux-x86-64.so.2"
