"""What the frames of a failed import show: a file that hides a module, a package not whole, a death."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from doctor.cures import install, name_of, reinstall
from doctor.findings import Fix
from doctor.paste import Complaint, Frame
from doctor.readers.paste.frames import LIBRARIES
from doctor.readers.paste.names import canonical
from doctor.stack import STACK
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import DISTRIBUTIONS
from doctor.triage.lookups.messages import MissingModule, in_one_line, shape_of

NOT_WHOLE = "python/files-missing-or-altered"
IMPORTS = re.compile(r"\s{0,40}(?:from|import) (?P<name>\w{1,60})")
# Of Python itself or installed; "<frozen importlib._bootstrap>" as well.
INSTALLED = re.compile(r"(?:site|dist)-packages/|/lib/(?:python3\.\d{1,2}/)?[^/]|^<")
DIED = re.compile(r"Fatal Python error: (?P<how>Segmentation fault|Bus error|Aborted)\b")
# Python's finder saw the file, or the library itself names it in full, and the loader has it not.
OWN_LIBRARY = re.compile(
    r"-packages[/\\](?P<top>\w{1,60})[/\\][^\s:]{1,200}\.(?:so|pyd)[.\d]{0,8}: "
    r"(?:cannot open shared object file|wrong ELF class)"
)
OF_TORCH = re.compile(r"\blib(?:torch|c10|shm)\w{0,30}\.so: cannot open shared object file")
CRASHES = (*STACK, "flash-attn")  # the libraries whose import has a page of its own


def of_an_import(complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """The fault that the frames show, () where they show none."""
    for look in (hidden, died, unreadable_library, misnamed_library):
        if found := look(complaint, case):
            return (found,)
    return ()


# --- a file in front of the true module


def hidden(complaint: Complaint, case: Case) -> Suspicion | None:
    """A file that an installed library imported in place of the module that it means."""
    for above, frame in pairwise(real_frames(complaint)):
        asked = IMPORTS.match(above.code)
        if asked and is_installed(above) and not is_installed(frame) and frame.function == "<module>":
            name, folder = module_at(frame.file)
            if name == asked["name"] and hides(name, frame.file, folder, case):
                return in_front(name, frame.file, folder, complaint)
    return None


def hides(name: str, file: str, folder: str, case: Case) -> bool:
    """Is that no installation of its own, as of a checkout: one file for a package, or below PYTHONPATH?"""
    of_python = name in sys.stdlib_module_names
    return folder in folders(case) or ((of_python or name in LIBRARIES) and file.endswith(f"{name}.py"))


def in_front(name: str, file: str, folder: str, complaint: Complaint) -> Suspicion:
    """It lies beside the script, or in a folder that a variable puts before the packages."""
    script = next(iter(real_frames(complaint)), None)
    beside = script is not None and PurePosixPath(script.file).parent == PurePosixPath(folder)
    id = "python/module-shadowed" if beside else "python/path-pollution"
    cure = (
        Fix(f"Rename {file}, and delete its __pycache__", scope="script")
        if beside
        else Fix(f"Take {folder} out of PYTHONPATH", (("unset", "PYTHONPATH"),), "setting")
    )
    why = f"Python takes the first {name} on its path, and {file} stands before the one that is meant."
    title = f"{file} is imported in place of the module {name} that is meant"
    told = telling.finding(id, "likely", title, (telling.seen(complaint),), (cure,), why=why)
    return Suspicion(told, complaint.line)


def folders(case: Case) -> list[str]:
    """The folders that PYTHONPATH names."""
    return [one for one in (case.variable("PYTHONPATH") or "").replace("\\", "/").split(":") if one]


def module_at(file: str) -> tuple[str, str]:
    """The name under which a file is imported, and the folder that must be on the path for it."""
    path = PurePosixPath(file.replace("\\", "/"))
    at = path.parent if path.stem == "__init__" else path
    return at.stem, str(at.parent)


# --- a package that is not whole


def not_whole(shape: MissingModule, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A package that asks for a module of its own in vain."""
    top, frames = shape.module.partition(".")[0], real_frames(complaint)
    if "." not in shape.module:
        return listed(top, complaint, case)
    if not frames or top_of(frames[-1]) != top:
        return ()  # a part that this release lacks, it may be
    folder = next((one for one in folders(case) if frames[-1].file.startswith(f"{one}/{top}/")), "")
    if folder:
        return (in_front(top, f"{folder}/{top}", folder, complaint),)
    asked = f"{shape.module} is missing, and {frames[-1].module} of the same package imports it"
    return (damaged(NOT_WHOLE, top, asked, complaint, case),)


