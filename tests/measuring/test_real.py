"""Real measurements of tiny models on the CPU, beside counts made by torch in a plain script of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.host import LocalHost
from doctor.measuring.run import measure
from doctor.memory.estimate import Device
from doctor.memory.measured import Measurement
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.target import Target

pytestmark = pytest.mark.environments

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "max_position_embeddings": 256,
}
CONFIGS = {
    "llama": {"model_type": "llama", "tie_word_embeddings": False, **SIZES},
    "qwen2": {"model_type": "qwen2", "tie_word_embeddings": True, **SIZES},
}
CPU = Device(name="the CPU", kind="cpu")
BATCH, LENGTH = 2, 64

# What a user's script would do, with torch's own hooks and sizes; nothing of the doctor's is in it.
SCRIPT = """
import json, sys, torch
from transformers import AutoConfig, AutoModelForCausalLM

asked = json.loads(sys.argv[1])
torch.manual_seed(0)
config = AutoConfig.for_model(**asked["config"])
config.use_cache = False
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
if asked["method"] == "qlora":
    from transformers import BitsAndBytesConfig
    model.save_pretrained(asked["folder"])
    four = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                              bnb_4bit_compute_dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained(asked["folder"], quantization_config=four,
                                                 device_map={"": "cpu"}, dtype=torch.bfloat16)
sizes = {}
def count(tensor):
    sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
for tensor in list(model.parameters()) + list(model.buffers()):
    count(tensor)
    state = getattr(tensor, "quant_state", None)
    while state is not None:
        for value in (state.absmax, state.code, getattr(state, "offset", None)):
            if value is not None:
                count(value)
        state = state.state2
weights = sum(sizes.values())
adapter = 0
if asked["method"] != "full":
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules="all-linear",
                                             task_type="CAUSAL_LM"))
    adapter = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
model.train()
known = {tensor.untyped_storage().data_ptr() for tensor in list(model.parameters()) + list(model.buffers())}
kept = {}
def pack(tensor):
    storage = tensor.untyped_storage()
    if storage.data_ptr() not in known:
        kept[storage.data_ptr()] = tensor
    return tensor
ids = torch.randint(0, config.vocab_size, (asked["batch"], asked["length"]))
with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
    out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)
print(json.dumps({"weights": weights, "adapter": adapter,
                  "saved": sum(tensor.untyped_storage().nbytes() for tensor in kept.values()),
                  "trained": sum(p.numel() for p in model.parameters() if p.requires_grad)}))
