"""What ``import torch`` opens, in its order.

``torch/__init__.py`` opens libtorch_global_deps.so first, so that the CUDA libraries are visible to all.
Where that fails for want of one of them, and in newer releases also where it does not, it opens them one by
one from ``nvidia/*/lib`` beside itself; then it imports ``torch._C``. Which ones is read from that file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from doctor.host import Host
from doctor.linking.loader import Need, Opening, Process

PAIR = re.compile(r"[\"'](\w+)[\"']\s*[\]:,]\s*(?:=\s*)?[\"'](lib[\w+-]+\.so[^\"'\s]*)[\"']")
CONDITION = re.compile(r"if [\"']([^\"']*libcudart\.so)[\"'] not in _maps")

Pairs = tuple[tuple[str, str], ...]  # a folder of nvidia/ and a pattern of file names in it


class Preloads(NamedTuple):
    """What a release of torch opens besides what its libraries need."""

    after_failure: Pairs = ()
    after_success: Pairs = ()
    condition: str = ""  # a text that must be in the path of a mapped file for the second


def preloads(source: str) -> Preloads:
    """What torch/__init__.py says it opens."""
    start = source.find("def _preload_cuda_")
    if start < 0:
        return Preloads()
    end = source.find("USE_RTLD_GLOBAL_WITH_LIBTORCH", start)
    text = source[start : end if end > 0 else start + 20000]
    listed, _, opening = text.partition("def _load_global_deps")
    on_success, _, on_failure = opening.partition("except OSError")
    whole = _pairs(listed)
    condition = CONDITION.search(on_success)
    return Preloads(
        _pairs(on_failure) or whole,
        (_pairs(on_success) or (whole if "_preload_cuda_deps()" in on_success else ())) if condition else (),
        condition.group(1) if condition else "",
    )


def _pairs(text: str) -> Pairs:
    return tuple(PAIR.findall(text))


def open_torch(process: Process, package: str, folders: Sequence[str], cuda_version: str | None) -> Opening:
    """Follow ``import torch`` from its own folder; what all that it opens came to, as one.

    ``folders``: all folders of packages, in the order of sys.path.
    """
    host = process.host
    said = preloads(host.read_text(posixpath.join(package, "__init__.py")) or "")
    places = Places(host, tuple(folders), (cuda_version or "").split(".")[0])
    global_deps = posixpath.join(package, "lib", "libtorch_global_deps.so")
    openings = [_opened(process, global_deps)]
    first = openings[0]
    if first.fails and _is_about(first, said.after_failure):
        first.needs = {name: need for name, need in first.needs.items() if not need.fails}
        openings += _preload(process, said.after_failure, places)
        openings.append(_opened(process, global_deps))
    elif not first.fails and said.condition and process.has_mapped(said.condition):
        openings += _preload(process, said.after_success, places)
    extension = extension_in(host, package, "_C")
    last = process.open(extension) if extension else Opening(posixpath.join(package, "_C"), "is not there")
    return _joined([*openings, last])


def _opened(process: Process, path: str) -> Opening:
    """What torch opens by its path, told with all that it needs."""
    opening = process.open(path)
    if opening.mapped or opening.fault:
        name = next((one.object.soname for one in opening.mapped), "") or posixpath.basename(path)
        itself = Need(name, "torch/__init__.py", path, "path", opening.fault)
        if opening.fault == "is not there":  # a link may be that leads nowhere
            itself = Need(name, itself.asked_by)
        opening.needs = {name: itself, **opening.needs}
    return opening


def _is_about(failed: Opening, pairs: Pairs) -> bool:
    """Is one of these libraries what was missed?"""
    stems = tuple(pattern.split(".")[0] for _, pattern in pairs)
    return any(one.name.startswith(stems) for one in failed.needs.values() if one.fails)


def _preload(process: Process, pairs: Pairs, places: Places) -> Iterator[Opening]:
    """Open each, up to the first that is nowhere or fails: there torch gives up."""
    for folder, pattern in pairs:
        path = next(places.matching(folder, pattern), None)
        if path is None:
            return
        opening = _opened(process, path)
        yield opening
        if opening.fails:
            return


class Places(NamedTuple):
    """Where torch looks for a library of NVIDIA's wheels."""

    host: Host
    folders: tuple[str, ...]
    major: str  # of torch's CUDA

    def matching(self, folder: str, pattern: str) -> Iterator[str]:
        """Files of a pattern, in the order of torch's own search."""
        for site in self.folders:
            for place in (f"nvidia/{folder}", f"nvidia/cu{self.major}", folder):
                below = posixpath.join(site, *place.split("/"), "lib")
                names = self.host.list_folder(below)
                yield from (posixpath.join(below, name) for name in names if fits(name, pattern))


def fits(name: str, pattern: str) -> bool:
    """Is a file of torch's pattern? All are of the form ``libcublas.so.*[0-9]``."""
    start, _, end = pattern.partition("*")
    return name.startswith(start) and (end != "[0-9]" or name[-1].isdigit())


def extension_in(host: Host, folder: str, stem: str) -> str | None:
    """The extension module of a name in a folder: ``_C.cpython-312-x86_64-linux-gnu.so``."""
    names = (
        name for name in host.list_folder(folder) if name.startswith(f"{stem}.") and name.endswith(".so")
    )
    return next((posixpath.join(folder, name) for name in names), None)


def _joined(openings: Sequence[Opening]) -> Opening:
    """Several openings as one library, the last of them; each name as it was met first, or as it failed.

    What came in by one opening and fails another still came by the first, from LD_LIBRARY_PATH as it may be.
    """
    joined = Opening(openings[-1].path, openings[-1].fault)
    for opening in openings:
        joined.mapped += opening.mapped
        for name, need in opening.needs.items():
            known = joined.needs.get(name)
            if known is None:
                joined.needs[name] = need
            elif need.fails and not known.fails:
                is_same = need.by == "already loaded"
                joined.needs[name] = msgspec.structs.replace(need, by=known.by) if is_same else need
            elif need.by == "path" and need.path != known.path:  # a second file beside the one found by name
                joined.needs[need.path] = need
    return joined
