"""``lora-doctor fit`` as users and programs meet it, by the tier that needs no torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from collectors.throwaway import Environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
LLAMA_2_7B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
FORMULA = ("--estimator", "formula")
T4 = ("--gpu", "T4")


class Folder:
    """A folder with a model in it, in which the command runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("model/config.json", json.dumps(LLAMA_2_7B))

    def write(self, name: str, text: str) -> str:
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text, encoding="utf-8")
        return name

    def fit(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        hidden = ("VIRTUAL_ENV", "CONDA_PREFIX", "COLUMNS", "NO_COLOR")
        env = {name: value for name, value in os.environ.items() if name not in hidden}
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "fit", *arguments],
            cwd=self.path,
            env={**env, "HOME": str(self.path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def fitted(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        told = self.fit("model", *FORMULA, *arguments, "--format", "json", code=code).stdout
        found = json.loads(told)
        assert isinstance(found, dict)
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_json_as_promised(folder: Folder) -> None:
    found = folder.fitted("--method", "lora", "--rank", "8", "--gpu", "RTX 4090")
    assert found["schema"] == 1
    assert found["peak_bytes"] >= found["peak_reserved_bytes"] >= found["peak_allocated_bytes"]
    assert sum(found["parts"].values()) == found["peak_bytes"]
    assert found["total_parameters"] == 6_738_415_616  # what the card of the model says
    assert found["trainable_parameters"] == 19_988_480  # rank 8 on seven matrices: 8 * 32 * 78080
    assert found["device_bytes"] == 24 << 30
    assert found["fits"] is (found["verdict"] == "fits")
    assert found["tier"] == "formula" and found["error"] > 0


def test_what_does_not_fit_is_an_error_and_advice_follows(folder: Folder) -> None:
    found = folder.fitted("--method", "full", *T4, code=1)
    assert found["fits"] is False and found["verdict"] == "does-not-fit"
    by_name = {one["name"]: one for one in found["advice"]}
    assert by_name["adapter"]["saves_bytes"] > 10 << 30


def test_a_tight_fit_is_an_error_only_where_that_is_asked(folder: Folder) -> None:
    peak = folder.fitted("--method", "qlora", "--compute-capability", "8.6")["peak_bytes"]
    tight = (
        "--method",
        "qlora",
        "--compute-capability",
        "8.6",
        "--gpu-memory",
        f"{(peak / 2**20 + 154) / 0.99:.0f}MiB",
    )
    assert folder.fitted(*tight)["verdict"] == "tight"
    assert folder.fitted(*tight, "--strict", code=1)["verdict"] == "tight"


def test_without_a_device_nothing_is_claimed(folder: Folder) -> None:
    found = folder.fitted("--method", "qlora", "--compute-capability", "8.0")
    assert found["fits"] is None and found["device_bytes"] is None
    assert found["tiers"]["80 GB"] == "fits"


def test_a_model_and_a_gpu_alone_ask_for_the_best_plan(folder: Folder) -> None:
    found = folder.fitted("--gpu", "RTX 3060", "--gpu-memory", "12GiB")
    assert found["searched"] is True and found["fits"] is True
    assert found["plan"]["method"] == "qlora" and found["plan"]["sequence_length"] >= 2048
    assert "TrainingArguments" in found["snippets"]["Python"] or "SFTConfig" in found["snippets"]["Python"]
    assert "quantization_bit: 4" in found["snippets"]["LLaMA-Factory"]


def test_what_is_asked_for_stays_in_the_best_plan(folder: Folder) -> None:
    found = folder.fitted("--best", "--rank", "64", "--gpu", "RTX 4090")
    assert found["best"]["plan"]["rank"] == 64 and found["plan"]["rank"] == 64


def test_a_table(folder: Folder) -> None:
    cells = folder.fitted("--table", "--method", "qlora", "--gpu", "RTX 4090")["table"]
    assert len(cells) == 12
    peaks = {(cell["sequence_length"], cell["batch_size"]): cell["peak_bytes"] for cell in cells}
    assert peaks[512, 1] < peaks[2048, 1] < peaks[4096, 4]


def test_options_take_the_place_of_a_plan_file(folder: Folder) -> None:
    folder.write("plan.toml", 'method = "lora"\nrank = 32\nsequence_length = 1024\n')
    found = folder.fitted("--plan", "plan.toml", "--rank", "4")
    assert (found["plan"]["method"], found["plan"]["rank"]) == ("lora", 4)
    assert found["plan"]["sequence_length"] == 1024


def test_an_adapter_config_as_it_is(folder: Folder) -> None:
    adapter = {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}
    folder.write("adapter/adapter_config.json", json.dumps(adapter))
    found = folder.fitted("--adapter-config", "adapter", "--method", "lora")
    assert found["trainable_parameters"] == 4_194_304  # 8 * 32 * 2 * (4096 + 4096)


def test_words_for_a_terminal_and_a_picture(folder: Folder) -> None:
    done = folder.fit("model", *FORMULA, "--method", "qlora", *T4, "--image", "parts.svg")
    assert "weights" in done.stdout and "16" in done.stdout
    ElementTree.fromstring((folder.path / "parts.svg").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("form", "sign"), [("markdown", "| part | size |"), ("html", "<svg"), ("jsonl", '{"schema"')]
)
def test_other_formats_and_a_file(folder: Folder, form: str, sign: str) -> None:
    done = folder.fit("model", *FORMULA, "--method", "qlora", "--format", form, "-o", "answer")
    assert done.stdout == ""
    assert sign in (folder.path / "answer").read_text(encoding="utf-8")


def test_a_target_without_torch_is_answered_by_formula_and_says_so(folder: Folder) -> None:
    Environment(folder.path / ".venv")
    found = json.loads(folder.fit("model", "--method", "lora", "--format", "json").stdout)
    assert found["tier"] == "formula"
    assert any("no torch" in note for note in found["notes"])


def test_a_trace_that_cannot_be_is_no_answer(folder: Folder) -> None:
    Environment(folder.path / ".venv")
    done = folder.fit("model", "--method", "lora", "--estimator", "trace", code=3)
    assert "no torch" in done.stderr


BAD = {
    "no model": ((), "no MODEL"),
    "not there": (("nowhere/at-all-7b",), "nowhere/at-all-7b"),
    "no number": (("model", "--rank", "many"), "whole number"),
    "nothing of a number": (("model", "--batch-size", "0"), "batch size 0"),
    "negative": (("model", "--sequence-length", "-5"), "sequence length -5"),
    "no share": (("model", "--lora-dropout", "nan"), "lora dropout"),
    "no such method": (("model", "--method", "prefix"), "prefix"),
    "no such optimizer": (("model", "--optimizer", "adamw_9bit"), "adamw_8bit"),
    "no such gpu": (("model", "--gpu", "Voodoo 2"), "Voodoo 2"),
    "no size": (("model", "--gpu-memory", "much"), "much"),
    "no plan": (("model", "--plan", "absent.toml"), "absent.toml"),
    "no adapter": (("model", "--adapter-config", "absent.json"), "absent.json"),
    "no targets": (("model", "--target-modules", " , "), "names nothing"),
    "a lying config": (("lying",), "hidden_size"),
    "no json": (("torn",), "torn"),
    "targets of another model": (("model", "--target-modules", "c_attn"), "It has q_proj, k_proj"),
    "two models": (("model", "--parameters", "7B"), "both a MODEL and --parameters"),
    "no picture": (("model", "--image", "parts.png"), ".svg"),
    "an adapter without a bottom": (("model", "--adapter-config", "deep.json"), "deep.json"),
    "a pattern without an end": (("model", "--adapter-config", "endless.json"), "forever"),
}


def test_parameters_take_the_place_of_the_model_of_a_plan(folder: Folder) -> None:
    plan = folder.write("plan.toml", 'model = "llama-2-13b"\nmethod = "lora"\n')
    asked = ("--plan", plan, "--parameters", "1B", *FORMULA, "--format", "json")
    assert json.loads(folder.fit(*asked).stdout)["total_parameters"] < 2e9


def test_names_that_no_module_has_are_told(folder: Folder) -> None:
    named = ("--target-modules", "q_proj,no_such", "--modules-to-save", "lm_head,nor_such")
    notes = " ".join(folder.fitted("--method", "lora", *named)["notes"])
    assert "no module called no_such." in notes and "no module called nor_such." in notes
    assert "called q_proj" not in notes and "called lm_head" not in notes


def test_a_picture_that_cannot_be_written_costs_no_answer(folder: Folder) -> None:
    done = folder.fit("model", *FORMULA, "--method", "lora", "--image", "absent/parts.svg", code=2)
    assert "peak" in done.stdout and "absent/parts.svg cannot be written" in done.stderr


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_in_two_lines(folder: Folder, name: str) -> None:
    folder.write("lying/config.json", json.dumps({**LLAMA_2_7B, "hidden_size": -4096}))
    folder.write("torn/config.json", json.dumps(LLAMA_2_7B)[:50])
    folder.write("deep.json", "[" * 100_000)
    folder.write("endless.json", json.dumps({"peft_type": "LORA", "r": 8, "target_modules": "(.*.*.*.*)*x"}))
    arguments, words = BAD[name]
    done = folder.fit(*arguments, *FORMULA, code=2)
    assert words in " ".join(done.stderr.split()) and done.stdout == ""


def test_names_of_this_machine_are_masked(folder: Folder) -> None:
    found = json.loads(
        folder.fit(str(folder.path / "model"), *FORMULA, "--method", "lora", "--format", "json").stdout
    )
    assert str(folder.path) not in json.dumps(found)


@pytest.mark.environments
def test_a_target_with_the_stack_is_traced(folder: Folder, base_python: str) -> None:
    tiny = {
        **LLAMA_2_7B,
        "hidden_size": 64,
        "num_hidden_layers": 6,
        "intermediate_size": 128,
        "vocab_size": 512,
    }
    folder.write("tiny/config.json", json.dumps({**tiny, "num_attention_heads": 4, "num_key_value_heads": 4}))
    asked = ("tiny", "--python", base_python, "--method", "lora", "--rank", "2", "--format", "json")
    found = json.loads(folder.fit(*asked, "--levers", "traced", "--table").stdout)
    assert found["tier"] == "trace" and found["part_sources"]["activations"] == "traced"
    # Rank 2 on seven matrices in six layers: four of 64 by 64, three between 64 and 128.
    assert found["trainable_parameters"] == 6 * 2 * (4 * 128 + 3 * 192)
    assert {one["tier"] for one in found["advice"]} == {"trace"} and len(found["table"]) == 12


@pytest.mark.environments
def test_targets_that_match_nothing_are_bad_input(folder: Folder, base_python: str) -> None:
    asked = ("model", "--python", base_python, "--method", "lora", "--target-modules", "no_such_layer")
    assert "no_such_layer" in folder.fit(*asked, "--estimator", "formula", code=2).stderr