def listed(top: str, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A package that is listed as installed and has no module."""
    package = distribution_of(top)
    if not case.version(package):
        return ()
    reason = "is listed as installed, and there is no module"
    return (telling.stale(top, package, complaint, case, reason, False),)


def needed(complaint: Complaint, case: Case) -> Suspicion | None:
    """A package that another one requires, by what its release declares, and that is not there."""
    shape, frames = shape_of(complaint), real_frames(complaint)
    if not isinstance(shape, MissingModule) or not frames:
        return None
    package = distribution_of(shape.module)
    asker = top_of(frames[-1]).replace("_", "-")
    installed = case.facts.packages.installed if case.facts.packages else {}
    declares = installed[asker].requires if asker in installed else ()
    wanted = next((one for one in declares if name_of(one) == package), None)
    if wanted is None:
        return None
    told = telling.finding(
        "python/requirement-unsatisfied",
        "likely",
        f"{asker} {case.version(asker)} requires {wanted}, and it is not installed",
        (telling.seen(complaint),),
        (install(case.facts, f"Install {package}", wanted),),
        breaks=telling.IMPORTS.get(asker, ()),
    )
    return Suspicion(told, complaint.line)


def distribution_of(module: str) -> str:
    """The package that brings a module, as far as its name differs and is known."""
    top = module.partition(".")[0]
    return DISTRIBUTIONS.get(top.lower()) or canonical(top) or top.replace("_", "-")


def unreadable_library(complaint: Complaint, case: Case) -> Suspicion | None:
    """A native library of a package's own that is not there for the loader."""
    text, frames = in_one_line(complaint), real_frames(complaint)
    own = OWN_LIBRARY.search(text)
    if own and own["top"] != "bitsandbytes":
        return damaged(NOT_WHOLE, own["top"], "a native library of its own cannot be opened", complaint, case)
    if OF_TORCH.search(text) and frames and frames[-1].module == "torch":
        return damaged(NOT_WHOLE, "torch", "a library that its own wheel brings is missing", complaint, case)
    return None


def misnamed_library(complaint: Complaint, case: Case) -> Suspicion | None:
    """A library whose own names are rubbish, so that the loader's complaint is no text."""
    frames = real_frames(complaint)
    loads = frames and frames[-1].file.replace("\\", "/").endswith("ctypes/__init__.py")
    if not loads or "UnicodeDecodeError" not in complaint.text:
        return None
    tops = [top for frame in frames if (top := top_of(frame)) in LIBRARIES]
    return (
        corrupt(tops[-1], "the loader's complaint of a library is no text", complaint, case) if tops else None
    )


def corrupt(top: str, what: str, complaint: Complaint, case: Case) -> Suspicion:
    """A native library that is damaged."""
    id = f"{top}/native-library-corrupt" if top in ("torch", "bitsandbytes") else NOT_WHOLE
    return damaged(id, top, what, complaint, case)


def damaged(id: str, top: str, what: str, complaint: Complaint, case: Case) -> Suspicion:
    """A package that must be laid down anew."""
    package = top.replace("_", "-")
    fix = reinstall(case.facts, package, case.version(package) or "")
    why = (
        "An install that was cut short, a full disk, or a second install over it leaves a package like this."
    )
    told = telling.finding(
        id,
        "likely",
        f"{package} is not whole: {what}",
        (telling.seen(complaint),),
        (fix,),
        why=why,
        breaks=telling.IMPORTS.get(top, ()),
    )
    return Suspicion(told, complaint.line)


# --- an import that ends the process, or that nothing explains


def died(complaint: Complaint, case: Case) -> Suspicion | None:
    """An import that killed Python, where faulthandler shows in whose code."""
    how, frames = DIED.search(complaint.text), real_frames(complaint)
    tops = [top for frame in frames if (top := top_of(frame))]
    inside = frames and (frames[-1].function == "<module>" or "/ctypes/" in frames[-1].file)
    if not (how and tops and inside):
        return None
    if how["how"] == "Bus error":
        return corrupt(
            tops[-1], "a file of it is shorter than it says, and loading it kills", complaint, case
        )
    known = [package for top in reversed(tops) if (package := top.replace("_", "-")) in CRASHES]
    if not known:
        return None
    title = f"Importing {known[0]} kills the interpreter: {how['how']}"
    return of_library(known[0], "import-crashed", title, complaint, case)


def broken_imports(case: Case) -> Iterator[Suspicion]:
    """What is left to say of an error that nothing explains: what is not there, whose import raised it."""
    for complaint in case.complaints:
        is_first = complaint.level == "error" and not complaint.is_wrapper
        if is_first and (found := needed(complaint, case) or failed(complaint, case)):
            yield found


def failed(complaint: Complaint, case: Case) -> Suspicion | None:
    """A library that raised while a line of the user's imported it."""
    own = [frame for frame in real_frames(complaint) if not is_installed(frame)]
    asked = IMPORTS.match(own[-1].code) if own else None
    package = asked["name"].replace("_", "-") if asked else ""
    if package not in CRASHES or own[-1] == complaint.frames[-1] or shape_of(complaint):
        return None
    title = f"{package} is installed and cannot be imported: {in_one_line(complaint)[:200]}"
    return of_library(package, "import-failed", title, complaint, case)


def of_library(package: str, fault: str, title: str, complaint: Complaint, case: Case) -> Suspicion:
    """A library that cannot be imported, whatever the reason."""
    told = telling.finding(
        f"{package}/{fault}",
        "likely",
        title,
        (telling.seen(complaint),),
        (reinstall(case.facts, package, case.version(package) or ""),),
        breaks=telling.IMPORTS.get(package, ()),
    )
    return Suspicion(told, complaint.line)


def real_frames(complaint: Complaint) -> list[Frame]:
    """The frames without those of the import system, innermost last."""
    return [frame for frame in complaint.frames if "importlib" not in frame.file]


def is_installed(frame: Frame) -> bool:
    """Is a file Python's own or an installed package's?"""
    return INSTALLED.search(frame.file.replace("\\", "/").replace("/Lib/", "/lib/")) is not None


def top_of(frame: Frame) -> str:
    """The package of a frame, "" for the user's code and Python's own."""
    top = frame.module.partition(".")[0]
    return "" if top in sys.stdlib_module_names else top
