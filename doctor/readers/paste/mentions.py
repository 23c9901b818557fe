"""Versions that people mention: "torch 2.3", "python == 3.8.10", "driver 535", "nvcc: release 11.8".

CUDA is torch's where it stands beside torch, the toolkit's beside nvcc, the driver's beside nvidia-smi; else
nobody says which is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.paste import Topic
from doctor.readers.paste.doubt import is_doubted
from doctor.readers.paste.names import NAME, VERSION, WORDS, canonical
from doctor.readers.paste.platforms import Said

# Between a name and its version: "torch: 2.3", "torch version is `2.3`", "PyTorch version (GPU?): 2.3".
_SIGN = r"[ \t`\"'*:=|(\[~→-]{0,6}"
_WORD = (
    r"(?:versions?|ver\.?|v\.?|release|is|at|版本号?|为|是|versión|версия|バージョン|버전|installed|says|shows|reports"
    r"|(?:GPU|accelerator)\?\))?"
)
BETWEEN = rf"{_SIGN}{_WORD}{_SIGN}(?:is )?"
# What may not follow: more of a word or a path, another number of a range, an arrow to what it became.
END = r"(?![A-Za-z0-9_/\\])(?!\.\d)(?!\s?(?:->|=>|→|-->|[–~/]\s?v?\d))(?!\s?-\s?\d{1,3}\.\d)"
EDGE = r"(?<![A-Za-z0-9_./\\@+-])"

PACKAGE = re.compile(rf"{EDGE}({NAME})(?:\[[\w,-]{{1,40}}\])?({BETWEEN})({VERSION}){END}", re.I)
LABEL_WITH_DOT = re.compile(r"\+cu(\d{2})\.(\d)$")
# "PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.11.0+cu130)", of xformers.
YOU_HAVE = re.compile(rf"{EDGE}({NAME}|python)\b[^()\n]{{1,60}}\(you have ({VERSION})\)", re.I)
PYTHON = re.compile(rf"{EDGE}(?:c?python|py){BETWEEN}(3\.\d{{1,2}}(?:\.\d{{1,2}})?){END}", re.I)
CUDNN = re.compile(rf"{EDGE}cudnn{BETWEEN}(\d{{1,2}}\.\d{{1,2}}(?:\.\d{{1,3}}){{0,2}}){END}", re.I)
NVCC = re.compile(
    rf"{EDGE}nvcc(?: ?--version| -V)?[ \t`:=()>,→-]{{0,6}}(?:says|reports|shows|gives|is|version|cuda)?"
    rf"[ :]{{0,3}}(?:release)?[ :]{{0,3}}V?(\d{{1,2}}(?:\.\d{{1,3}}){{0,2}}){END}",
    re.I,
)
DRIVER = re.compile(
    rf"(?:{EDGE}(?:nvidia|gpu|graphics)?[ -]?(?:drivers?|nvidia-smi|treiber(?:version)?|controlador)"
    rf"|драйвера?|驱动程?序?|ドライバー?|드라이버){BETWEEN}(?:nvidia )?(\d{{3}}(?:\.\d{{2,3}}){{0,2}}){END}"
    r"(?! ?(?:mb|gb|mib|gib|series))",
    re.I,
)
PLAIN: tuple[tuple[re.Pattern[str], Topic], ...] = (
    (PYTHON, "python"),
    (CUDNN, "cudnn"),
    (NVCC, "toolkit"),
    (DRIVER, "driver"),
)
CUDA = re.compile(
    rf"{EDGE}(?P<word>cuda(?:[ -]?(?:toolkit|runtime|sdk))?){BETWEEN}"
    rf"(?P<version>\d{{1,2}}\.\d(?:\.\d{{1,3}})?){END}",
    re.I,
)
WHEEL_TAG = re.compile(r"(?<![A-Za-z0-9_.+])cu(\d{2})(\d)(?![A-Za-z0-9_.])")
# What stands before CUDA where torch's is meant, and where the driver's is.
OF_TORCH = re.compile(
    rf"(?:torch(?:{BETWEEN}{VERSION})?[ (\[+/]{{1,3}}(?:(?:and )?(?:built )?(?:with|for|using) |build |\+ ?)?"
    r"|torch\.version\.|built (?:with|for|against) |compiled with )$",
    re.I,
)
OF_DRIVER = re.compile(r"(?:nvidia-smi|driver)[^.;]{0,60}$|Driver Version: ?[\d.]{3,12}[ |]{1,20}$", re.I)
OF_NVCC = re.compile(r"nvcc\W{0,6}$", re.I)
CPU_BUILD = re.compile(
    rf"{EDGE}(?:py)?torch{BETWEEN}{VERSION}[ (\[]{{1,2}}cpu(?:[ -]only)?(?:[)\],. ]|$)", re.I
)
SEES = re.compile(r"\bcuda[ ._]?(?:is[ _])?available(?:\(\))?[ :=?-]{1,4}(true|false|yes|no)\b", re.I)


def versions_in(line: str) -> Iterator[Said]:
    """Every version that a line states of its own environment."""
    for found in stated(PACKAGE, line):
        name = canonical(found[1])
        if name and is_plausible(name, found[2], found[3]):
            yield Said("package", LABEL_WITH_DOT.sub(r"+cu\1\2", found[3]), name)
    for found in YOU_HAVE.finditer(line):
        is_python = found[1].lower() == "python"
        yield Said("python", found[2]) if is_python else Said("package", found[2], canonical(found[1]))
    for pattern, topic in PLAIN:
        yield from (Said(topic, found[1]) for found in stated(pattern, line))
    yield from cuda_in(line)


def stated(pattern: re.Pattern[str], line: str) -> Iterator[re.Match[str]]:
    """What a pattern finds, but where the sentence makes it another environment's."""
    return (found for found in pattern.finditer(line) if not is_doubted(line, found.start(), found.end()))


def is_plausible(name: str, between: str, version: str) -> bool:
    """Is it a release? "accelerate 2.5 times" is none, and "PyTorch (12.4)" tells its CUDA."""
    if name == "torch":
        return int(version.partition(".")[0]) < 4
    return name not in WORDS or version.count(".") > 1 or any(sign in between for sign in "=:|")


def cuda_in(line: str) -> Iterator[Said]:
    """CUDA, and whose it is where that is told."""
    yield from (whose(line, found) for found in stated(CUDA, line))
    if "torch" in line.lower():
        yield from (Said("torch cuda", f"{found[1]}.{found[2]}") for found in stated(WHEEL_TAG, line))
    if CPU_BUILD.search(line):
        yield Said("torch cuda", "none")
    if seen := SEES.search(line):
        yield Said("torch sees gpu", "yes" if seen[1].lower() in ("true", "yes") else "no")


def whose(line: str, found: re.Match[str]) -> Said:
    """A mention of CUDA as torch's, the toolkit's, the driver's, or of none of them for sure."""
    before = line[max(0, found.start("word") - 100) : found.start("word")]
    version = found["version"]
    if OF_TORCH.search(before):
        return Said("torch cuda", version)
    if OF_DRIVER.search(before):
        return Said("driver cuda", version)
    is_toolkit = "toolkit" in found["word"].lower() or OF_NVCC.search(before)
    return Said("toolkit" if is_toolkit else "cuda", version)
