"""What a line says of the machine: ``platform.platform()``, names of operating systems, kernels, libc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.paste import Topic

_ARCH = r"x86_64|amd64|AMD64|aarch64|arm64|armv7l|armv8l|ppc64le|s390x|riscv64|loongarch64|i386|i686"
# "Linux-5.15.0-91-generic-x86_64-with-glibc2.35": kernel, machine, and what Python found of the userland.
_LINUX = re.compile(rf"[Ll]inux-(\S{{1,120}}?)-({_ARCH})(?:-with-(\S{{1,80}})|(?=[\s,;\"'`)]|$))")
_WINDOWS = re.compile(r"Windows-(\w{1,20})-(\d{1,2}\.\d{1,2}\.\d{1,6})")
_MACOS = re.compile(rf"(?:macOS|Darwin)-(\d{{1,3}}(?:\.\d{{1,3}}){{0,2}})-({_ARCH})")
_LIBC = re.compile(r"(glibc|musl)[ -]?(\d\.\d{1,2})")
_WORD_OF_ARCH = re.compile(rf"(?<![\w-])({_ARCH})(?![\w-])")
_SYSTEMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("win32", re.compile(r"\bwin(?:dows)?(?:[ -]?\d{1,4}|\b)|майкрософт", re.I)),
    ("darwin", re.compile(r"\bmac(?:\s?os|intosh|book)|\bos\s?x\b|\bdarwin\b|\bsequoia\b|\bsonoma\b", re.I)),
    (
        "linux",
        re.compile(
            r"linux|ubuntu|debian|centos|rhel|red ?hat|rocky|alma|fedora|suse|manjaro|\bmint\b|pop!_os|\bamzn"
            r"|openeuler|euleros|kylin|nixos|gentoo|alpine|tencentos|anolis|uos\b|麒麟|\bcolab|kaggle|\bwsl",
            re.I,
        ),
    ),
)
_WSL = re.compile(r"\bwsl ?2?\b|microsoft-standard|windows subsystem", re.I)
_CONTAINERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("colab", re.compile(r"\bcolab\b", re.I)),
    ("kaggle", re.compile(r"\bkaggle\b", re.I)),
    ("docker", re.compile(r"\bdocker\b|\bnvcr\.io\b", re.I)),
    ("kubernetes", re.compile(r"\bkubernetes\b|\bk8s\b", re.I)),
)
# The kernel is the host's; it tells of the distribution where the glibc is that distribution's too.
_BY_KERNEL: tuple[tuple[str, str, str], ...] = (
    (".el7", "2.17", "Red Hat Enterprise Linux 7 or a relative"),
    (".el8", "2.28", "Red Hat Enterprise Linux 8 or a relative"),
    (".el9", "2.34", "Red Hat Enterprise Linux 9 or a relative"),
    (".el10", "2.39", "Red Hat Enterprise Linux 10 or a relative"),
    (".amzn2.", "2.26", "Amazon Linux 2"),
    (".amzn2023", "2.34", "Amazon Linux 2023"),
)
# Python 3.7 and older wrote the distribution in place of the libc: "with-centos-7.9.2009-Core".
_OLD_USERLAND = re.compile(r"(ubuntu|centos|redhat|fedora|rocky|debian)-(\d{1,2}(?:\.\d{1,2})?)", re.I)


class Said(NamedTuple):
    """A statement without its place."""

    topic: Topic
    value: str
    name: str = ""


def of_platform(text: str) -> Iterator[Said]:
    """What a string of ``platform.platform()`` tells; nothing of a text that holds none."""
    linux = _LINUX.search(text)
    windows = _WINDOWS.search(text)
    macos = _MACOS.search(text)
    if linux:
        yield from _of_linux(linux[1], linux[2], linux[3] or "")
    elif windows:
        yield Said("os", "win32")
        yield Said("distribution", f"Windows {windows[2]}")
    elif macos:
        yield Said("os", "darwin")
        yield Said("arch", macos[2])
        if macos[0].startswith("macOS"):
            yield Said("distribution", f"macOS {macos[1]}")


def _of_linux(kernel: str, arch: str, userland: str) -> Iterator[Said]:
    yield Said("os", "linux")
    yield from of_kernel(kernel)
    yield Said("arch", arch)
    libc = _LIBC.search(userland)
    old = _OLD_USERLAND.match(userland)
    if libc:
        yield Said("libc", f"{libc[1]} {libc[2]}")
        named = [name for mark, glibc, name in _BY_KERNEL if mark in kernel and glibc == libc[2]]
        yield from (Said("distribution", name) for name in named)
    elif old:
        yield Said("distribution", f"{old[1]} {old[2]}")


def of_kernel(text: str) -> Iterator[Said]:
    """What the release of a Linux kernel tells: "5.15.153.1-microsoft-standard-WSL2"."""
    found = re.match(r"\s{0,8}(?:Linux )?(\d{1,2}\.\d{1,3}[\w.+~-]{0,100})", text)
    if found:
        yield Said("kernel", found[1])
        if "microsoft" in found[1].lower():
            yield Said("wsl", "yes")


def of_system(text: str) -> Iterator[Said]:
    """What the name of an operating system tells, as programs print it or as people write it."""
    if any(True for _ in of_platform(text)):
        yield from of_platform(text)
        return
    wsl = _WSL.search(text) is not None
    systems = ["linux"] if wsl else [name for name, mark in _SYSTEMS if mark.search(text)]
    if len(systems) != 1:  # "Linux, Windows": of which of them the report is, it does not say
        return
    yield Said("os", systems[0])
    yield from (Said("container", name) for name, mark in _CONTAINERS if mark.search(text))
    if wsl:
        yield Said("wsl", "yes")
    arch = _WORD_OF_ARCH.search(text)
    if arch:
        yield Said("arch", arch[1])
    if re.search(r"\d", text):  # "Linux" alone is no distribution
        yield Said("distribution", text.strip())


def of_libc(text: str) -> Iterator[Said]:
    """ "glibc-2.35", "glibc 2.35", "ldd (Ubuntu GLIBC 2.35-0ubuntu3) 2.35", "2.35"."""
    found = _LIBC.search(text.lower()) or re.match(r"()(\d\.\d{1,2})\b", text)
    if found:
        yield Said("libc", f"{found[1] or 'glibc'} {found[2]}")


def of_arch(text: str) -> Iterator[Said]:
    """The machine's architecture, where the text begins with one."""
    found = _WORD_OF_ARCH.match(text)
    if found:
        yield Said("arch", found[1])
