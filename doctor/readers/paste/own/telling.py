"""Facts, as a document has them, to statements. It may be cut or altered: nothing is taken for granted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes
from doctor.readers.paste.own.documents import Document

FIELD = re.compile(r"\s{0,12}\"(\w{1,40})\": ?[\[{]")

# (field, its key, topic) of what is one plain value.
VALUES: tuple[tuple[str, str, Topic], ...] = (
    ("system", "os", "os"),
    ("system", "name", "distribution"),
    ("system", "kernel", "kernel"),
    ("system", "arch", "arch"),
    ("system", "libc", "libc"),
    ("system", "container", "container"),
    ("system", "shared_memory_bytes", "shared memory"),
    ("driver_signs", "kernel_version", "kernel module"),
    ("driver", "version", "driver"),
    ("driver", "cuda_version", "driver cuda"),
    ("interpreter", "version", "python"),
    ("interpreter", "executable", "executable"),
    ("torch", "cuda_version", "torch cuda"),
    ("torch", "hip_version", "torch hip"),
    ("bitsandbytes_runtime", "library", "bitsandbytes library"),
)
# Versions that stand with the facts of a package, for where the list of packages is not told.
VERSIONS = {"torch": "torch", "bitsandbytes": "bitsandbytes"}


def tell(document: Document) -> Iterator[Block]:
    """What a document says."""
    teller = _Teller(document)
    teller.values()
    teller.system()
    teller.gpus()
    teller.packages()
    teller.torch()
    teller.notes.last = document.last
    yield from teller.notes.block()


def plain(value: Any) -> str:
    """A string or a number as text, "" for anything else."""
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def table(value: Any) -> Mapping[str, Any]:
    """A mapping as it is, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class _Teller:
    """The statements of one document while they are made."""

    def __init__(self, document: Document) -> None:
        self.facts = document.facts
        self.notes = Notes("lora-doctor", document.first)
        self.places: dict[str, int] = {}  # the line of each field
        for number, line in enumerate(document.lines, document.first):
            if found := FIELD.match(line[:80]):
                self.places.setdefault(found[1], number)

    def say(self, topic: Topic, value: Any, field: str, name: str = "") -> None:
        """Add a statement of a field."""
        self.notes.say(topic, plain(value), self.places.get(field, self.notes.first), name)

    def values(self) -> None:
        """All that is one plain value."""
        for field, key, topic in VALUES:
            self.say(topic, table(self.facts.get(field)).get(key), field)

    def system(self) -> None:
        """What of the machine is no plain value."""
        if table(self.facts.get("system")).get("wsl") is True:
            self.say("wsl", "yes", "system")
        for name, value in table(self.facts.get("environment")).items():
            self.say("variable", value, "environment", plain(name))
        for toolkit in rows(self.facts.get("toolkits")):
            self.say("toolkit", toolkit.get("version"), "toolkits")
        for xid in rows(table(self.facts.get("driver_signs")).get("xids")):
            told = f"{plain(xid.get('code'))} {plain(xid.get('text'))}"
            self.say("xid", told, "driver_signs", plain(xid.get("address")))

    def gpus(self) -> None:
        """GPUs and devices of other makers."""
        for gpu in rows(self.facts.get("gpus")):
            index = plain(gpu.get("index"))
            self.say("gpu", gpu.get("name"), "gpus", index)
            self.say("gpu capability", gpu.get("compute_capability"), "gpus", index)
            self.say("gpu memory", gpu.get("memory_total_bytes"), "gpus", index)
            self.say("gpu memory free", gpu.get("memory_free_bytes"), "gpus", index)
            if isinstance(gpu.get("mig_mode"), bool):
                self.say("gpu mig", "enabled" if gpu["mig_mode"] else "disabled", "gpus", index)
            for process in rows(gpu.get("processes")):
                told = f"{plain(process.get('name'))} {plain(process.get('memory_bytes'))}"
                self.say("gpu process", told, "gpus", index)
        for device in rows(self.facts.get("accelerators")):
            self.say("accelerator", device.get("name"), "accelerators")
            self.say("gfx", device.get("architecture"), "accelerators")

    def packages(self) -> None:
        """The packages that are installed."""
        installed = table(table(self.facts.get("packages")).get("installed"))
        for name, package in installed.items():
            self.say("package", table(package).get("version"), "packages", plain(name))
        for field, name in VERSIONS.items():
            if name not in installed:
                self.say("package", table(self.facts.get(field)).get("version"), field, name)

    def torch(self) -> None:
        """What torch is built for and what it sees."""
        build, seen = table(self.facts.get("torch")), table(self.facts.get("torch_runtime"))
        if build.get("variant") == "cpu":
            self.say("torch cuda", "none", "torch")
        if isinstance(seen.get("cuda_available"), bool):
            self.say("torch sees gpu", "yes" if seen["cuda_available"] else "no", "torch_runtime")
        # Half a list would make a build lack what it has: what follows shows that it is whole.
        built = seen.get("arch_list") if "cuda_available" in seen else None
        words = [one for one in built if isinstance(one, str)] if isinstance(built, list) else []
        self.say("torch architectures", " ".join(words), "torch_runtime")
