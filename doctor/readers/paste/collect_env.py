"""``python -m torch.utils.collect_env`` of 2019 to today, and what grew from it: vLLM's, IPEX's and others.

xformers.info, which prints the same of torch and the GPU, is read here too. Sources:
https://github.com/pytorch/pytorch/blob/main/torch/utils/collect_env.py
https://github.com/vllm-project/vllm/blob/main/vllm/collect_env.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packaging.utils import canonicalize_name

from doctor.paste import Form, Statement
from doctor.readers.conda_names import pypi_name
from doctor.readers.paste import Block
from doctor.readers.paste.devices import of_gpus
from doctor.readers.paste.names import VERSION
from doctor.readers.paste.platforms import Said
from doctor.readers.paste.readings import cudnn_at
from doctor.readers.paste.reports import Row, Run, blocks, stated, statement
from doctor.variables import ALLOWED

FORM: Form = "collect_env"
_PIP_ROW = re.compile(rf"([A-Za-z0-9][\w.-]{{0,80}})(?:==| ?\(|[ \t]{{1,60}})({VERSION})")
_CONDA_ROW = re.compile(
    rf"([A-Za-z0-9_][\w.-]{{0,80}})[ \t]{{1,60}}({VERSION}|\d{{1,6}})(?:[ \t]{{1,60}}([\w.+-]{{1,80}}))?"
)
# "py3.10_cuda11.8_cudnn8.7.0_0" of the channel pytorch; "cuda118_py310h...", "cpu_mkl_..." of conda-forge.
_CUDA_BUILD = re.compile(r"(?:^|_)cuda_?(\d{1,2})\.?(\d)(?!\d)")
_CPU_BUILD = re.compile(r"(?:^|_)cpu(?:_|$)")
_OF_CUDA = re.compile(r"\+cu(\d{2,3})")
_MIG = re.compile(r"[ \t]{1,8}MIG ([\w.+]{2,30})[ \t]{1,20}Device")
_VARIABLE = re.compile(r"[ \t]{0,8}([A-Z][A-Z0-9_]{1,60})=(.{0,300})")
_INTEL = re.compile(r"[ \t*]{0,8}\[\d{1,2}\] ?_?\w{0,20}DeviceProperties\(")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report in a text."""
    yield from blocks(lines, FORM, statements)


def statements(run: Run) -> Iterator[Statement]:
    """All that one report says."""
    has_cudnn = False
    for said in stated(run, FORM):
        if said.topic == "torch cuda" and said.value == "none" and is_cuda_build(run):
            continue  # torch could not be asked: its version knows better
        has_cudnn = has_cudnn or said.topic == "cudnn"
        yield said
    yield from _in_between(run, has_cudnn)
    for row in run.rows:
        yield from (statement(said, FORM, row.line) for said in of_row(row))


def is_cuda_build(run: Run) -> bool:
    """Does the version of torch tell of CUDA?"""
    told = [placed.label.value for placed in run.labels if placed.label.meaning == "torch"]
    told += [row.text for row in run.rows if row.text.startswith("torch=")]
    return any(_OF_CUDA.search(text) for text in told)


def _in_between(run: Run, has_cudnn: bool) -> Iterator[Statement]:
    """What lines without a label say: libraries of cuDNN, slices of GPUs, variables, Intel's devices."""
    gpu = ""
    indexes = {placed.line: placed.label.name for placed in run.labels if placed.label.meaning == "gpu"}
    for text, line in run.plain:
        gpu = next((indexes[above] for above in range(line, max(0, line - 10), -1) if above in indexes), gpu)
        for said in of_plain(text, gpu):
            if said.topic != "cudnn" or not has_cudnn:
                has_cudnn = has_cudnn or said.topic == "cudnn"
                yield statement(said, FORM, line)


def of_plain(text: str, gpu: str) -> Iterator[Said]:
    """One line without a label; ``gpu`` is the index of the GPU above it."""
    mig, variable = _MIG.match(text), _VARIABLE.match(text)
    if "libcudnn" in text:
        yield from cudnn_at(text)
    elif mig:
        yield Said("gpu mig", mig[1], gpu)
    elif variable and variable[1] in ALLOWED:
        yield Said("variable", variable[2].strip(), variable[1])
    elif _INTEL.match(text):
        yield from of_gpus(text, named=False)


def of_row(row: Row) -> Iterator[Said]:
    """One package of the list at the end."""
    if row.tag == "conda":
        yield from of_conda_row(row.text)
        return
    found = _PIP_ROW.match(row.text)
    if row.tag == "xFormers":
        yield Said("package", row.text, "xformers")
    elif found:
        yield Said("package", found[2], canonicalize_name(found[1]))


def of_conda_row(text: str) -> Iterator[Said]:
    """Name, version, build, channel; torch's build tells what it was built with."""
    found = _CONDA_ROW.match(text)
    if not found:
        return
    name = pypi_name(found[1].lower())
    if name and name != "python":
        yield Said("package", found[2], name)
    if name == "torch" and found[3] and "pypi" not in found[3]:
        cuda = _CUDA_BUILD.search(found[3])
        if cuda:
            yield Said("torch cuda", f"{cuda[1]}.{cuda[2]}")
        elif _CPU_BUILD.search(found[3]):
            yield Said("torch cuda", "none")
