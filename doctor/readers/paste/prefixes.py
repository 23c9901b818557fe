"""What launchers, containers and loggers set before each line: whose line it is, when, of which level.

Sources: torch.distributed.elastic (``--tee``), mpirun ``--tag-output``, ray, vLLM, docker compose, journald,
kubernetes, glog, the logging of Python, transformers, DeepSpeed and xformers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LEVELS = "DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL"
DATE = r"\d{4}[-/]\d\d[-/]\d\d"
CLOCK = r"\d\d:\d\d:\d\d(?:[.,-]\d{1,9})?"
ZONE = r"(?:Z|[+-]\d\d:?\d\d| ?UTC)?"
# Who speaks.
SPEAKERS = (
    re.compile(r"\[(?P<speaker>(?:rank|default) ?\d{1,5})\]: ?"),
    re.compile(r"\[(?P<speaker>\d{1,5},\d{1,5})\]<std(?:err|out)>: ?"),
    re.compile(r"\((?P<speaker>[^()]{0,80}\bpid=\d{1,9}[^()]{0,80})\) ?"),
    re.compile(r"(?P<speaker>[A-Za-z0-9][\w.-]{0,60}[-_]\d{1,4}) {1,40}\|(?: |$)"),
    re.compile(r"(?P<speaker>(?:node|worker|host)[-_]?\d{1,4}): ?"),
)
# When, where and how bad.
LOGGERS = (
    # Aug 12 10:38:30 host unit[7]: ...
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,80} [\w@./-]{1,80}(?:\[\d{1,9}\])?: ?"),
    # [ 123.456789] ..., of the kernel
    re.compile(r"\[ {0,6}\d{1,9}\.\d{6}\] ?"),
    # W0812 10:38:30.123456 140 torch/run.py:7] ...
    re.compile(r"(?P<initial>[DIWEF])\d{4} \d\d:\d\d:\d\d\.\d{3,6} +\d{1,20} [^\]\s]{1,160}\] ?"),
    # 2024-01-01 10:00:00,123 - ..., [2024-01-01 10:00:00,123] ..., and the same without a day
    re.compile(rf"\[?{DATE}[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{{1,9}})?{ZONE}\]?(?:[ :,|]| - )?(?:- )?"),
    re.compile(rf"(?:\[{CLOCK}\]|{CLOCK}(?= +(?:{LEVELS})\b))[ ,]?"),
    # ERROR 08-12 10:38:30 [core.py:586] ...
    re.compile(
        rf"(?P<level>{LEVELS}) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{{1,6}})? "
        r"(?:\[[^\]\s]{1,120}\]|[\w./]{1,120}:\d{1,6}\]) ?"
    ),
    # ERROR    | module:function:215 - ..., of loguru behind its time
    re.compile(
        rf"(?:\S )?(?P<level>{LEVELS}) {{1,8}}\| (?:{DATE} {CLOCK} \| )?"
        r"(?P<name>[\w.<>]{1,120}):[\w<>.]{1,80}:\d{1,6} - "
    ),
    # [INFO|trainer.py:12] 2024-01-01 10:00:00,123 >> ...
    re.compile(rf"\[(?P<level>{LEVELS})\|(?P<name>[\w./-]{{1,120}}):\d{{1,6}}\](?: {DATE} {CLOCK})? ?>> ?"),
    # [xformers|WARNING]...
    re.compile(rf"\[(?P<name>[\w.]{{1,120}})\|(?P<level>{LEVELS})\] ?"),
    # [WARNING] [real_accelerator.py:162:abort] ...
    re.compile(rf"\[(?P<level>{LEVELS})\] ?(?:\[[\w./-]{{1,120}}:\d{{1,6}}(?::\w{{1,80}})?\] ?)?(?:- )?"),
    # WARNING:bitsandbytes.cextension:...
    re.compile(rf"(?P<level>{LEVELS}):(?P<name>[\w.-]{{1,120}}):(?! ?\d{{1,6}}:)"),
    # name - INFO - ..., as it follows the time
    re.compile(rf"(?:(?P<name>[\w.]{{1,120}}) - )?(?P<level>{LEVELS}) - (?:[\w.]{{1,120}}:\d{{1,6}} - )?"),
    # torch.distributed.elastic.multiprocessing.api: [ERROR] ...
    re.compile(rf"(?P<name>[a-z]\w{{1,60}}(?:\.\w{{1,60}}){{1,8}}): \[(?P<level>{LEVELS})\] ?"),
    # INFO     message   file.py:12, as rich prints it behind a time
    re.compile(rf"(?P<level>{LEVELS}) {{3,8}}"),
)
INITIALS = {"D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
# Any of these prefixes begins with one of these, which spares most lines the patterns.
BEGINS = re.compile(
    rf"[\[(]|\d{{2}}:\d\d:|{DATE}[T ]|[DIWEF]\d{{4}} |(?:\S )?(?:{LEVELS})[: ]|[A-Z][a-z]{{2}} [ \d]\d \d\d:"
    r"|(?:node|worker|host)[-_]?\d|[A-Za-z0-9][\w.-]{0,60}[-_]\d{1,4} {1,40}\||[a-z][\w.]{1,200}(?:: \[| - )"
)
MOST = 6  # prefixes of one line
# Whose lines may not tell by themselves of whom they speak.
TELLING = ("bitsandbytes", "xformers", "deepspeed", "torchao", "unsloth", "flash_attn", "triton", "auto_gptq")
EXCEPTION = re.compile(r"(?:Traceback|File |[ \t]|[A-Za-z_][\w.]{2,100}(?:Error|Exception|Warning)\b)")


class Told(NamedTuple):
    """A line behind its prefixes, and what they told."""

    text: str
    speaker: str = ""
    level: str = ""


def without_prefixes(text: str) -> Told:
    """A line without them. The space behind is kept, for it is that of a traceback."""
    speaker = level = logger = ""
    rest = text.lstrip(" ") if text.lstrip(" ")[:1] in ("[", "(") else text
    for _ in range(MOST):
        found = prefix_of(rest)
        if found is None:
            break
        told = found.groupdict()
        speaker = speaker or told.get("speaker") or ""
        level = told.get("level") or INITIALS.get(told.get("initial") or "") or level
        logger = told.get("name") or logger
        rest = rest[found.end() :]
        text = rest
    return Told(named(text, logger), speaker, level)


def prefix_of(text: str) -> re.Match[str] | None:
    """The prefix at the beginning of a line."""
    if not BEGINS.match(text):
        return None
    return next((found for one in (*SPEAKERS, *LOGGERS) if (found := one.match(text))), None)


def named(text: str, logger: str) -> str:
    """A message that does not say which library it is of, behind the library's name."""
    library = logger.partition(".")[0]
    if library not in TELLING or library in text.lower() or EXCEPTION.match(text) or not text.strip():
        return text
    return f"{library}: {text.lstrip()}"
