"""What a line says of GPUs: how many, whose make, which name; amounts of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.readers.paste.platforms import Said

MANY = 16  # more devices than one machine has are not told apart

_NVIDIA = re.compile(
    r"nvidia|geforce|\brtx|\bgtx|\btesla\b|\bquadro\b|\btitan\b|\bjetson\b|\borin\b|\bxavier\b|\bdgx\b", re.I
)
_MODEL_OF_NVIDIA = re.compile(
    r"\b(?:[ahblv]\d{2,3}(?:[sgx]|gb)?|l4|t(?:4g?|\d{3,4})|[kmp]\d{2,4}[a-z]?|gh200|gb\d{2,3}|mx\d{3})\b"
    r"|(?<![\w.])(?:[1-5]0[5-9]0|1[06][3-8]0|[2-6]000)(?:\s?(?:ti|super|ada|d|m|s))?(?![\w.])",
    re.I,
)
_OTHER_MAKE = re.compile(
    r"\bamd\b|radeon|instinct|\bmi\d{2,3}[axp]?\b|\brx ?\d{4}|\bgfx\d{3,4}|\bintel\b|\barc\b|\bgaudi"
    r"|\bapple\b|\bm[1-5]\b|\bmps\b|ascend|昇腾|\bnpu\b|\btpu\b|\bmlu\d{0,4}\b|\bmusa\b|\bdcu\b|\b910[ab]\d?\b|\btrn\d\b"
    r"|moore ?threads|cambricon|biren",
    re.I,
)
_GFX = re.compile(r"\b(gfx\d{3,4}[a-f]?)\b")
_NOTHING = re.compile(
    r"(?:could not collect|no cuda|no gpu|n/?a\b|none\b|not? |no$|yes$|true$|false$|unknown|cpu\b|<fill"
    r"|available$|unavailable|not available|无$|没有)",
    re.I,
)
# "2x RTX 4090", "4 * A100", "8卡 A100"; "A100 80GB x 8", "H100x8", "RTX 3090 (x2)".
_COUNT_AHEAD = re.compile(r"(\d{1,2})\s{0,2}(?:[x×*]\s{0,2}|卡\s{0,2}|张\s{0,2}|块\s{0,2})(?=\S)", re.I)
_COUNT_BEHIND = re.compile(r"[\s(]{0,3}(?<=[\s\d)(])[x×*]\s?(\d{1,2})\)?$", re.I)
_SEVERAL = re.compile(r",\s{1,3}(?=NVIDIA|AMD|Tesla|GeForce|Quadro|Intel)")
_PARTS = re.compile(r"[,;，；、+]|\band\b|\bwith\b")
_PROCESSOR = re.compile(r"ryzen|epyc|threadripper|xeon|\bi[3579][- ]\d|\bcore\b|\bcpu\b", re.I)
_DRESS = re.compile(r"\s{0,2}\(UUID[^)]{0,80}\)?|NoGCNArchNameOnOldPyTorch")
_AMOUNT = re.compile(r"(\d{1,7}(?:\.\d{1,3})?)\s{0,2}(T|G|M|K)i?B?\b", re.I)
_UNITS = {"T": 1 << 40, "G": 1 << 30, "M": 1 << 20, "K": 1 << 10}
_MIG = re.compile(r"[ ,(]{1,3}MIG[ -](\d{1,2}g\.\d{1,3}gb)", re.I)
_PROPERTIES = re.compile(r"Properties\(name='([^']{1,80})'")


def of_gpus(text: str, index: str = "", named: bool = True) -> Iterator[Said]:
    """Each GPU of a text such as "2x NVIDIA A100"; ``index`` is the one that the label told.

    Where ``named`` is set the label leaves no doubt: any word behind it is the name of a GPU.
    """
    plain = _DRESS.sub("", text).strip(" \t\"'`*,;.")
    if not plain or _NOTHING.match(plain):
        return
    parts = parts_of(plain, named)
    names = [name for part in parts for name in one_by_one(part) if named or is_device(name)]
    for place, name in enumerate(names[:MANY]):
        yield from of_gpu(name, index or (str(place) if len(names) > 1 else ""), named)


def parts_of(text: str, named: bool) -> list[str]:
    """The items of an enumeration; where a person wrote it, without the processor beside the GPUs."""
    if named:
        return _SEVERAL.split(text)
    parts = [part.strip(" .") for part in _PARTS.split(text[:400])]
    return [part for part in parts if not _PROCESSOR.search(part)]


def is_device(text: str) -> bool:
    """Does a text hold the name of a GPU or another accelerator, whose ever it is?"""
    return is_gpu_name(text) or _OTHER_MAKE.search(text) is not None


def one_by_one(text: str) -> list[str]:
    """The name of a GPU as often as it is said to be there."""
    ahead, behind = _COUNT_AHEAD.match(text), _COUNT_BEHIND.search(text[-40:])
    if ahead:
        return [text[ahead.end() :].strip()] * max(1, min(MANY, int(ahead[1])))
    if behind:
        return [text[: len(text) - len(behind[0])].strip()] * max(1, min(MANY, int(behind[1])))
    return [text]


def of_gpu(name: str, index: str, named: bool) -> Iterator[Said]:
    """One GPU, NVIDIA's or another maker's."""
    properties, slice_of = _PROPERTIES.search(name), _MIG.search(name)
    name = properties[1] if properties else name
    if slice_of:
        yield Said("gpu mig", slice_of[1], index)
        name = name[: slice_of.start()]
    gfx = _GFX.search(name)
    if gfx:
        yield Said("gfx", gfx[1])
    if _OTHER_MAKE.search(name) and not _NVIDIA.search(name):
        yield Said("accelerator", name)
    elif is_gpu_name(name) or (named and re.search(r"[A-Za-z]", name)):
        yield Said("gpu", name, index)


def is_gpu_name(text: str) -> bool:
    """Does a text hold the name of an NVIDIA GPU?"""
    return _NVIDIA.search(text) is not None or _MODEL_OF_NVIDIA.search(text) is not None


def bytes_of(text: str) -> int | None:
    """ "23.69GB", "40960 MiB", "24G": bytes, in powers of 1024 as drivers count; None where it is none."""
    found = _AMOUNT.match(text.strip())
    return int(float(found[1]) * _UNITS[found[2].upper()]) if found else None
