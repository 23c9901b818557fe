"""Fact types of a paste: what an issue body, a log or a report says, before anybody weighs it.

Readers (``doctor/readers/paste``) turn text into these; ``doctor/triage`` makes facts of an environment of
the statements and looks for the cause of the complaints. Lines are counted from 1.
"""

from __future__ import annotations

from typing import Literal

from doctor.fact import Fact

# Which format a statement stands in; the earlier of two is believed where they differ, for programs know more
# than people remember.
Form = Literal[
    "lora-doctor",
    "nvidia-smi",
    "device list",
    "collect_env",
    "transformers env",
    "accelerate env",
    "trl env",
    "llamafactory env",
    "ds_report",
    "bitsandbytes",
    "unsloth",
    "package list",
    "nvcc",
    "ldd",
    "kernel log",
    "error text",
    "traceback",
    "commands",
    "issue form",
    "prose",
]

Topic = Literal[
    "package",  # name: as on the index, normalised; value: version as it is written, "" where it is not told
    "absent",  # name: a package that is said not to be installed
    "requirement",  # name: a package; value: specifier, as of "pip install 'peft>=0.14'"
    "python",  # "3.10.12"
    "executable",  # of the interpreter, or a folder of its environment
    "os",  # "linux", "win32", "darwin"
    "distribution",  # "Ubuntu 22.04.3 LTS (x86_64)"
    "kernel",  # "5.15.0-91-generic"
    "arch",  # "x86_64", "aarch64", "arm64"
    "libc",  # "glibc 2.35"
    "wsl",  # "yes"
    "container",  # "docker", "kubernetes", "colab", "kaggle", ...
    "torch cuda",  # what torch was built with: "12.1"; "none" where it was built without
    "torch hip",  # likewise of ROCm: "6.2.41133"
    "torch sees gpu",  # "yes", "no"
    "torch architectures",  # "sm_50 sm_60 compute_90"
    "driver",  # "535.104.05"
    "driver cuda",  # the newest CUDA that the driver offers: "12.2"
    "kernel module",  # version of the loaded kernel module, where it is told apart from the libraries
    "gpu",  # name: its index, "" where none is told; value: its name
    "gpu memory",  # name: index; value: bytes in all
    "gpu memory free",  # name: index; value: bytes
    "gpu capability",  # name: index; value: "8.6"
    "gpu mig",  # name: index; value: "enabled", "disabled" or the name of an instance
    "gpu process",  # name: index; value: name of the process, then bytes: "python 1024"
    "accelerator",  # a device of another maker: "AMD Radeon RX 7900 XTX", "Apple M2"
    "gfx",  # "gfx1100"
    "toolkit",  # what nvcc says: "12.4"
    "cuda",  # "12.1", where it is not told whether torch's, the toolkit's or the driver's is meant
    "cudnn",  # "8.9.2"
    "variable",  # name: an environment variable; value: what it is set to
    "bitsandbytes library",  # file name of the native library that it took: "libbitsandbytes_cuda118.so"
    "library",  # of ldd, name: "libcudart.so.12"; value: path, "" for "not found"
    "xid",  # name: PCI address; value: number, then text: "79 GPU has fallen off the bus"
    "shared memory",  # bytes of /dev/shm
]


class Statement(Fact, frozen=True, kw_only=True):
    """One thing that a paste says of the environment."""

    topic: Topic
    value: str
    name: str = ""
    form: Form
    line: int


class Frame(Fact, frozen=True, kw_only=True):
    """One frame of a traceback."""

    file: str
    line: int  # 0 where it is not told
    function: str = ""
    module: str = ""  # dotted, of files under site-packages and the like: "peft.peft_model"; else ""
    code: str = ""  # the source line that is shown


class Complaint(Fact, frozen=True, kw_only=True):
    """One error or warning: an exception with the frames above it, or a line that complains by itself."""

    kind: str  # "ImportError", "torch.cuda.OutOfMemoryError", "UserWarning"; "" for a line that names none
    message: str  # whole, line breaks kept, cut after 4,000 characters
    line: int  # of "kind: message"
    level: Literal["error", "warning", "line"]
    frames: tuple[Frame, ...] = ()  # innermost last; empty where the paste begins below them
    # Complaints of one chain of exceptions share a number and stand from the first cause to what surfaced.
    chain: int = 0
    # It only passes on what another one says: "Failed to import ... because of the following error",
    # CalledProcessError, ChildFailedError.
    is_wrapper: bool = False
    rank: int | None = None  # of a process among several
    times: int = 1  # how often it comes, ranks and repetitions taken together

    @property
    def text(self) -> str:
        """ "ImportError: cannot import name ..."."""
        return f"{self.kind}: {self.message}" if self.kind else self.message


class Contradiction(Fact, frozen=True, kw_only=True):
    """Two statements that cannot both be true of one environment."""

    first: Statement
    second: Statement


class Paste(Fact, frozen=True, kw_only=True):
    """All that a paste says."""

    forms: tuple[Form, ...]  # which formats stand in it
    statements: tuple[Statement, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
