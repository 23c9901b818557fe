"""environment.yml of conda, its ``pip:`` list and exports with build strings.

Reference: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import msgspec
import yaml

from doctor.readers import Lines, Source
from doctor.readers.conda_names import CUDA, checked, of_match_spec, split_spec
from doctor.readers.requirement import NoRequirement
from doctor.readers.requirements_txt import gather
from doctor.readers.yaml_nodes import compose, entries, items, line_of
from doctor.wanted import Wanted


def read(source: Source) -> Wanted:
    """What an environment file asks for. Raises :class:`~doctor.readers.Unreadable`."""
    found, stated = Lines(source.name), dict[str, str]()
    dependencies = dict(entries(compose(source.text))).get("dependencies")
    for node in items(dependencies):
        if isinstance(node, yaml.ScalarNode):
            take(str(node.value), line_of(node), found, stated)
        for key, value in entries(node):
            if key == "pip":
                take_pip(value, source, found)
    return Wanted(
        file=source.name,
        form="open",
        requirements=tuple(found.requirements),
        python=stated.get("python", ""),
        torch_cuda=stated.get("cuda", ""),
        index_urls=tuple(dict.fromkeys(found.index_urls)),
        notes=tuple(found.notes),
    )


def take(text: str, line: int, found: Lines, stated: dict[str, str]) -> None:
    """One match specification: a package, Python itself, or the CUDA that torch is built for."""
    try:
        name, bounds = split_spec(text)
        if name == "python":
            stated["python"] = checked(bounds)
        elif name in CUDA and bounds:
            stated["cuda"] = bounds.strip("=<>~").removesuffix(".*")
        elif name == "cpuonly":
            stated["cuda"] = "cpu"
        elif requirement := of_match_spec(text):
            if requirement.name == "torch":  # conda's own build: its CUDA is another package's
                stated.setdefault("cuda", "unknown")
            found.requirements.append(msgspec.structs.replace(requirement, file=found.file, line=line))
    except NoRequirement as error:
        found.note(line, f"{text[:120]!r} is no requirement: {error}")


def take_pip(node: yaml.Node, source: Source, found: Lines) -> None:
    """The list beneath ``pip:``: each item is a line of a requirements file."""
    scalars = [item for item in items(node) if isinstance(item, yaml.ScalarNode)]
    for item in scalars:
        before = "\n" * (line_of(item) - 1)  # so that its line is counted in this file
        gather(Source(source.name, before + str(item.value), source.include), found, (source.name,))
