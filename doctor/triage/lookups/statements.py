"""What a message itself tells of the environment: versions, the driver's CUDA, architectures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.paste import Complaint, Statement, Topic
from doctor.triage.lookups.installers import BESIDE
from doctor.triage.lookups.messages import VERSION, WrongVersion, in_one_line, named, version_in

DRIVER = re.compile(r"\(?found version:? (?P<number>\d{4,6})\b")
NOT_COMPATIBLE = re.compile(r"with CUDA capability (?P<capability>sm_\d{2,3})a? is not compatible")
ARCHITECTURES = re.compile(r"supports? CUDA capabilities (?P<list>(?:(?:sm|compute)_\d{2,3}[af]? ?){1,30})")
BUILT_FOR = re.compile(rf"(?:PyTorch|torch) {VERSION} with CUDA \d{{1,5}} \(you have (?P<torch>{VERSION})\)")
DEEPSPEED = re.compile(
    r"Installed CUDA version (?P<toolkit>\d{1,2}\.\d{1,2}) does not match the version torch was compiled "
    r"with (?P<torch>\d{1,2}\.\d{1,2})"
)
NUMPY = re.compile(r"cannot be run in NumPy (?P<numpy>\d[\d.]{0,12})")


def stated_in(complaint: Complaint) -> Iterator[Statement]:
    """The versions and devices that a message tells of."""
    text = in_one_line(complaint)
    for topic, name, value in told(text):
        yield Statement(topic=topic, name=name, value=value, form="error text", line=complaint.line)


def told(text: str) -> Iterator[tuple[Topic, str, str]]:
    """Topic, name and value of each."""
    shape = version_in(text)
    if isinstance(shape, WrongVersion) and shape.found:
        yield "package", shape.package, shape.found
    if found := BESIDE.search(text):
        yield "package", named(found["asker"]), found["version"]
        yield "package", named(found["installed"]), found["found"].rstrip(".,")
    if found := DRIVER.search(text):
        number = int(found["number"])
        yield "driver cuda", "", f"{number // 1000}.{number % 1000 // 10}"
    if found := NOT_COMPATIBLE.search(text):
        digits = found["capability"].removeprefix("sm_")
        yield "gpu capability", "", f"{digits[:-1]}.{digits[-1]}"
    if found := ARCHITECTURES.search(text):
        yield "torch architectures", "", found["list"].strip()
    if found := BUILT_FOR.search(text):
        yield "package", "torch", found["torch"]
    if found := DEEPSPEED.search(text):
        yield "toolkit", "", found["toolkit"]
        yield "torch cuda", "", found["torch"]
    if found := NUMPY.search(text):
        yield "package", "numpy", found["numpy"].rstrip(".")
