"""Lines of shells, Dockerfiles, notebooks and scripts that install, set a variable or start a container.

A command counts where it begins its line, behind a prompt perhaps: "please run pip install ..." is advice.
Variables are those of the allow-list, and no others: what else is set may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packaging.utils import canonicalize_name

from doctor.paste import Statement, Topic
from doctor.readers import Source
from doctor.readers import commands as install_commands
from doctor.readers.paste import LONGEST, Block
from doctor.readers.paste.answers import answers_in
from doctor.readers.paste.doubt import stands_under_another
from doctor.readers.paste.images import images_in
from doctor.variables import ALLOWED

LONGEST_LINE = 4000
MOST_JOINED = 20  # lines that end in a backslash
PROMPT = re.compile(
    r"""\s{0,20}(?:\d{1,2}[.)]\s{1,2})?(?:\([\w./-]{1,60}\)\s{0,2}){0,2}
    (?:[\w.-]{1,40}@[\w.-]{1,60}[:\s]\S{0,200}?[$\#]\s{1,2}|PS\s[A-Z]:\\[^>]{0,200}>\s{0,2}|[A-Z]:\\[^>]{0,200}>\s{0,2}
    |(?:In\s\[\d{0,4}\]:|[$❯➜])\s{1,2}|>>>\s)?(?:RUN\s{1,4}|!|%)?(?:sudo\s)?""",
    re.X,
)
CONTAINER_PROMPT = re.compile(r"\s{0,8}(?:\([\w./-]{1,60}\)\s{0,2})?root@[0-9a-f]{12}:")
WHEEL = re.compile(
    r"(?:^|[/\\])([A-Za-z0-9_.]{1,60})-(\d[\w.+!%]{0,80})-cp(3)(\d{1,2})-\w{1,20}-[\w.]{1,80}\.whl$"
)
INSTALL = re.compile(
    r"(?:[\w./\\-]{0,120}python[\d.]{0,5}(?:\.exe)? -m )?(?:uv )?"
    r"(?:pip[\d.]{0,4}|conda|mamba|micromamba|uv) (?:install|add|create)\s"
)
SEPARATOR = re.compile(r"\s(?:&&|\|\||[;|])\s|;\s")
VALUE = r"""(?:"([^"]{0,300})"|'([^']{0,300})'|([^\s"';&]{0,300}))"""
SETS = re.compile(
    rf"""(?:(?:export|set|setx|ENV|ARG|env|%env|declare\s-x|-e|--env)\s{{1,4}})?["']?(?:\$env:)?
    ([A-Z][A-Z0-9_]{{1,60}})\s{{0,2}}=\s{{0,2}}{VALUE}""",
    re.X,
)
SETS_BY_SPACE = re.compile(rf"(?:setx|ENV|%env)\s{{1,4}}([A-Z][A-Z0-9_]{{1,60}})\s{{1,4}}{VALUE}")
IN_PYTHON = re.compile(
    r"""os\.(?:environ(?:\.setdefault\(|\[)|putenv\()\s{0,2}["']([A-Z][A-Z0-9_]{1,60})["']\s{0,2}(?:\]\s{0,2}=|,)\s{0,2}
    (?:str\()?(?:"([^"]{0,300})"|'([^']{0,300})'|(\d{1,6}))""",
    re.X,
)
YAML = re.compile(rf"\s{{0,40}}(?:-\s)?([A-Z][A-Z0-9_]{{1,60}}):\s{{1,4}}{VALUE}\s{{0,4}}$")
DOCKER = re.compile(r"(?:docker|podman|nvidia-docker)\s(?:run|exec|compose|create)\s")
SHM = re.compile(r"--shm-size[= ]\"?(\d{1,6})\s?([kmgKMG]?)")
UNSET = ("None", "null")  # what prints of a variable that is not set
CONDA_CUDA = re.compile(r"\b(?:pytorch-cuda|cudatoolkit)={1,2}(\d{1,2}\.\d)")
WHEELS = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?(cpu|cu\d{2}\d|rocm\d\.\d(?:\.\d)?)\b")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each line that tells something; none of those belongs to it alone."""
    for first, last, line in joined(lines):
        found = tuple(told_in(line, first)) if not stands_under_another(lines, first - 1) else ()
        if found:
            yield Block("commands", first, last, found, is_whole=is_command(line))
    yield from answers_in(lines)


