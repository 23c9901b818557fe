#!/usr/bin/env python3
"""Writes the page of every fault into docs/findings, from the rules and rows that it is told by.

    scripts/write_pages.py [--check]

One file a fault, docs/findings/<subject>/<fault>.md, an index by subject with what people see, and the same
in docs/findings/zh for the pages that are in Chinese. ``--check`` writes nothing and ends with 1 where the
files are not what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from doctor.page import Brief
from doctor.pages import briefs, page_of
from doctor.pages.languages import brief_in, in_language, translations
from doctor.render import page, page_list

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "findings"
ENGLISH = """# Every fault that is known

By subject, with what people see of it first. `lora-doctor explain` prints the same pages, and finds them by
an error text. Written by `scripts/write_pages.py`. [中文](zh/README.md)
"""
CHINESE = """# 最常见的故障

初次做 LoRA / QLoRA 微调时最常遇到的问题。在终端里可以直接查看：`lora-doctor explain --lang zh 报错内容`。
由 `scripts/write_pages.py` 生成。[English, all faults](../README.md)
"""


def pages() -> Iterator[tuple[str, str]]:
    """The name of each file in the folder, and its text."""
    yield "README.md", index(ENGLISH, briefs())
    yield (
        "zh/README.md",
        index(CHINESE, [brief_in(one, "zh") for one in briefs() if one.id in translations("zh")]),
    )
    for brief in briefs():
        found = page_of(brief.id)
        assert found is not None
        yield f"{brief.id}.md", page.markdown(found)
        if brief.id in translations("zh"):
            yield f"zh/{brief.id}.md", page.markdown(in_language(found, "zh"))


def index(head: str, faults: Sequence[Brief]) -> str:
    """The list of pages below its heading."""
    return f"{head}\n{page_list.markdown(faults, '.md')}"


def differences(wanted: dict[str, str]) -> list[str]:
    """The files that are not as they would be written, those that nothing writes too."""
    there = {file.relative_to(FOLDER).as_posix(): file for file in FOLDER.rglob("*.md")}
    stale = [name for name in there if name not in wanted]
    changed = [
        name
        for name, text in wanted.items()
        if name not in there or there[name].read_text(encoding="utf-8") != text
    ]
    return sorted(stale + changed)


def main(arguments: Sequence[str]) -> int:
    """Write, or with ``--check`` look; the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wanted = dict(pages())
    wrong = differences(wanted)
    if arguments:
        print("\n".join(f"not as written: docs/findings/{name}" for name in wrong), file=sys.stderr, end="")
        return 1 if wrong else 0
    for name in wrong:
        file = FOLDER / name
        if name in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            file.unlink()
    print(f"{len(wanted)} files in docs/findings, {len(wrong)} written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
