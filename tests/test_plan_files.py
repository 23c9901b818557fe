"""Plans in files of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_scripts import LORA_TODAY, TODAY

from doctor.host import LocalHost
from doctor.plan_files import PlanUnread, asked_in


def file(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "length"),
    [
        ("plan.toml", 'model = "m"\nsequence_length = 512\n', 512),
        ("PLAN.TOML", 'model = "m"\nsequence_length = 512\n', 512),
        ("sft.yaml", "model: m\ncutoff_len: 256\n", 256),
        ("sft.yml", "base_model: m\nsequence_len: 128\n", 128),
        ("train.py", LORA_TODAY, 1024),
    ],
)
def test_the_name_says_how_a_file_is_read(tmp_path: Path, name: str, text: str, length: int) -> None:
    asked = asked_in(LocalHost(), file(tmp_path, name, text), TODAY)
    assert asked.plan.sequence_length == length and asked.model
    assert "sequence_length" in asked.stated


def test_the_optimizer_of_a_file_gets_the_name_that_is_used_here(tmp_path: Path) -> None:
    path = file(tmp_path, "plan.toml", 'model = "m"\noptim = "paged_adamw"\n')
    assert asked_in(LocalHost(), path, {}).plan.optimizer == "paged_adamw_32bit"


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("plan.json", "{}", "no plan by its name"),
        ("plan.toml", "rank = 0", "line 1: 0 is no whole number"),
        ("plan.toml", 'method = "full"\ndtype = "float16"\n', "float16 cannot be trained in full"),
        ("train.py", "def (", "plan"),
        ("train.py", "x = 1", "no model is trained"),
        ("train.ipynb", "{", ""),
    ],
)
def test_what_states_no_plan_is_refused_with_a_hint(
    tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    with pytest.raises(PlanUnread) as refused:
        asked_in(LocalHost(), file(tmp_path, name, text), {})
    assert complaint in str(refused.value) and name in str(refused.value) and refused.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlanUnread, match="cannot be read"):
        asked_in(LocalHost(), str(tmp_path / "none.toml"), {})
    with pytest.raises(PlanUnread, match="cannot be read"):
        (tmp_path / "folder.py").mkdir()
        asked_in(LocalHost(), str(tmp_path / "folder.py"), {})
