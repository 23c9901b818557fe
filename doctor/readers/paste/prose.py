"""What people write about their environment in their own words: "torch 2.3 on a 3060, Windows 11".

What they believe, wish or tried is no statement (``doubt.py``); labels and their values are those of
``issue_form.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Statement
from doctor.readers.paste import LONGEST, Block
from doctor.readers.paste.commands import is_command
from doctor.readers.paste.doubt import is_doubted, stands_under_another
from doctor.readers.paste.gpu_words import gpus_in
from doctor.readers.paste.mentions import stated, versions_in
from doctor.readers.paste.platforms import Said, of_system
from doctor.variables import ALLOWED

LONGEST_LINE = 1500
# Without any of these a line names no version and no device.
TELLING = re.compile(r"\d|available|apple|jetson|orin|xavier|thor|spark|titan", re.I)
ADDRESS = re.compile(r"https?://[^\s)>\]]{1,600}")
SPACE = re.compile(r"[ \t]{2,}")
SYSTEM = re.compile(
    r"(?<![\w-])(?:windows ?(?:10|11|server(?: \d{4})?)|win ?(?:10|11)|ubuntu(?: ?\d\d(?:\.\d\d)?)?"
    r"|mac ?os(?: ?x)?(?: \d{1,2}(?:\.\d)?)?|centos ?\d?|debian ?\d{0,2}|rhel ?\d?|fedora ?\d{0,2}"
    r"|arch linux|rocky linux ?\d?|wsl ?2?|linux)(?![\w-])",
    re.I,
)
ARCHITECTURE = re.compile(r"(?<![\w-])(x86_64|aarch64|arm64)(?![\w-])")
CONTAINERS = tuple(
    (re.compile(sign, re.I), name)
    for sign, name in (
        (r"(?<![\w-])(?:google )?colab(?![\w-])", "colab"),
        (r"(?<![\w-])kaggle (?:notebook|kernel|gpu|t4|p100|environment|session)|^kaggle", "kaggle"),
        (r"(?:on|in|using|from) kaggle\b|kaggle\s?[:|]", "kaggle"),
        (
            r"(?<![\w-])(?:docker|podman) ?(?:container|image|compose|环境|镜像)|dev ?container|runpod",
            "docker",
        ),
        (r"(?:in|inside|using|with|via|from)(?: an?| the)? (?:docker|container)\b", "docker"),
        (r"在(?:docker)?容器|容器(?:中|里|内)", "docker"),
        (r"(?<![\w-])(?:kubernetes|k8s)(?![\w-])", "kubernetes"),
        (r"(?<![\w-])(?:singularity|apptainer)(?![\w-])", "apptainer"),
    )
)
VARIABLE = re.compile(
    r"(?<![\w$])([A-Z][A-Z0-9_]{3,60})[`\"']?\s{0,2}(?:==?|:)\s{0,2}[`\"']?([^\s`\"',;)]{0,300})"
)
ADVICE = re.compile(r"\b(?:please|consider|passing|adding|example|could|can|use|setting)\b|请|设置", re.I)
# Lines of programs, not of people: frames, source code, addresses, progress, what pip is doing.
NO_PROSE = re.compile(
    r'\s*(?:File "|\^{2,}|import \w|from [\w.]{1,80} import|def |class |return |if |@|https?://|\d{1,3}%\|'
    r"|Configured with|Collecting |Downloading |Using cached |Building wheel|Preparing |Installing collected"
    r"|Attempting uninstall|Found existing|Uninstalling |Successfully uninstalled|Stored in )"
)


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each line that states something of the environment that fails."""
    for index, line in enumerate(lines):
        text = SPACE.sub(" ", ADDRESS.sub(" ", line[:LONGEST_LINE]))
        if not text.strip() or NO_PROSE.match(text) or is_command(line) or stands_under_another(lines, index):
            continue
        found = tuple(
            Statement(topic=one.topic, value=one.value[:LONGEST], name=one.name, form="prose", line=index + 1)
            for one in dict.fromkeys(said_in(text))
        )
        if found:
            yield Block("prose", index + 1, index + 1, found, is_whole=False)


def said_in(line: str) -> Iterator[Said]:
    """What one line states."""
    if TELLING.search(line):
        yield from versions_in(line)
        yield from gpus_in(line)
    yield from variables_in(line)
    if not line.startswith("##") and "[ ]" not in line:  # a heading of a form, a box that is not ticked
        yield from systems_in(line)
        places = (name for sign, name in CONTAINERS for _ in stated(sign, line))
        yield from (Said("container", name) for name in list(places)[:1])


def variables_in(line: str) -> Iterator[Said]:
    """The variables that are said to be set; advice to set one is none."""
    for found in VARIABLE.finditer(line):
        value = found[2].rstrip(".")
        if found[1] not in ALLOWED or value in ("None", "null", "unset"):
            continue
        is_advice = ADVICE.search(line, max(0, found.start() - 80), found.start())
        if not is_advice and not is_doubted(line, found.start(), found.end()):
            yield Said("variable", value, found[1])


def systems_in(line: str) -> Iterator[Said]:
    """The operating system and the architecture."""
    told = [one for word in stated(SYSTEM, line) for one in of_system(word[0])]
    is_wsl = any(one.topic == "wsl" for one in told)
    names = {one.value for one in told if one.topic == "os"}
    if is_wsl:  # of Windows, which may be named as well
        yield from (Said("os", "linux"), Said("wsl", "yes"))
    elif len(names) == 1:
        yield from told
    yield from (Said("arch", found[1]) for found in stated(ARCHITECTURE, line))
