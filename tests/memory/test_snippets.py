"""Snippets of a plan: held against the project's own lint, and carried out in a real environment."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from doctor.facts import Facts
from doctor.host import LocalHost
from doctor.lint.run import Lint
from doctor.memory.plan import OPTIMIZERS, Plan
from doctor.memory.settling import settled
from doctor.memory.snippets import snippets
from doctor.stated import Stated

MODEL = "example/model"
# Sets that stood together on PyPI in their time.
SETS: Mapping[str, Mapping[str, str]] = {
    "2026-11": {"torch": "2.13.0", "transformers": "5.24.0", "peft": "0.21.2", "trl": "1.16.0"},
    "2025-10": {"torch": "2.8.0", "transformers": "4.57.1", "peft": "0.17.1", "trl": "0.24.0"},
    "2025-01": {"torch": "2.5.1", "transformers": "4.48.0", "peft": "0.14.0", "trl": "0.13.0"},
    "2024-08": {"torch": "2.4.0", "transformers": "4.44.2", "peft": "0.12.0", "trl": "0.9.6"},
    "2024-02": {"torch": "2.2.0", "transformers": "4.38.1", "peft": "0.8.2", "trl": "0.7.11"},
}
PLANS: Mapping[str, Plan] = {
    "qlora in SFTTrainer": Plan(loop="sft", expandable_segments=True),
    "qlora in SFTTrainer, cast": Plan(loop="sft", kbit_upcast=True),
    "qlora in SFTTrainer, not cast": Plan(loop="sft", kbit_upcast=False, gradient_checkpointing=False),
    "lora in Trainer, loss in tiles": Plan(
        method="lora", fused_loss=True, target_modules=("q_proj", "v_proj")
    ),
    "qlora in Trainer": Plan(modules_to_save=("lm_head",)),
    "all weights in Trainer": Plan(method="full", optimizer="adafactor"),
    "all weights in SFTTrainer, whole logits": Plan(method="full", loop="sft", fused_loss=False),
    "lora in a loop of one's own": Plan(method="lora", loop="bare", optimizer="paged_adamw_8bit"),
    "an adapter as configured": Plan(loop="sft", adapter={"peft_type": "LOHA"}),
}
HOST = LocalHost()


def texts(plan: str, versions: Mapping[str, str]) -> Mapping[str, str]:
    return snippets(MODEL, settled(PLANS[plan], versions), versions)


@pytest.mark.parametrize("when", SETS)
@pytest.mark.parametrize("plan", PLANS)
def test_lint_finds_nothing_in_a_script_for_these_versions(plan: str, when: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(texts(plan, SETS[when])["Python"], encoding="utf-8")
    pins = {**SETS[when], "accelerate": "", "bitsandbytes": "", "datasets": ""}
    lock = tmp_path / "requirements.txt"
    lock.write_text(
        "".join(f"{name}=={version}\n" if version else f"{name}\n" for name, version in pins.items())
    )
    machine = Stated(python="3.11", os="linux", arch="x86_64").facts()
    [report] = Lint(HOST, machine, against=str(lock)).reports([str(tmp_path / "train.py")])
    about_script = [finding for finding in report.findings if finding.id.startswith("script/")]
    assert [(finding.id, finding.title) for finding in about_script] == []
    assert isinstance(report.facts, Facts) and report.facts.script is not None


def test_names_that_moved_are_those_of_their_time() -> None:
    new, old = (texts("qlora in SFTTrainer", SETS[when])["Python"] for when in ("2026-11", "2024-08"))
    assert "max_length=2048" in new and "max_seq_length=2048" in old
    assert "processing_class=tokenizer" in new and "    tokenizer=tokenizer" in old
    assert " dtype=torch.bfloat16" in new and "torch_dtype=torch.bfloat16" in old
    assert "activation_checkpointing=True" in new and "gradient_checkpointing=True" in old
    assert "warmup_steps=0.03" in new and "warmup_ratio=0.03" in old
    assert "PYTORCH_ALLOC_CONF" in new and "PYTORCH_CUDA_ALLOC_CONF" in old


def test_the_setting_of_the_allocator_stands_before_torch_is_imported() -> None:
    text = texts("qlora in SFTTrainer", SETS["2026-11"])["Python"]
    assert text.index("ALLOC_CONF") < text.index("import torch")


def test_the_cast_is_asked_for_where_the_trainer_does_not_do_it_itself() -> None:
    new = texts("qlora in SFTTrainer, cast", SETS["2026-11"])["Python"]
    assert "prepare_model_for_kbit_training(model)" in new


def test_a_trainer_that_casts_is_kept_from_it() -> None:
    plan = Plan(loop="sft", kbit_upcast=False, dtype="float16")
    versions = SETS["2024-08"]  # TRL 0.9.6 casts in half precision
    text = snippets(MODEL, settled(plan, versions), versions)["Python"]
    assert "get_peft_model(model, adapter)" in text and "peft_config" not in text
    assert "prepare_model_for_kbit_training" not in text


def test_under_fp16_the_adapter_is_cast_back_before_it_trains() -> None:
    versions = SETS["2026-11"]
    half = snippets(MODEL, settled(Plan(loop="sft", dtype="float16"), versions), versions)["Python"]
    assert half.index("SFTTrainer(") < half.index("parameter.data.float()") < half.index("trainer.train()")
    ast.parse(half)
    assert "parameter.data" not in texts("qlora in SFTTrainer", versions)["Python"]


def test_float32_is_kept_from_the_mixed_precision_that_sftconfig_takes_of_itself() -> None:
    plan = settled(Plan(method="full", loop="sft", dtype="float32"), SETS["2026-11"])
    assert "bf16=False" in snippets(MODEL, plan, SETS["2026-11"])["Python"]


def test_the_loss_in_tiles_is_asked_for_where_it_is_not_the_usual() -> None:
    assert "use_liger_kernel=True" in texts("lora in Trainer, loss in tiles", SETS["2026-11"])["Python"]
    assert "liger" not in texts("qlora in SFTTrainer", SETS["2026-11"])["Python"]
    whole = texts("all weights in SFTTrainer, whole logits", SETS["2026-11"])["Python"]
    assert 'loss_type="nll"' in whole


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("loop", ["bare", "trainer", "sft"])
def test_every_optimizer_has_its_line(optimizer: str, loop: str) -> None:
    plan = settled(Plan(loop=loop, optimizer=optimizer), {})  # type: ignore[arg-type]
    text = snippets(MODEL, plan, {})["Python"]
    ast.parse(text)
    assert optimizer in text if loop != "bare" else "optimizer = " in text


def test_yaml_for_llama_factory() -> None:
    found = yaml.safe_load(texts("qlora in SFTTrainer", SETS["2026-11"])["LLaMA-Factory"])
    assert found["quantization_bit"] == 4 and found["lora_target"] == "all" and found["cutoff_len"] == 2048
    assert found["learning_rate"] == 2e-4 and found["model_name_or_path"] == MODEL


def test_dora_is_asked_for() -> None:
    found = snippets(MODEL, settled(Plan(dora=True), {}), {})
    assert "use_dora=True" in found["Python"] and yaml.safe_load(found["LLaMA-Factory"])["use_dora"] is True


def test_an_adapter_that_llama_factory_has_not_is_no_yaml() -> None:
    assert "LLaMA-Factory" not in texts("an adapter as configured", SETS["2026-11"])


def test_a_name_with_quotes_stays_a_string() -> None:
    text = snippets('a"b\\c', settled(Plan(), {}), {})["Python"]
    [name] = [
        node.value.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "name"  # type: ignore[attr-defined]
    ]
    assert name == 'a"b\\c'


VERSIONS = """
import importlib.metadata, json
found = importlib.metadata.distributions()
print(json.dumps({one.metadata["Name"].lower(): one.version for one in found}))
"""
# Runs the assignments of a snippet that make configs, for a CPU without bf16, and no other line.
CONFIGS = """
import ast, sys, torch
tree = ast.parse(sys.stdin.read())
def wanted(node):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    made = ("adapter", "arguments", "quantization")
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in made
tree.body = [node for node in tree.body if wanted(node)]
for node in ast.walk(tree):
    if isinstance(node, ast.Call):
        node.keywords = [one for one in node.keywords if one.arg not in ("bf16", "fp16")]
        if ast.unparse(node.func) in ("SFTConfig", "TrainingArguments"):
            node.keywords.append(ast.keyword("bf16", ast.Constant(False)))
ast.fix_missing_locations(tree)
names = {}
exec(compile(tree, "snippet", "exec"), names)
arguments = names.get("arguments")
optimizer = getattr(arguments, "optim", "")
print(type(arguments).__name__, getattr(optimizer, "value", optimizer), "adapter" in names)
"""


@pytest.mark.environments
@pytest.mark.parametrize(
    "plan", ["qlora in SFTTrainer", "lora in Trainer, loss in tiles", "all weights in Trainer"]
)
def test_the_configs_of_a_script_are_made_in_a_real_environment(
    plan: str, base_python: str, tmp_path: Path
) -> None:
    asked = subprocess.run(
        [base_python, "-c", VERSIONS], capture_output=True, text=True, check=True, timeout=60
    )
    versions = json.loads(asked.stdout)
    done = subprocess.run(
        [base_python, "-c", CONFIGS],
        input=snippets(MODEL, settled(PLANS[plan], versions), versions)["Python"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "is deprecated" not in done.stderr
    if PLANS[plan].loop != "bare":
        assert PLANS[plan].optimizer in done.stdout
