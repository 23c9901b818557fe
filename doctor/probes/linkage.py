"""What the loader will take for the native libraries of the stack, told before anything is loaded."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from doctor.facts import BitsandbytesBuild, Gap, TorchBuild
from doctor.linking.library import folder_of, link
from doctor.linking.loader import Process
from doctor.linking.torch_import import extension_in, open_torch
from doctor.linking.undefined import undefined
from doctor.native import LibraryChoice, Linkage, NativeLibrary
from doctor.objects.store import Objects
from doctor.probes import Looks, bitsandbytes, torch

MUSL = "ld-musl"
# Further packages with native code that is linked to torch's, or lives beside it: a folder among the
# packages and how the file begins.
EXTENSIONS = (
    ("flash-attn", "", "flash_attn_2_cuda"),
    ("xformers", "xformers", "_C"),
    ("triton", "triton/_C", "libtriton"),
    ("deepspeed", "deepspeed/ops/adam", "cpu_adam_op"),
    ("deepspeed", "deepspeed/ops/adam", "fused_adam_op"),
    ("deepspeed", "deepspeed/ops/transformer/inference", "transformer_inference_op"),
)


def probe(looks: Looks) -> Linkage | Gap:
    """The libraries of torch, of bitsandbytes, and of what else there is, in the order of a training."""
    build = torch.probe(looks)
    if isinstance(build, Gap):
        return Gap(about="linkage", kind=build.kind, reason=build.reason)
    survey = looks.survey.result()
    interpreter, packages = survey.section("interpreter"), survey.section("packages")
    if interpreter is None or packages is None:
        return Gap(about="linkage", kind="failed", reason=survey.trouble)
    folders = tuple(packages["folders"])  # those of PYTHONPATH and of .pth files among them
    objects, choice = Objects(looks.host), chosen(looks)
    if looks.host.os != "linux":
        from doctor.linking.elsewhere import libraries_of

        libraries = libraries_of(objects, interpreter, folders, choice)
        objects.save()
        return Linkage(libraries=libraries, choice=choice)
    process = Process(looks.host, objects, interpreter["executable"])
    why_not = untold(process)
    if why_not:
        return why_not
    told = Telling(looks, process, folders)
    linkage = Linkage(libraries=tuple(told.libraries(build, choice)), choice=choice)
    objects.save()
    return linkage


def untold(process: Process) -> Gap | None:
    """Why this process cannot be followed."""
    if process.main is None:
        reason = "the file of the interpreter cannot be read as ELF"
        return Gap(about="linkage", kind="failed", reason=reason)
    if MUSL in process.interpreter:
        reason = "musl's loader, which this interpreter asks for, is not told from files"
        return Gap(about="linkage", kind="not-applicable", reason=reason)
    return None


def chosen(looks: Looks) -> LibraryChoice | None:
    """What bitsandbytes selects by its own rule."""
    ours = bitsandbytes.probe(looks)
    return bitsandbytes.choice_of(looks, ours) if isinstance(ours, BitsandbytesBuild) else None


class Telling(NamedTuple):
    """One target whose training is followed library by library."""

    looks: Looks
    process: Process
    folders: tuple[str, ...]

    def libraries(self, build: TorchBuild, choice: LibraryChoice | None) -> Iterator[NativeLibrary]:
        """In the order in which a training would load them: each finds mapped what came before."""
        host = self.looks.host
        folder = folder_of(host, self.folders, "torch")
        if folder:
            opening = open_torch(self.process, folder, self.folders, build.cuda_version)
            library = link(self.process, "torch", opening.path, opening)
            code = opening.needs.get("libtorch_cuda.so")
            yield self._with_code(library, code.path if code else "")
        folder = folder_of(host, self.folders, "bitsandbytes")
        if choice and choice.is_there and folder:
            yield self._linked("bitsandbytes", posixpath.join(folder, choice.library))
        for package, below, stem in EXTENSIONS:
            places = (posixpath.join(one, *below.split("/")) for one in self.folders)
            path = next(filter(None, (extension_in(host, place, stem) for place in places)), None)
            if path:
                yield self._with_undefined(self._linked(package, path), path)

    def _linked(self, package: str, path: str) -> NativeLibrary:
        return self._with_code(link(self.process, package, path), path)

    def _with_undefined(self, library: NativeLibrary, path: str) -> NativeLibrary:
        """With what it asks of torch in vain. What is not there already explains what is then undefined."""
        is_of_torch = any(one.name.startswith(("libtorch", "libc10")) for one in library.dependencies)
        if not is_of_torch or library.fault or library.missing:
            return library
        absent = undefined(self.process, path, only_kept=self.looks.quick)
        return msgspec.structs.replace(library, undefined=absent)

    def _with_code(self, library: NativeLibrary, path: str) -> NativeLibrary:
        """With the GPU code of one file. Reading it takes too long for a quick check."""
        if not path:
            return library
        found = self.process.objects.architectures(path, only_kept=self.looks.quick)
        return msgspec.structs.replace(library, architectures=found)
