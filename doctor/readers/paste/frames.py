"""Frames of a traceback, as Python, IPython and rich print them, and the module that a path stands for."""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.paste import Frame

DRIVE = r"(?:[A-Za-z]:)?"
# File "a.py", line 3, in f
OF_PYTHON = re.compile(r'\s*File "([^"\n]{1,400})", line (\d{1,7})(?:,? in (.{1,200}))?')
# File ~/a.py:12, in f(x)
OF_IPYTHON = re.compile(rf'\s*File ({DRIVE}[^\s:"][^:"\n]{{0,400}}):(\d{{1,7}})(?:, in (.{{1,200}}))?\s*$')
# ~/a.py in f(x), <ipython-input-3-abc> in <module>
OF_OLD_IPYTHON = re.compile(
    rf"({DRIVE}[~./<\\][^\s:]{{0,400}}(?:\.pyx?|\.py\(\d{{1,7}}\)|>)) in (\S.{{0,200}})$"
)
# /home/a.py:12 in f, of rich
OF_RICH = re.compile(rf"\s*({DRIVE}[^\s:]{{1,400}}):(\d{{1,7}}) in (\S{{1,200}})\s*$")
OF_CELL = re.compile(r"\s*((?:Cell|Input) In ?\[\d{1,5}\])(?:, line (\d{1,7})|, in (.{1,200}))")
POINTED_AT = re.compile(r"\s{0,8}(?:-{1,8}>|❱) ?(\d{1,7})(?: │)?(.{0,400})")
PATH_CUT = re.compile(rf"{DRIVE}[~/\\][^\s:]{{20,400}}$")  # rich breaks a path where its box ends
HEADING = re.compile(r"\s{0,12}(?:\+ )?(?:Original |Exception Group )?Traceback \(most recent call last\)")
HEADING_OF_IPYTHON = re.compile(r"\s{0,8}([A-Za-z_][\w.]{0,120}) {2,120}Traceback \(most recent call last\)")

LIBRARIES = frozenset(
    "torch torchvision torchaudio transformers peft accelerate trl bitsandbytes datasets deepspeed unsloth "
    "unsloth_zoo xformers flash_attn triton huggingface_hub tokenizers safetensors torchao auto_gptq "
    "gptqmodel optimum diffusers axolotl llamafactory vllm sentence_transformers numpy lightning".split()
)
OF_A_CHECKOUT = frozenset("examples scripts tests test docs benchmarks tools notebooks".split())
INSTALLED = re.compile(
    r"(?:site|dist)-packages/|(?:^|/)<env>/(?:lib/python3\.\d{1,2}/)?|/lib/python3\.\d{1,2}/"
)
MODULE = re.compile(r"[A-Za-z_][\w/]{0,300}")


def frame_of(text: str) -> Frame | None:
    """The frame that a line tells of. Its code stands in a line of its own."""
    return next((frame for read in READERS if (frame := read(text))), None)


def of_python(text: str) -> Frame | None:
    """A frame as Python itself and faulthandler print it."""
    found = OF_PYTHON.match(text)
    return frame(found[1], int(found[2]), found[3] or "") if found else None


def of_ipython(text: str) -> Frame | None:
    """A frame of IPython 7 and later, of a file or of a cell."""
    if found := OF_IPYTHON.match(text):
        return frame(found[1], int(found[2]), found[3] or "")
    if found := OF_CELL.match(text):
        return frame(found[1], int(found[2] or 0), found[3] or "")
    return None


def of_old_ipython(text: str) -> Frame | None:
    """A frame of IPython up to 7, whose line the arrow tells."""
    found = OF_OLD_IPYTHON.match(text)
    return frame(found[1], 0, found[2]) if found else None


def of_rich(text: str) -> Frame | None:
    """A frame in the box of rich."""
    found = OF_RICH.match(text)
    return frame(found[1], int(found[2]), found[3]) if found else None


READERS: tuple[Callable[[str], Frame | None], ...] = (of_python, of_ipython, of_old_ipython, of_rich)


def frame(file: str, line: int, function: str) -> Frame:
    """A frame with the module of its file; of a function its name alone."""
    return Frame(file=file, line=line, function=function.partition("(")[0].strip(), module=module_of(file))


def module_of(file: str) -> str:
    """The dotted module of a file of a library: "peft.peft_model"; "" for a file of the user's.

    A path that was shortened, or that is relative, tells it where the name of a library stands in it.
    """
    path = file.replace("\\", "/")
    if path[-3:] not in (".py", "pyx", ".so") and not path.endswith("/"):
        return ""
    if "transformers_modules/" in path:
        return dotted("transformers_modules/" + path.rpartition("transformers_modules/")[2])
    found = list(INSTALLED.finditer(path.replace("/Lib/", "/lib/")))
    if found:
        return dotted(path[found[-1].end() :])
    return dotted(below_library(path))


def below_library(path: str) -> str:
    """The part of a path from the name of a library on; "" where a folder only happens to be named so."""
    parts = path.split("/")[-12:]
    places = [at for at, part in enumerate(parts[:-1]) if part in LIBRARIES]
    if not places or parts[places[-1] + 1] in OF_A_CHECKOUT:
        return ""
    at = places[-1]
    whole = path[:1] in ("/", "~") or path[1:2] == ":"
    told = at and (parts[at - 1] == "src" or parts[at - 1] == parts[at])
    return "/".join(parts[at:]) if not whole or told or len(parts) - at > 2 else ""


def dotted(path: str) -> str:
    """ "peft/utils/__init__.py" as "peft.utils"."""
    stem = path.partition(".")[0].removesuffix("/__init__")
    return stem.replace("/", ".") if MODULE.fullmatch(stem.replace("-", "_")) else ""
