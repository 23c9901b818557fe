"""What a person reads once a plan was carried out."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.render.outcome_terminal import render
from doctor.treatment.outcome import Outcome

UNDO, AGAIN = (
    "lora-doctor fix --python /env/bin/python --undo\n",
    "lora-doctor fix --python /env/bin/python\n",
)


@pytest.mark.parametrize(
    ("outcome", "words", "commands"),
    [
        ({"state": "cured", "cured": ("a/b",), "past": "1"}, "Cured:", (UNDO,)),
        (
            {"state": "improved", "cured": ("a/b",), "new": ("c/d",), "past": "1"},
            "not yet well",
            (AGAIN, UNDO),
        ),
        ({"state": "restored", "failed": "Install peft 9"}, "as it was", ()),
    ],
)
def test_each_state_names_the_commands_that_go_on_and_back(
    outcome: dict[str, Any], words: str, commands: tuple[str, ...]
) -> None:
    told = render(Outcome(**outcome), "/env/bin/python")
    assert words in told
    assert [command for command in (AGAIN, UNDO) if command in told] == list(commands)


def test_what_changed_is_told_by_package() -> None:
    outcome = Outcome(
        state="cured", before=("peft==0.17.1", "flash-attn==2.8.3"), after=("peft==0.18.0", "scipy==1.17.1")
    )
    told = render(outcome, "/env/bin/python")
    assert "flash-attn 2.8.3 -> none, peft 0.17.1 -> 0.18.0, scipy none -> 1.17.1" in told
