from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.render.layout import Layout
from doctor.render.wide import broken, columns, is_wide

CHINESE = "显存不足（OOM）：这样训练需要的显存或内存比机器有的多，先看 nvidia-smi 显示的数字。"


def test_a_chinese_character_is_two_columns_wide() -> None:
    assert columns("显存 OOM") == 8
    assert is_wide("显存") and not is_wide("OOM") and not is_wide("é…")


@given(st.text(alphabet="显存不足，。OOM 4-bit", max_size=200), st.integers(12, 60))
def test_lines_keep_every_character_and_their_width(text: str, room: int) -> None:
    lines = broken(text, room)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns(line) <= room + 2 or " " not in line.strip() for line in lines)


def test_no_line_begins_with_a_mark_that_ends_a_clause() -> None:
    for room in range(12, 80):
        lines = broken(CHINESE, room)
        assert [line for line in lines if line[:1] in "，。：）"] == []


def test_commands_within_chinese_are_not_broken() -> None:
    assert any("nvidia-smi" in line for line in broken(CHINESE, 14))


def test_a_terminal_wraps_chinese_by_its_width() -> None:
    assert all(columns(line) <= 40 for line in Layout(40, unicode=True).wrap(CHINESE * 3, 4))
