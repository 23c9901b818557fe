"""A package as a whole: not installed, hidden by a file of the user's, or out of step with its twin."""

from __future__ import annotations

import re

from doctor.cures import install
from doctor.findings import Fix
from doctor.paste import Complaint
from doctor.stack import STACK
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.messages import MissingModule, MissingName, in_one_line

PLACE = re.compile(r"\((?P<path>unknown location|[^()]{1,300}\.py)\)?\s{0,5}$")
IN_A_BUILD = re.compile(
    r"requirements to build wheel|Preparing metadata|build_wheel|egg_info|build isolation", re.I
)
SHADOWED = {*STACK, "datasets", "numpy", "tokenizers", "huggingface_hub", "triton"}
ALWAYS_THERE = {
    "triton.language",
    "torch.nn",
    "torch.cuda",
    "torch.utils",
    "transformers.utils",
    "datasets.utils",
}


def shadowed(shape: MissingName, complaint: Complaint) -> tuple[Suspicion, ...]:
    """A file or folder of the user's that is imported in place of the package of a name."""
    text = in_one_line(complaint)
    top = shape.module.partition(".")[0]
    place = PLACE.search(text)
    path = place["path"] if place else ""
    own_file = path.replace("\\", "/").endswith(f"/{top}.py") and "-packages" not in path
    nowhere = path == "unknown location" and shape.module == top
    in_itself = shape.partial and shape.attribute and "circular import" in text
    if top not in SHADOWED or not (own_file or nowhere or in_itself):
        return ()
    return (hidden(top, path if own_file else "", complaint),)


def hides(shape: MissingName, complaint: Complaint) -> tuple[Suspicion, ...]:
    """A folder of the user's in place of the package, where the message tells its path."""
    top = shape.module.partition(".")[0]
    place = PLACE.search(in_one_line(complaint))
    path = place["path"].replace("\\", "/") if place else ""
    own = path.endswith((f"/{top}/__init__.py", f"/{top}.py")) and "-packages" not in path
    return (hidden(top, path, complaint),) if own and f"/src/{top}/" not in path else ()


def shadowed_module(shape: MissingModule, complaint: Complaint) -> tuple[Suspicion, ...]:
    """A part of a package that every release has: what was imported under its name is another thing."""
    top = shape.module.partition(".")[0]
    is_no_package = f"'{top}' is not a package" in in_one_line(complaint)
    if top in SHADOWED and "." in shape.module and (is_no_package or shape.module in ALWAYS_THERE):
        return (hidden(top, "", complaint),)
    return ()


def hidden(top: str, path: str, complaint: Complaint) -> Suspicion:
    """A package that something else of its name hides."""
    seen = f"{path} is imported as {top}" if path else f"A file or folder named {top} is imported as {top}"
    told = telling.finding(
        "python/module-shadowed",
        "likely",
        f"{seen}, in place of the package",
        (telling.seen(complaint),),
        (Fix(f"Rename your own {top}.py or folder {top}, and delete its __pycache__", scope="script"),),
        why="Python looks in the folder of the script first, so a file of this name hides the package.",
        breaks=telling.IMPORTS.get(top, ()),
    )
    return Suspicion(told, complaint.line)


def not_installed(module: str, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A package of the stack that is not installed, or not where the code runs."""
    package = module.replace("_", "-")
    if package not in STACK or IN_A_BUILD.search(case.text):
        return ()  # pip builds where nothing is installed but what the build asks for
    if case.version(package):
        return (
            telling.stale(module, package, complaint, case, "is installed, and there is no module", False),
        )
    fix = install(case.facts, f"Install {package}", package)
    told = telling.finding(
        f"{package}/missing",
        "likely",
        f"{package} is not installed in the environment that ran",
        (telling.seen(complaint),),
        (fix,),
        why="The module is not found in the interpreter that runs, wherever else it may be installed.",
        breaks=telling.IMPORTS[package],
    )
    return (Suspicion(told, complaint.line),)


def out_of_step(module: str, name: str, complaint: Complaint) -> tuple[Suspicion, ...]:
    """A name that unsloth_zoo lacks: unsloth asks for the zoo of its own day."""
    if module.partition(".")[0] != "unsloth_zoo":
        return ()
    asked = module if name == module else f"{module}.{name}"
    told = telling.finding(
        "unsloth/zoo-mismatch",
        "likely",
        f"unsloth and unsloth_zoo are not of the same time: {asked} is not there",
        (telling.seen(complaint),),
        (
            Fix(
                "Upgrade both together",
                (("python", "-m", "pip", "install", "--upgrade", "unsloth", "unsloth_zoo"),),
            ),
        ),
        why="unsloth imports names of unsloth_zoo that only the zoo of the same days has.",
        breaks=("sft-step",),
    )
    return (Suspicion(told, complaint.line),)
