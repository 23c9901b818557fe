"""What the name of a container image tells: torch, CUDA and Python stand in the tags of the official ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.paste import Statement, Topic
from doctor.readers.paste.names import VERSION

PART = r"[A-Za-z0-9][\w.-]{0,80}"
NAMED = re.compile(
    rf"""(?:^\s{{0,8}}FROM\s{{1,4}}(?:--platform=\S{{1,40}}\s{{1,4}})?|\bimage:\s{{0,4}}["']?
    |(?<![\w./@\\<>~-])(?=(?:pytorch/pytorch|nvcr\.io/nvidia|nvidia/cuda|rocm/{PART}|runpod/{PART}|\w{{1,30}}/axolotl[\w-]{{0,20}}
    |huggingface/{PART}|unsloth/unsloth|ghcr\.io/{PART})(?:/{PART}){{0,3}}:\w))
    ((?:{PART}/){{0,3}}{PART})(?::({PART}))?""",
    re.X,
)
OF_TORCH = ("pytorch/pytorch", "runpod/pytorch")
# What stands in a tag: the pattern, its topic, and the value.
TAGS: tuple[tuple[re.Pattern[str], Topic, str], ...] = (
    (re.compile(r"(?:^|[-_])py(?:thon)?(3\.\d{1,2})"), "python", r"\1"),
    (re.compile(r"(?:^|[-_])rocm(\d\.\d(?:\.\d)?)"), "torch hip", r"\1"),
    (re.compile(r"ubuntu(\d\d\.\d\d)"), "distribution", r"Ubuntu \1"),
)
CUDA = re.compile(r"(?:^|[-_])cuda(\d{1,2}\.\d)|(?:^|[-_])cu(\d{2})(\d)(?=$|[-_])")


def images_in(line: str, number: int) -> Iterator[Statement]:
    """What the images in one line tell."""
    for found in NAMED.finditer(line[:1000]):
        yield Statement(topic="container", value="docker", form="commands", line=number)
        name, tag = found[1], found[2] or ""
        for topic, package, value in told_by(name, tag):
            yield Statement(topic=topic, name=package, value=value, form="commands", line=number)


def told_by(name: str, tag: str) -> Iterator[tuple[Topic, str, str]]:
    """Topic, package and value of all that an image tells."""
    for pattern, topic, value in TAGS:
        if found := pattern.search(tag):
            yield topic, "", found.expand(value)
    cuda = CUDA.search(tag)
    number = (cuda[1] or f"{cuda[2]}.{cuda[3]}") if cuda else ""
    release = re.match(VERSION, tag) or re.match(r"\d{1,2}\.\d{1,2}", tag)
    of_rocm = re.search(r"pytorch_release_(\d\.\d{1,2}(?:\.\d)?)", tag)
    if of_rocm or (name in OF_TORCH and release):
        yield "package", "torch", of_rocm[1] if of_rocm else release[0] if release else ""
    if number:
        yield "torch cuda", "", number
    if name == "python" and (python := re.match(r"3\.\d{1,2}(?:\.\d{1,2})?", tag)):
        yield "python", "", python[0]
    devel = "devel" in tag
    if name.endswith("nvidia/cuda") and release and devel:
        yield "toolkit", "", release[0]
    elif number and devel:
        yield "toolkit", "", number
