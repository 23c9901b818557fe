"""``nvidia-smi -L`` and its relatives: one line a GPU. UUIDs are not kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.driver_text import LONGEST_ROW, MIB
from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes

# "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5a2c...)", and below it "  MIG 1g.5gb     Device  0: (UUID: ...)".
GPU = re.compile(r"[\s*-]{0,16}GPU {1,3}(\d{1,3}): {0,3}(\S.{0,100}?) {0,3}\(UUID")
INSTANCE = re.compile(r"[\s*-]{0,16}MIG (\d{1,2}(?:c\.\d{1,2})?g\.\d{1,4}gb\S{0,8}) {1,20}Device")
# gpustat: "[0] NVIDIA GeForce RTX 4090 | 50'C,  73 % | 12894 / 24564 MB | someone(12874M)"
GPUSTAT = re.compile(
    r"\s{0,8}\[(\d{1,3})\] (\S[^|]{0,80}?) {0,20}\|[^|]{0,60}\| {0,9}(\d{1,7}) ?/ {0,9}(\d{1,7}) MB"
)
# deviceQuery of the CUDA samples.
DEVICE = re.compile(r"\s{0,8}Device (\d{1,3}): \"([^\"]{1,100})\"")
VERSIONS = re.compile(r"\s{0,8}CUDA Driver Version / Runtime Version {1,40}(\d{1,2}\.\d{1,2})")
CAPABILITY = re.compile(r"\s{0,8}CUDA Capability Major/Minor version number: {1,40}(\d{1,2}\.\d)")
MEMORY = re.compile(r"\s{0,8}Total amount of global memory: [^(]{1,60}\((\d{1,15}) bytes")

# "nvidia-smi --version", and the head of "-q".
DRIVER = re.compile(r"\s{0,8}(?:Driver|DRIVER|KMD) [Vv]ersion {2,40}: (\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)")
CUDA = re.compile(r"\s{0,8}CUDA (?:UMD )?Version {4,40}: (\d{1,2}\.\d{1,2})")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each run of such lines."""
    notes: Notes | None = None
    gpu = ""
    for number, line in enumerate(lines, 1):
        told = of_line(line, gpu) if len(line) <= LONGEST_ROW else ()
        if not told:
            continue
        if notes and number - notes.last > 40:  # lines of deviceQuery on one device
            yield from notes.block()
            notes = None
        notes = notes or Notes("nvidia-smi", number)
        notes.is_whole = notes.is_whole and number - notes.last <= 1
        for topic, value, index in told:
            gpu = index
            notes.say(topic, value, number, "" if topic.startswith("driver") else index)
    if notes:
        yield from notes.block()


def of_line(line: str, gpu: str) -> tuple[tuple[Topic, str, str], ...]:
    """(topic, value, index of the GPU) for what a line says; ``gpu`` is the one that was named last."""
    if found := GPU.match(line) or DEVICE.match(line):
        return (("gpu", found[2], found[1]),)
    if found := INSTANCE.match(line):
        return (("gpu mig", f"MIG {found[1]}", gpu),)
    if found := GPUSTAT.match(line):
        used, total = int(found[3]) * MIB, int(found[4]) * MIB
        free = str(max(0, total - used))
        return (
            ("gpu", found[2], found[1]),
            ("gpu memory", str(total), found[1]),
            ("gpu memory free", free, found[1]),
        )
    for pattern, topic in OF_DEVICE:
        if found := pattern.match(line):
            return ((topic, found[1], gpu),)
    return ()


OF_DEVICE: tuple[tuple[re.Pattern[str], Topic], ...] = (
    (DRIVER, "driver"),
    (CUDA, "driver cuda"),
    (VERSIONS, "driver cuda"),
    (CAPABILITY, "gpu capability"),
    (MEMORY, "gpu memory"),
)
