"""GPUs that people mention in their sentences: "on a 3060", "8xA100 80GB", "2 x RTX 4090", "an M2 Mac"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.readers.paste.devices import MANY, bytes_of
from doctor.readers.paste.doubt import is_doubted
from doctor.readers.paste.platforms import Said

_SUFFIX = (
    r"(?:[ -]?(?:ti|super|ada|laptop|mobile|notebook|max-q|d|blackwell|generation|gpu)(?![a-z0-9])){0,4}"
)
_FORM = r"(?:[ -](?:sxm\d?|pcie|nvl|hbm\d\w?|ada|ti)(?![a-z0-9])){0,2}"
_SIZE = r"(?:[ -]?\(?(?P<size{0}>\d{{1,3}}) ?gi?b?(?![a-z0-9])\)?)?"
_CARDS = "10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[5-9]0|50[5-9]0"
_COUNT = r"(?i:(?P<count>\d{1,2}) ?(?:[x×*]|卡|张|块)? ?|(?P<two>dual|two|双卡|两张) ?)?"
_MAKER = r"(?:(?:nvidia|geforce|tesla|quadro)[ -]?){0,3}"
_NAMED = (
    rf"(?:rtx|gtx)[ -]?(?:pro[ -]?)?(?:a?[2-6]000|a[45]500|7[58]0|9[5-8]0|{_CARDS}){_SUFFIX}"
    rf"|(?<=geforce )(?:{_CARDS}){_SUFFIX}|(?<=nvidia )(?:{_CARDS}){_SUFFIX}|(?:{_CARDS}) ?ti{_SUFFIX}"
    r"|titan (?:xp|x|v|rtx)|(?<=quadro )(?:rtx )?(?:gp|gv|p|m|k|t)?\d{3,4}|dgx spark|gb10"
    r"|(?:jetson )?(?:agx |nano )?(?:orin|xavier|thor)(?: nano| nx| agx)?"
    rf"|(?:a[18]00|h[128]00|b[23]00|gh200|gb[23]00|v100s?|p100|a[2456]000|a[45]500|l40s|a10g){_FORM}"
)
_SHORT = rf"(?:T4|L4|L20|L40|A10|A16|A30|A40|A2|P4|P40|K80|M40|M60|H20){_FORM}"  # as words only in capitals
_EDGE, _END = r"(?<![A-Za-z0-9_./\\#+-])", r"(?:s(?![a-z0-9]))?(?![A-Za-z0-9_]|\.\d|/\w| ?series)"
MENTION = re.compile(
    rf"{_EDGE}{_COUNT}(?P<name>(?i:{_MAKER}(?:{_NAMED}){_SIZE.format(1)})"
    rf"|(?i:{_MAKER}){_SHORT}(?i:{_SIZE.format(2)})){_END}"
    r"(?:[ (]{0,2}[x×*] ?(?P<times>\d{1,2})(?![\w.]))?"
)
# A number alone is a GPU behind such words and before such an end only.
BARE = re.compile(
    r"(?<![A-Za-z0-9_.])(?:an?|my|one|single|on|the|with|using|\d{1,2} ?[x×*]|dual|two|gpu|card|显卡是?)"
    rf"[ :=]{{0,3}}(?<![a-z])(?P<name>(?:{_CARDS}){_SUFFIX}{_SIZE.format(1)})"
    r"(?=s?(?:[,.;)]|$| gpu| card| with| and| laptop| \())",
    re.I,
)
INDEX = re.compile(r"(?:gpu|device) ?\[?(\d{1,2})\]? ?[:=] ?$", re.I)
_MODEL = (
    r"(?:amd |radeon |instinct ){0,3}(?:rx ?\d{4}(?: ?(?:xtx|xt|gre))?|pro w\d{4}|radeon vii|mi\d{2,3}[ax]?)"
)
RADEON = re.compile(rf"(?<![\w-])({_MODEL})(?![\w-])", re.I)
INTEL = re.compile(
    r"(?<![\w-])((?:intel )?arc(?: pro)? [ab]\d{2,3}m?|intel (?:max|flex) \d{3,4})(?![\w-])", re.I
)
APPLE = re.compile(
    r"(?<![\w-])(?:(?:apple )?(m[1-5])(?: (pro|max|ultra))?(?= ?(?:mac|chip|mini|air|soc))"
    r"|(?:apple|mac(?:book)?(?: pro| air| mini| studio)?)[ ,(]{1,3}(m[1-5])(?: (pro|max|ultra))?"
    r"|(apple silicon))(?![\w-])",
    re.I,
)
GFX = re.compile(r"(?<!\w)(gfx[0-9a-f]{3,5})(?!\w)")


def gpus_in(line: str) -> Iterator[Said]:
    """Each GPU that a line states of its own machine, as often as it is said to be there."""
    place = 0
    found_any = False
    for found in MENTION.finditer(line):
        if is_doubted(line, found.start(), found.end()):
            continue
        found_any = True
        many = count_of(found)
        told = INDEX.search(line[max(0, found.start() - 12) : found.start()])
        for _ in range(many):
            index = told[1] if told else str(place) if many > 1 or place else ""
            yield from one(found["name"], found["size1"] or found["size2"], index)
            place += 1
    for found in () if found_any else BARE.finditer(line):
        if not is_doubted(line, found.start(), found.end()):
            yield from one(found["name"], found["size1"], "")
    yield from others_in(line)


def count_of(found: re.Match[str]) -> int:
    """How many are told of."""
    told = found["count"] or found["times"] or ("2" if found["two"] else "1")
    return max(1, min(MANY, int(told)))


def one(name: str, size: str | None, index: str) -> Iterator[Said]:
    """One GPU, and its memory."""
    yield Said("gpu", name.strip(), index)
    memory = bytes_of(f"{size}GB") if size else None
    if memory:
        yield Said("gpu memory", str(memory), index)


def others_in(line: str) -> Iterator[Said]:
    """Devices of other makers."""
    for pattern in (RADEON, INTEL):
        for found in pattern.finditer(line):
            if not is_doubted(line, found.start(), found.end()):
                yield Said("accelerator", found[1])
    for found in APPLE.finditer(line):
        if not is_doubted(line, found.start(), found.end()):
            words = " ".join(word for word in found.groups() if word and word.lower() != "apple silicon")
            yield Said("accelerator", f"Apple {words.title()}".strip())
            yield Said("os", "darwin")
            yield Said("arch", "arm64")
    names = {found[1].lower(): found for found in GFX.finditer(line)}
    for name, found in names.items() if len(names) == 1 else ():  # several are what a build was made for
        if not is_doubted(line, found.start(), found.end()):
            yield Said("gfx", name)