def joined(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Lines with the numbers of their first and last, those put together that end in a backslash."""
    parts: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line[:LONGEST_LINE].rstrip()
        if text.endswith("\\") and len(parts) < MOST_JOINED:
            parts.append(text[:-1])
        elif parts or text:
            yield number - len(parts), number, " ".join([*parts, text])
            parts = []
    if parts:
        yield len(lines) - len(parts) + 1, len(lines), " ".join(parts)


def without_prompt(line: str) -> str:
    """A line from where its command begins."""
    prompt = PROMPT.match(line)
    return line[prompt.end() if prompt else 0 :]


def is_command(line: str) -> bool:
    """Is a line a command as a whole?"""
    text = without_prompt(line)
    return bool(INSTALL.match(text) or SETS.match(text) or DOCKER.match(text) or text.startswith("FROM "))


def told_in(line: str, number: int) -> Iterator[Statement]:
    """What one line tells."""
    if CONTAINER_PROMPT.match(line):
        yield of("container", "docker", number)
    yield from images_in(line, number)
    yield from (of("variable", value, number, name) for name, value in variables_in(line))
    for command in SEPARATOR.split(without_prompt(line)):
        text = command.strip().removeprefix("RUN ").removeprefix("sudo ")
        if INSTALL.match(text):
            yield from installed_by(text, number)
        elif DOCKER.match(text):
            yield from started_by(text, number)


def of(topic: Topic, value: str, line: int, name: str = "") -> Statement:
    """A statement of a command."""
    return Statement(topic=topic, value=value[:LONGEST], name=name, form="commands", line=line)


def installed_by(command: str, number: int) -> Iterator[Statement]:
    """The requirements of a command that installs, and the build of torch that its index has."""
    arguments = command.split()
    for argument in arguments:
        wheel = WHEEL.search(argument.strip("\"'"))
        if wheel:
            yield of("package", wheel[2].replace("%2B", "+"), number, canonicalize_name(wheel[1]))
            yield of("python", f"{wheel[3]}.{wheel[4]}", number)
    command = " ".join(argument for argument in arguments if ".whl" not in argument)
    wanted = install_commands.read(Source("", command))
    for requirement in wanted.requirements:
        yield of("requirement", requirement.specifier, number, requirement.name)
    if any(requirement.name == "torch" for requirement in wanted.requirements):
        yield from builds_in(" ".join(wanted.index_urls), number)
        if cuda := CONDA_CUDA.search(command):
            yield of("torch cuda", cuda[1], number)


def builds_in(addresses: str, number: int) -> Iterator[Statement]:
    """The build of torch by the index of PyTorch that it comes from."""
    found = WHEELS.search(addresses[:LONGEST_LINE])
    if not found:
        return
    build = found[1]
    if build.startswith("rocm"):
        yield of("torch hip", build[4:], number)
    else:
        yield of("torch cuda", "none" if build == "cpu" else f"{build[2:-1]}.{build[-1]}", number)


def started_by(command: str, number: int) -> Iterator[Statement]:
    """What a command that starts a container tells."""
    yield of("container", "docker", number)
    if found := SHM.search(command):
        scale = {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()]
        yield of("shared memory", str(int(found[1]) << scale), number)


def variables_in(line: str) -> Iterator[tuple[str, str]]:
    """The variables of the allow-list that a line sets, by any of the ways."""
    for found in IN_PYTHON.finditer(line):
        yield from allowed(found)
    text = without_prompt(line)
    by_space = SETS_BY_SPACE.match(text) or YAML.match(text)
    if by_space:
        yield from allowed(by_space)
    for piece in SEPARATOR.split(text):
        yield from leading(piece.strip())
    if DOCKER.match(text):
        for found in re.finditer(rf"\s(?:-e|--env)[\s=]([A-Z][A-Z0-9_]{{1,60}})={VALUE}", text):
            yield from allowed(found)


def leading(command: str) -> Iterator[tuple[str, str]]:
    """The assignments that a command begins with: "X=1 Y=2 python train.py"."""
    position = 0
    while found := SETS.match(command, position):
        yield from allowed(found)
        position = found.end()
        while position < len(command) and command[position] in " \t":
            position += 1


def allowed(found: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Name and value of an assignment; what a shell would still compute says nothing."""
    name, *values = found.groups()
    value = next((value for value in values if value is not None), "")
    if name in ALLOWED and value not in UNSET:
        yield name, value.strip()
