"""The words between the parts of a page, in each language."""

from __future__ import annotations

from typing import NamedTuple

from doctor.page import Language


class Words(NamedTuple):
    """Headings, and sentences that lead to a list."""

    means: str
    yours: str
    says: str
    fix: str
    instead: str
    depends: str
    cases: str
    installed: str
    reason: str
    take: str
    verify: str
    vain: str
    more: str
    releases: str
    untranslated: str
    further: str


WORDS: dict[Language, Words] = {
    "en": Words(
        means="What it means",
        yours="Is it your case",
        says="The error says, among others:",
        fix="Fix",
        instead="Or: ",
        depends="It depends on the releases that are installed; lora-doctor check names yours.",
        cases="Known pairs of releases, and what each needs at least:",
        installed="Installed",
        reason="What happens",
        take="Then",
        verify="See that it is cured",
        vain="Tried in vain",
        more="References",
        releases="It concerns {}.",
        untranslated="",
        further="These words also fit:",
    ),
    "zh": Words(
        means="这是什么问题",
        yours="怎样判断是不是你的情况",
        says="报错里常见的内容：",
        fix="解决办法",
        instead="或者：",
        depends="取决于已安装的版本；lora-doctor check 会告诉你需要哪一个。",
        cases="已知会冲突的版本组合，以及各自至少需要的版本：",
        installed="已安装的版本",
        reason="会发生什么",
        take="执行",
        verify="如何确认已经修好",
        vain="这样做没有用",
        more="参考资料",
        releases="涉及的版本：{}。",
        untranslated="这一页还没有中文版，下面是英文原文。",
        further="下面这些故障也符合：",
    ),
}
