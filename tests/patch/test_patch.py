"""The certain part of a script's cure: what is changed, what is left alone, and that nothing breaks."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_scripts import EARLY_2024, LORA_TODAY, QLORA_2024, TODAY, of_script

from doctor.diagnosis import judge
from doctor.patch import patch_of, patched
from doctor.rules import code_rules

RULES = tuple(rule for rule in code_rules() if "script" in rule.needs and "gpus" not in rule.needs)
HEAD = (
    "from transformers import TrainingArguments, BitsAndBytesConfig\nfrom trl import SFTConfig, SFTTrainer\n"
)


def cured(text: str, versions: dict[str, str] = TODAY) -> str:
    return patched(text, of_script(text, versions))


def titles(text: str, versions: dict[str, str] = TODAY) -> list[str]:
    return [one.title for one in judge(of_script(text, versions), RULES)[0]]


def test_the_qlora_script_of_early_2024_is_cured_for_today() -> None:
    text = cured(QLORA_2024)
    assert titles(text) == []
    assert "from trl import SFTConfig\nfrom trl import SFTTrainer\n" in text
    assert 'training_args = SFTConfig(\n    output_dir="./results",' in text
    assert "    max_length=512,\n" in text and '    eval_strategy="no",\n' in text
    assert '    attn_implementation="flash_attention_2",\n' in text
    assert "    processing_class=tokenizer,\n    args=training_args,\n)" in text
    # What SFTConfig would set otherwise is said, save what the script says itself.
    assert "logging_steps=500" in text and "5e-05" not in text


def test_what_is_not_touched_stays_as_it_is() -> None:
    before, after = QLORA_2024.splitlines(), cured(QLORA_2024).splitlines()
    assert set(before[9:24]) - {"from trl import SFTTrainer"} <= set(after)


def test_a_script_that_is_well_is_left_alone() -> None:
    assert cured(LORA_TODAY) == LORA_TODAY
    assert cured(QLORA_2024, EARLY_2024) == QLORA_2024
    assert patch_of(LORA_TODAY, "train.py", of_script(LORA_TODAY)) == ""


CHANGES = {
    "a keyword": ("SFTTrainer('m', tokenizer=t)", "SFTTrainer('m', processing_class=t)"),
    "a key": (
        "kw = {'tokenizer': t}\nSFTTrainer('m', **kw)",
        "kw = {'processing_class': t}\nSFTTrainer('m', **kw)",
    ),
    "an entry": (
        "kw = {}\nkw['tokenizer'] = t\nSFTTrainer('m', **kw)",
        "kw = {}\nkw['processing_class'] = t\nSFTTrainer('m', **kw)",
    ),
    "a move to a call inline": (
        "SFTTrainer('m', args=SFTConfig('o'), packing=True)",
        "SFTTrainer('m', args=SFTConfig('o', packing=True))",
    ),
    "a move of two": (
        "a = SFTConfig()\nSFTTrainer('m', packing=True, max_seq_length=9, args=a)",
        "a = SFTConfig(packing=True, max_length=9)\nSFTTrainer('m', args=a)",
    ),
    "a move of the last two": (
        "a = SFTConfig('o')\nSFTTrainer('m', a, packing=True, max_seq_length=9)",
        "a = SFTConfig('o', packing=True, max_length=9)\nSFTTrainer('m', a)",
    ),
    "letters beyond ASCII": (
        "é = 'é'; SFTTrainer('é', tokenizer=é)",
        "é = 'é'; SFTTrainer('é', processing_class=é)",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_certain_change(name: str) -> None:
    before, after = CHANGES[name]
    assert cured(HEAD + before) == HEAD + after


UNCERTAIN = {
    "a value that is not there yet": "a = SFTConfig('o')\nn = 9\nSFTTrainer('m', a, max_seq_length=n)",
    "a value that is computed": "a = SFTConfig('o')\nSFTTrainer('m', a, max_seq_length=f())",
    "another configuration": "SFTTrainer('m', load(), packing=True)",
    "two configurations": "a = SFTConfig('o') if x else SFTConfig('p')\nSFTTrainer('m', a, packing=True)",
    "one that has it already": "a = SFTConfig('o', packing=False)\nSFTTrainer('m', a, packing=True)",
    "one in another function": "a = SFTConfig('o')\ndef f():\n    SFTTrainer('m', a, packing=True)",
    "a test of the version": "import trl\nif trl.__version__ < '0.12':\n    SFTTrainer('m', tokenizer=t)",
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_not_certain_is_left_alone(name: str) -> None:
    assert cured(HEAD + UNCERTAIN[name]) == HEAD + UNCERTAIN[name]


def test_an_import_that_was_renamed_keeps_its_name_in_the_script() -> None:
    versions = {**TODAY, "trl": "0.13.0", "transformers": "4.46.3"}
    text = "from trl import PPOv2Trainer, SFTTrainer\nPPOv2Trainer(m)\n"
    assert (
        cured(text, versions) == "from trl import PPOTrainer as PPOv2Trainer, SFTTrainer\nPPOv2Trainer(m)\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from trl import ORPOConfig\n", "from trl.experimental.orpo import ORPOConfig\n"),
        (
            "from trl import ORPOConfig as C, SFTTrainer\n",
            "from trl.experimental.orpo import ORPOConfig as C\nfrom trl import SFTTrainer\n",
        ),
        (
            "def f():\n    from trl import (\n        SFTTrainer,\n        ORPOConfig,\n    )\n",
            "def f():\n    from trl.experimental.orpo import ORPOConfig\n"
            "    from trl import (\n        SFTTrainer,\n    )\n",
        ),
    ],
)
def test_an_import_that_moved(before: str, after: str) -> None:
    assert cured(before) == after
    assert titles(after) == []


@pytest.mark.parametrize("name", ["setup_chat_format", "DataCollatorForCompletionOnlyLM"])
def test_an_import_that_has_no_equal_is_left_alone(name: str) -> None:
    assert cured(f"from trl import {name}\n") == f"from trl import {name}\n"


def test_the_patch_is_unified_and_names_the_file() -> None:
    text = HEAD + "SFTTrainer('m', tokenizer=t)"
    assert patch_of(text, "train.py", of_script(text)).splitlines() == [
        "--- a/train.py",
        "+++ b/train.py",
        "@@ -1,3 +1,3 @@",
        *(" " + line for line in HEAD.splitlines()),
        "-SFTTrainer('m', tokenizer=t)",
        "\\ No newline at end of file",
        "+SFTTrainer('m', processing_class=t)",
        "\\ No newline at end of file",
    ]


def test_the_patch_of_a_notebook_is_of_its_code_cells() -> None:
    cells = ["!pip install trl", HEAD, "SFTTrainer('m', tokenizer=t)"]
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})
    patch = patch_of(text, "/a/nb.ipynb", of_script(text, name="/a/nb.ipynb"))
    assert patch.startswith("--- a/a/nb.ipynb (code cells)\n")
    assert "+SFTTrainer('m', processing_class=t)\n" in patch


def test_a_recipe_has_no_patch() -> None:
    assert patch_of("bf16: true", "r.yaml", of_script("x = 1")) == ""


ARGUMENTS = st.lists(
    st.sampled_from(
        [
            "tokenizer=t",
            "packing=True",
            "max_seq_length=512",
            "dataset_text_field='text'",
            "train_dataset=d",
            "model='m'",
        ]
    ),
    unique=True,
    max_size=6,
)
LAYOUT = st.sampled_from(["SFTTrainer({})", "SFTTrainer(\n    {},\n)", "SFTTrainer( {} )"])
CONFIG = st.sampled_from(
    ["SFTConfig('o')", "SFTConfig(\n    'o',\n)", "TrainingArguments('o')", "SFTConfig()"]
)


@settings(deadline=None)
@given(ARGUMENTS, LAYOUT, CONFIG, st.booleans())
def test_a_cured_script_parses_and_is_well(given: list[str], layout: str, config: str, split: bool) -> None:
    joint = ",\n    " if split and "\n" in layout else ", "
    text = HEAD + f"t = d = None\nargs = {config}\n" + layout.format(joint.join(["args=args", *given])) + "\n"
    new = cured(text)
    ast.parse(new)
    assert titles(new) == []
    assert cured(new) == new
