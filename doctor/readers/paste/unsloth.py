r"""The banner of unsloth, all its forms since 2023.

``CUDA: 8.9`` in it is the GPU's compute capability, ``CUDA Toolkit: 12.6`` what torch was built with::

    ==((====))==  Unsloth 2025.3.14: Fast Llama patching. Transformers: 4.49.0.
       \\   /|    NVIDIA GeForce RTX 4090. Num GPUs = 1. Max memory: 23.621 GB. Platform: Linux.
    O^O/ \_/ \    Torch: 2.5.1+cu124. CUDA: 8.9. CUDA Toolkit: 12.4. Triton: 3.1.0
    \        /    Bfloat16 = TRUE. FA [Xformers = 0.0.28.post3. FA2 = False]
     "-____-"     Free license: http://github.com/unslothai/unsloth
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.devices import of_gpu
from doctor.readers.paste.names import VERSION
from doctor.readers.paste.notes import Notes

LOOK = 1_000  # characters of a line that are looked at
BANNER_LINES = 8
GIB = 1 << 30

OPENS = re.compile(
    r"Unsloth[^\n]{0,40}: Fast [^\n]{1,60} patching|Unsloth \d{4}\.\d{1,2}[^\n]{0,20} patched "
)
ENDS = ('"-____-"', "Free license", "Free Apache license")
OWN_VERSION = re.compile(
    r"Unsloth:? v?(20\d\d\.\d{1,2}(?:\.\d{1,3})?(?:\.?(?:post|dev|rc)\d{1,8})?)(?=:| patched)"
)
OWN_RELEASE = re.compile(r"patching release (20\d\d\.\d{1,2}(?:\.\d{1,3})?(?:\.?(?:post|dev|rc)\d{1,8})?)")
ITEM = r"(?: version)? ?[:=] ?"
PACKAGES = {
    name: re.compile(rf"(?<!\w){written}{ITEM}({VERSION})")
    for name, written in {
        "transformers": "Transformers",
        "vllm": "vLLM",
        "torch": "(?:Torch|Pytorch)",
        "triton": "Triton",
        "xformers": "Xformers",
    }.items()
}
OTHERS: tuple[tuple[re.Pattern[str], Topic], ...] = (
    (re.compile(r"(?<!\w)CUDA(?: capability)? ?[:=] ?(\d{1,2}\.\d)(?!\d)"), "gpu capability"),
    (re.compile(r"CUDA Toolkit ?[:=] ?(\d{1,2}\.\d{1,2})"), "torch cuda"),
    (re.compile(r"ROCm Toolkit ?[:=] ?(\d{1,2}\.\d{1,2}(?:\.\d{1,6})?)"), "torch hip"),
)
MEMORY = re.compile(r"Max memory ?[:=] ?(\d{1,5}(?:\.\d{1,4})?) ?GB")
PLATFORM = re.compile(r"Platform ?[:=] ?(Linux|Windows|Darwin)")
SYSTEMS = {"Linux": "linux", "Windows": "win32", "Darwin": "darwin"}
GPUS = re.compile(r"Num GPUs ?= ?(\d{1,3})")
# The drawing, and what stands before the name of the GPU.
DRAWING = re.compile(r"[\s\\/|]{0,20}(?:GPU: )?")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each banner, and each line in which unsloth names its version."""
    number = 0
    while number < len(lines):
        line = lines[number][:LOOK]
        number += 1
        if "nsloth" in line and OPENS.search(line):
            notes = Notes("unsloth", number)
            number = follow(lines, number, notes)
            yield from notes.block()


def follow(lines: Sequence[str], first: int, notes: Notes) -> int:
    """Read a banner from line ``first`` on; the number of its last line."""
    for number in range(first, min(first + BANNER_LINES, len(lines) + 1)):
        line = lines[number - 1][:LOOK]
        begins_anew = number > first and ("((====))" in line or line.startswith("Traceback"))
        if begins_anew:
            break
        before = len(line) and tell(line, number, notes)
        if before or number == first or line.lstrip().startswith(ENDS):
            notes.last = number
        if "patched" in line or any(mark in line for mark in ENDS):
            break
    return notes.last


def tell(line: str, number: int, notes: Notes) -> bool:
    """What one line says; False where it says nothing."""
    own = OWN_VERSION.search(line) or OWN_RELEASE.search(line)
    notes.say("package", own[1] if own else "", number, "unsloth")
    found = own is not None
    for name, pattern in PACKAGES.items():
        if told := pattern.search(line):
            notes.say("package", told[1], number, name)
            found = True
    for pattern, topic in OTHERS:
        if told := pattern.search(line):
            notes.say(topic, told[1], number)
            found = True
    return gpu(line, number, notes) or found


def gpu(line: str, number: int, notes: Notes) -> bool:
    """The first GPU, its memory and the system, which share a line."""
    platform, memory = PLATFORM.search(line), MEMORY.search(line)
    if platform:
        notes.say("os", SYSTEMS[platform[1]], number)
    if memory:
        count = GPUS.search(line)
        stop = min(memory.start(), count.start() if count else memory.start())
        drawing = DRAWING.match(line)
        name = line[drawing.end() if drawing else 0 : stop].strip().rstrip(".")
        for said in of_gpu(name, "", named=True):
            notes.say(said.topic, said.value, number)
            notes.say("gpu memory", str(round(float(memory[1]) * GIB)) if said.topic == "gpu" else "", number)
    return platform is not None or memory is not None
