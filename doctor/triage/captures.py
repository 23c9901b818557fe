"""What the values inside an error text say of the environment.

A named group of a symptom is called as a topic of :mod:`doctor.paste`, or ``v_torchao`` for the version of a
package; ``driver_cuda_number`` is the number in which CUDA writes a version, 12040 for 12.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from doctor.paste import Statement, Topic

TOPICS: dict[str, Topic] = {topic.replace(" ", "_"): topic for topic in get_args(Topic)}


def statements_of(captures: Mapping[str, str], line: int) -> Iterator[Statement]:
    """The values of named groups as statements."""
    for group, value in captures.items():
        if group.startswith("v_"):
            name = group[2:].replace("_", "-")
            yield Statement(topic="package", name=name, value=value, form="error text", line=line)
        elif group == "driver_cuda_number" and value.isdigit():
            number = int(value)
            version = f"{number // 1000}.{number % 1000 // 10}"
            yield Statement(topic="driver cuda", value=version, form="error text", line=line)
        elif group == "gpu_capability":
            yield Statement(topic="gpu capability", value=capability(value), form="error text", line=line)
        elif group in TOPICS:
            yield Statement(topic=TOPICS[group], value=value, form="error text", line=line)


def capability(text: str) -> str:
    """ "12.0" of "sm_120", "sm_120a" or "12.0"."""
    digits = text.removeprefix("sm_").rstrip("abcdefgh")
    return digits if "." in digits else f"{digits[:-1]}.{digits[-1:]}"