"""


def shape_of(kind: str) -> ModelShape:
    config = CONFIGS[kind]
    return ModelShape(
        name=kind,
        config=config,
        source="config",
        model_type=kind,
        layers=2,
        hidden=64,
        heads=4,
        kv_heads=2,
        head_dim=16,
        intermediate=160,
        vocab=512,
    )


def plan_of(**how: Any) -> Plan:
    usual = {
        "rank": 4,
        "lora_dropout": 0.0,
        "batch_size": BATCH,
        "sequence_length": LENGTH,
        "gradient_checkpointing": False,
        "loop": "bare",
        "kbit_upcast": False,
        "fused_loss": False,
    }
    return Plan(**{**usual, **how})


@pytest.fixture(scope="module")
def host() -> Iterator[LocalHost]:
    host = LocalHost()
    host.env = {**host.env, "OMP_NUM_THREADS": "1"}
    yield host
    host.close()


def measured(host: LocalHost, python: str, kind: str, plan: Plan, **how: Any) -> Measurement:
    return measure(host, Target(python, "a test"), shape_of(kind), plan, CPU, **how)


def counted(python: str, kind: str, method: str, folder: Path) -> dict[str, int]:
    asked = {
        "config": CONFIGS[kind],
        "method": method,
        "batch": BATCH,
        "length": LENGTH,
        "folder": str(folder),
    }
    done = subprocess.run(
        [python, "-", json.dumps(asked)],
        input=SCRIPT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("method", ["lora", "full", "qlora"])
def test_sizes_are_those_that_torch_counts(
    host: LocalHost, base_python: str, tmp_path: Path, kind: str, method: Any
) -> None:
    told: list[str] = []
    plan = plan_of(method=method)
    seen = measured(host, base_python, kind, plan, on_phase=lambda name, step: told.append(f"{name} {step}"))
    assert (seen.outcome, seen.reason) == ("ok", "")
    wanted = counted(base_python, kind, method, tmp_path)
    assert seen.weights_bytes == wanted["weights"]
    assert seen.adapter_bytes == wanted["adapter"]
    assert seen.trainable_parameters == wanted["trained"]
    assert seen.phases["forward"].saved_bytes == wanted["saved"]
    assert told == [
        "load 0",
        *(f"{name} {step}" for step in (1, 2) for name in ("forward", "backward", "optimizer")),
    ]


def test_the_states_of_adamw_are_two_numbers_a_weight_and_a_step_each(
    host: LocalHost, base_python: str
) -> None:
    seen = measured(host, base_python, "llama", plan_of(method="lora"))
    adapted = 2 * 7 * 2  # layers, projections, halves of an adapter
    assert seen.optimizer_bytes == 2 * seen.adapter_bytes + 4 * adapted
    load = seen.phases["load"]
    assert load.allocated_bytes >= load.alive_bytes >= seen.weights_bytes + seen.adapter_bytes
    later = seen.phases["optimizer"].alive_bytes
    assert later >= seen.weights_bytes + seen.adapter_bytes + seen.optimizer_bytes


def test_checkpointing_holds_less_through_the_forward(host: LocalHost, base_python: str) -> None:
    whole = measured(host, base_python, "llama", plan_of(method="lora"))
    checkpointed = measured(host, base_python, "llama", plan_of(method="lora", gradient_checkpointing=True))
    assert checkpointed.phases["forward"].alive_bytes < whole.phases["forward"].alive_bytes
    assert checkpointed.weights_bytes == whole.weights_bytes


@pytest.mark.parametrize("loop", ["trainer", "sft"])
def test_the_real_trainers_run_two_steps(host: LocalHost, base_python: str, loop: Any) -> None:
    plan = plan_of(
        method="qlora", loop=loop, kbit_upcast=True, optimizer="adamw_torch", gradient_checkpointing=True
    )
    told: list[str] = []
    seen = measured(
        host, base_python, "qwen2", plan, on_phase=lambda name, step: told.append(f"{name} {step}")
    )
    assert (seen.outcome, seen.reason) == ("ok", "")
    assert told[-6:] == [f"{name} {step}" for step in (1, 2) for name in ("forward", "backward", "optimizer")]
    assert seen.random == ("weights", "tokens") and {"torch", "transformers", "peft"} <= set(seen.versions)


def test_more_than_the_limit_is_out_of_memory(host: LocalHost, base_python: str) -> None:
    fits = measured(host, base_python, "llama", plan_of(method="lora"))
    assert fits.context_bytes is not None
    plan = plan_of(method="lora", batch_size=64, sequence_length=1024, attention="eager")
    seen = measured(host, base_python, "llama", plan, limit_bytes=fits.context_bytes + (300 << 20))
    assert (seen.outcome, seen.died_in, seen.step) == ("out-of-memory", "forward", 1)
    assert "load" in seen.phases and seen.reason


def test_a_class_that_is_not_installed_is_a_failure_in_its_own_words(
    host: LocalHost, base_python: str
) -> None:
    import msgspec

    shape = msgspec.structs.replace(shape_of("llama"), model_type="llama9", config={"model_type": "llama9"})
    seen = measure(host, Target(base_python, "a test"), shape, plan_of(method="lora"), CPU)
    assert seen.outcome == "failed" and "llama9" in seen.reason
