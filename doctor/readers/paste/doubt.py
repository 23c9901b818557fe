"""What people write of versions that are not theirs: wishes, comparisons, attempts, other machines.

A version counts only where nothing in its sentence says that another environment is meant. To miss one is
cheap, to take a wrong one leads to a wrong cause.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LOOK = 160  # characters that are looked at on either side
NEAR = 60  # behind a version


def phrases(text: str) -> str:
    """One pattern of many, each apart by space; "_" stands for a space."""
    return "|".join(phrase.replace("_", " ") for phrase in text.split())


# Before a version, in its sentence: it is wanted, tried, advised, excluded or somebody else's.
BEFORE = phrases(
    r"""need(?:s|ed|ing)? require[sd]? requirement must should could would might maybe perhaps probably try
    tried trying tested upgrad(?:e|ed|es|ing) downgrad(?:e|ed|es|ing) updat(?:e|ed|ing)_to
    switch(?:ed|ing)? revert(?:ed|ing)? roll(?:ed|ing)?_?back works? worked working fine(?![_-]?tun)
    succe(?:ed|eds|eded|ss|ssful|ssfully) support(?:s|ed|ing)? compatib(?:le|ility) incompatible minimum
    at_least lower_than not no(?!_idea|t) n[o']t never without cannot instead rather than since until
    prior before after older newer below above fix(?:ed|es)? solv(?:e|ed|es) resolv(?:e|ed|es) solution
    workaround recommend(?:ed|s)? suggest(?:ed|s)? expect(?:s|ed|ing)? think guess believe assume
    suspect wonder whether if unless vs versus between from(?=\W{0,3}$) previous(?:ly)? earlier old
    other another different change[sd]?_to chang(?:ed?|ing) pin(?:ned|ning)? bump(?:ed)? released?
    introduced removed deprecated only either both same built_for compiled_for against based_on
    (?:pip|conda)_install failed_to_[a-z]{3,9} failed_building could_not_[a-z]{3,9}
    matching_distribution don't doesn't didn't isn't wasn't can't won't"""
)
BEFORE_CHINESE = (
    "升级|降级|需要|必须|尝试|试过|换成|改成|改为|支持|建议|之前|以前"
    "|不能|不要|可以|正常|解决|最新|要求|至少|如果"
)
# Behind it, in its clause.
BEHIND = phrases(
    r"""works? worked working fine(?![_-]?tun) (?:or|and)_(?:later|newer|above|higher|below|older|lower)
    (?:is|are)_(?:required|needed|supported) is_not required needed instead succe(?:eds?|eded)
    no_problem no_issue no_error you_have before after fixed fixes solved ok okay"""
)
BEHIND_SIGNS = r"[+]\s{0,3}(?:is|or)\b|^\+(?!\w)|^\.x\b|✅|正常|可以|以上|以下|解决|没问题"
# In a heading over what is no environment of the failure: "Works with:", "Fix", "After the upgrade".
OTHER = phrases(
    """fix(?:ed|es)? solution solved resolved workaround works?_(?:with|on|fine|in) working worked expected
    instead after(?:wards)? before suggest(?:ed|ion)? recommended required? requirements?
    upgrad(?:e|ed|ing) downgrad(?:e|ed|ing) try needed tested supported known_good good healthy"""
)
_BEFORE = re.compile(rf"\b(?:{BEFORE})\b|{BEFORE_CHINESE}", re.I)
_BEHIND = re.compile(rf"\b(?:{BEHIND})\b|{BEHIND_SIGNS}", re.I)
_OTHER = re.compile(rf"\b(?:{OTHER})\b|解决|正常|可用|修复", re.I)
_AND_YET = re.compile(
    r"\b(?:not|n't|no longer|broken|fail(?:s|ed|ing)?|bad|error|never)\b|don't|doesn't|不", re.I
)
# Directly before it: this is the one that fails.
_FAILS = re.compile(
    r"(?:\b(?:not|doesnt|dont|wont|cannot) (?:be )?(?:work|run|train|load|start|use)\w{0,3}"
    r"|n't (?:work|run|train|load|start|use)|\bfail(?:s|ed|ing|ure)?|\bcrash\w{0,4}|\bbroken|\bbreaks?"
    r"|\berrors?|\bproblems?|\bissues?|\bbugs?)(?: \w{1,12}){0,3}"
    r" (?:with|on|in|under|using|at|for)\b[^.;!?]{0,60}$",
    re.I,
)
_UNABLE = re.compile(
    r"\b(?:not able|unable|can'?t|cannot|couldn'?t|could not)\b[^.;!?]{1,80}"
    r" (?:with|on|in|under|using)\b[^.;!?]{0,60}$",
    re.I,
)
# Directly before it: it is what is there now.
_OWN = re.compile(r"(?:\bmy|\bcurrent(?:ly)?|我的|当前|现在)\W{0,3}(?:installed |version of )?$", re.I)
_NUMBER = re.compile(r"\d\.\d")
_SENTENCE = re.compile(r"[.!?;](?=\s|$)|[。！？；]")
_CLAUSE = re.compile(r"[.!?;](?=\s|$)|,(?!\d)|[。！？；，]|\bbut\b|但")


def is_doubted(line: str, start: int, end: int) -> bool:
    """Does the sentence of ``line[start:end]`` make it a wish, a comparison or another environment's?"""
    before, behind = line[max(0, start - LOOK) : start], line[end : end + LOOK]
    sentence = before[last_end(_SENTENCE, before) :]
    stop = _CLAUSE.search(behind)
    clause = behind[: stop.start()] if stop else behind
    if _BEHIND.search(clause[:NEAR]):
        return True
    is_here = any(sign.search(sentence) for sign in (_FAILS, _UNABLE, _OWN))
    return not is_here and is_wished(sentence)


def is_wished(before: str) -> bool:
    """Do the words before a version make it a wish, or those before another one that it is listed with?"""
    *earlier, own = _CLAUSE.split(before)
    listed = [clause for clause in earlier if _NUMBER.search(clause)]
    return any(_BEFORE.search(clause) for clause in (own, *listed))


def last_end(pattern: re.Pattern[str], text: str) -> int:
    """Where the last match ends, 0 where there is none."""
    return max((found.end() for found in pattern.finditer(text)), default=0)


def tells_of_another(heading: str) -> bool:
    """Is what stands under a line an environment that works, or that is only advised?"""
    plain = heading.strip(" \t*_`")
    is_label = plain.endswith((":", "：")) or heading.lstrip().startswith(("#", "**"))
    if len(heading) > LOOK or "==" in heading or not (is_label or len(plain.split()) < 5):
        return False
    return bool(_OTHER.search(heading)) and not _AND_YET.search(heading)


def stands_under_another(lines: Sequence[str], index: int) -> bool:
    """Does the line that is not empty above ``lines[index]``, three at most away, tell of another one?"""
    near = (lines[above] for above in range(index - 1, max(-1, index - 4), -1))
    heading = next((line for line in near if line.strip(" \t`")), "")
    return tells_of_another(heading)
