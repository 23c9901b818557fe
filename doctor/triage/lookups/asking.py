"""Who asks for what is not there: a library, the user's own code, or code that came with a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.paste import Complaint, Frame
from doctor.triage.case import Case
from doctor.triage.lookups.messages import named

USER = "user"  # a script or a notebook
REMOTE = "remote code"  # that a checkpoint brings along
UNKNOWN = ""
OF_A_MODEL = re.compile(r"transformers_modules|huggingface[\\/]modules")
INSTALLED = re.compile(r"(?:site|dist)-packages[\\/](?P<top>\w{1,60})")
SAYS_IT_STAYS = re.compile(
    r"already (?:been )?(?:installed|updated|upgraded)|even (?:after|though|if) |message (?:still )?persists"
    r"|(?:installed|updated|upgraded|reinstalled)[^.\n]{0,80}(?:but|still)"
    r"|已经?(?:安装|更新|升级)|(?:仍|还是|依然|依旧)[然会]?报",
    re.IGNORECASE,
)
# Frames of decorators and of the import system stand between who asks and the error.
PASSES_ON = re.compile(
    r"^(?:wrapper|wrapped_func|wrapped|inner|inner_f|_inner_fn|decorator|new_init|wrapper_func)$"
)
LAZY = re.compile(r"import_utils\.py$|_lazy_module\.py$|huggingface_hub[\\/]__init__\.py$")
IMPORT_SYSTEM = re.compile(r"^<frozen importlib|[\\/]importlib[\\/]__init__\.py$")
DISTRIBUTIONS = {
    "llamafactory": "llamafactory",
    "flash-attn": "flash-attn",
    "pil": "pillow",
    "yaml": "pyyaml",
}


class Asker(NamedTuple):
    """Who asks, and how surely that is known."""

    who: str  # a package, USER, REMOTE, or UNKNOWN
    frame: Frame | None = None

    @property
    def is_library(self) -> bool:
        """Is it a package?"""
        return self.who not in (USER, REMOTE, UNKNOWN)


def asker_of(complaint: Complaint, case: Case) -> Asker:
    """Who asks: the innermost frame that does not only pass on.

    A frame of the user's without its line of code tells nothing: it may be the rest of a longer traceback.
    """
    for frame in reversed(complaint.frames):
        if IMPORT_SYSTEM.search(frame.file) or PASSES_ON.match(frame.function) or is_lazy(frame):
            continue
        if OF_A_MODEL.search(frame.file) or frame.module.startswith("transformers_modules"):
            return Asker(REMOTE, frame)
        if package := package_of_frame(frame):
            return Asker(package, frame)
        return Asker(USER if frame.code else UNKNOWN, frame)
    return Asker(UNKNOWN)


def is_lazy(frame: Frame) -> bool:
    """Is it a frame of a package that loads its modules when they are asked for?"""
    return frame.function in ("_get_module", "__getattr__", "attach") and LAZY.search(frame.file) is not None


def package_of_frame(frame: Frame) -> str:
    """The package whose file a frame stands in, "" for the user's own."""
    top = frame.module.partition(".")[0]
    if not top and (found := INSTALLED.search(frame.file)):
        top = found["top"]
    name = named(top)
    return DISTRIBUTIONS.get(name, name)


def persists(case: Case) -> bool:
    """Does its author say that what is asked for is installed, and that the message stays?"""
    return SAYS_IT_STAYS.search(case.text) is not None


def lines_of_code(complaint: Complaint, case: Case) -> Iterator[str]:
    """The code that a complaint shows: of its frames, innermost first, then the lines around it."""
    yield from (frame.code for frame in reversed(complaint.frames) if frame.code)
    lines = case.text.splitlines() if len(case.text) < 400_000 else []
    yield from (line.strip() for line in reversed(lines[max(0, complaint.line - 12) : complaint.line + 3]))


def is_of_a_model(case: Case) -> bool:
    """Does a paste show code that came with a model?"""
    return OF_A_MODEL.search(case.text) is not None


def with_model(asker: Asker, case: Case) -> Asker:
    """Code of a model asks where the paste shows such code and nobody else."""
    return Asker(REMOTE) if asker.who == UNKNOWN and is_of_a_model(case) and not asker.frame else asker
