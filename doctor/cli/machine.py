"""Options that describe a machine that is not this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.output import refuse

if TYPE_CHECKING:
    from doctor.facts import Facts
    from doctor.stated import Stated

PythonVersion = Annotated[
    str | None, typer.Option("--python-version", metavar="3.11", help="The Python that will train.")
]
Os = Annotated[str | None, typer.Option("--os", metavar="linux|darwin|win32", help="Its operating system.")]
Arch = Annotated[str | None, typer.Option("--arch", metavar="x86_64|aarch64", help="Its processor.")]
DriverVersion = Annotated[
    str | None, typer.Option("--driver", metavar="535.104.05", help="Its NVIDIA driver.")
]
GpuName = Annotated[str | None, typer.Option("--gpu", metavar="NAME", help='Its GPU: "RTX 3060".')]
ComputeCapability = Annotated[
    str | None, typer.Option("--compute-capability", metavar="8.6", help="That of its GPU.")
]
GpuMemory = Annotated[str | None, typer.Option("--gpu-memory", metavar="12GiB", help="Memory of its GPU.")]
TorchCuda = Annotated[
    str | None, typer.Option("--torch-cuda", metavar="12.1", help="The CUDA that its torch is built for.")
]


def stated_by(words: Sequence[str | None]) -> Stated:
    """The machine that the options describe, in the order of its fields."""
    from doctor.stated import Stated

    return Stated(**{name: word or "" for name, word in zip(Stated.__struct_fields__, words, strict=True)})


def stated_or_leave(stated: Stated) -> Facts:
    """The facts of a described machine. Leaves with 2 where the description cannot be true."""
    from doctor.stated import StatementInvalid

    try:
        return stated.facts()
    except StatementInvalid as error:
        refuse(str(error), "the options that describe a machine are told by --help")
