"""The CUDA toolkits of the machine and of the target, told by their files: none is started."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from doctor.facts import Toolkit
from doctor.host import Host
from doctor.probes import Looks

By = Literal["CUDA_HOME", "PATH", "folder", "environment"]
VARIABLES = ("CUDA_HOME", "CUDA_PATH")  # in the order in which torch asks
ROOT, DEFAULT = "/usr/local", "/usr/local/cuda"
WINDOWS_ROOT = "C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA"
FOLDER = re.compile(r"cuda(?:-\d{1,2}(?:\.\d{1,2})?)?|v\d{1,2}\.\d{1,2}")
IN_FOLDER = re.compile(r"(?:cuda-|v)(\d{1,2}\.\d{1,2})$")
IN_TEXT = re.compile(r"CUDA Version (\d{1,2}\.\d{1,2})")
IN_JSON = re.compile(r"\d{1,2}\.\d{1,2}")
# What a package manager leaves: "cuda-nvcc-12.4.131-0.json", "nvidia_cuda_nvcc_cu12-12.4.131.dist-info".
RECORDED = re.compile(r"(?:nvidia_)?cuda[-_]nvcc(?:_cu\d\d)?-(\d{1,2}\.\d{1,2})\.")
IN_SCRIPT, SCRIPT_BYTES = re.compile(r"/cuda-(\d{1,2}\.\d{1,2})/bin/nvcc"), 4096
RUNTIME = re.compile(r"libcudart\.so\.(\d{1,2}\.\d{1,2})\.\d+")
LIBRARY_FOLDERS = (
    "lib64",
    "lib",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
)  # the last two are Debian's
OF_WHEELS = ("nvidia/cuda_nvcc", "nvidia/cu13")  # in site-packages


class Place(NamedTuple):
    """A folder that may hold a toolkit, and the one in which its installer keeps records."""

    path: str
    by: By
    records: str = ""


def probe(looks: Looks) -> tuple[Toolkit, ...]:
    """Every toolkit once, links followed; a folder that CUDA_HOME names counts though nothing is there."""
    host = looks.host
    used = used_by_torch(host)
    found: dict[str, Toolkit] = {}
    for place in (*stated(host), *in_target(looks), *on_path(host), *in_folders(host)):
        path = host.real_path(place.path)
        release = version(host, path, place.records or f"{path}/conda-meta") if host.is_folder(path) else None
        has_compiler = host.is_file(f"{path}/bin/{compiler(host)}")
        if path not in found and (place.by != "folder" or has_compiler or release):
            found[path] = Toolkit(
                path=path,
                version=release,
                found_by=place.by,
                has_compiler=has_compiler,
                is_used=used is not None and path == host.real_path(used),
            )
    return tuple(found.values())


def compiler(host: Host) -> str:
    """The file name of CUDA's compiler."""
    return "nvcc.exe" if host.os == "win32" else "nvcc"


def used_by_torch(host: Host) -> str | None:
    """The toolkit that torch.utils.cpp_extension builds with, by its own rule; None where it finds none."""
    places = [place.path for place in (*stated(host)[:1], *on_path(host))]
    if host.os == "win32":
        places += [place.path for place in in_folders(host)]
    elif host.is_folder(DEFAULT):
        places.append(DEFAULT)
    return next(iter(places), None)


def stated(host: Host) -> Sequence[Place]:
    """What the variables name."""
    named = [host.env.get(name, "").rstrip("/\\") for name in VARIABLES]
    return [Place(path, "CUDA_HOME") for path in dict.fromkeys(named) if path]


def on_path(host: Host) -> Iterator[Place]:
    """The folder above the bin folder of the nvcc on PATH."""
    found = (host.find_program("nvcc") or "").replace("\\", "/")
    if found.count("/") > 1:
        yield Place(found.rsplit("/", 2)[0] or "/", "PATH")


def in_folders(host: Host) -> Iterator[Place]:
    """Where NVIDIA's own installers put it."""
    root = WINDOWS_ROOT if host.os == "win32" else ROOT
    for name in host.list_folder(root):
        if FOLDER.fullmatch(name):
            yield Place(f"{root}/{name}", "folder")


def in_target(looks: Looks) -> Iterator[Place]:
    """What conda or pip installed into the target itself."""
    host, interpreter = looks.host, looks.survey.result().section("interpreter") or {}
    prefix = str(interpreter.get("prefix") or "")
    if prefix and host.is_file(f"{prefix}/bin/{compiler(host)}"):
        yield Place(prefix, "environment")
    for site in interpreter.get("site_folders", ()):
        for folder in OF_WHEELS:
            if host.is_file(f"{site}/{folder}/bin/{compiler(host)}"):
                yield Place(f"{site}/{folder}", "environment", site)


def version(host: Host, path: str, records: str) -> str | None:
    """The release, "12.4", by the toolkit's own account, by a record, or by the names of its files."""
    return (
        _from_json(host.read_text(f"{path}/version.json") or "")
        or _first(IN_TEXT, [(host.read_text(f"{path}/version.txt") or "")[:200]])
        or _first(RECORDED, host.list_folder(records))
        or _first(IN_FOLDER, [path])
        or _behind_link(host, path)
        or _first(RUNTIME, [name for lib in LIBRARY_FOLDERS for name in host.list_folder(f"{path}/{lib}")])
    )


def _behind_link(host: Host, path: str) -> str | None:
    """The release of the toolkit to which the nvcc in a folder leads, as a link or as a script."""
    program = f"{path}/bin/{compiler(host)}"
    home = host.real_path(program).replace("\\", "/").rsplit("/", 2)[0]
    if home != path:
        return version(host, home, "")
    try:
        text = host.read_bytes(program, SCRIPT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return _first(IN_SCRIPT, [text]) if text.startswith("#!") else None


def _from_json(text: str) -> str | None:
    """{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, ...}"""
    try:
        told = json.loads(text or "{}")["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    found = IN_JSON.match(str(told))
    return found[0] if found else None


def _first(pattern: re.Pattern[str], texts: Sequence[str]) -> str | None:
    return next((found[1] for text in texts if (found := pattern.search(text))), None)
