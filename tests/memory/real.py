"""What the real libraries count: one child of an environment with torch answers a list of questions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

PROGRAM = r"""
import json, re, sys, tempfile, warnings

warnings.simplefilter("ignore")
import torch, transformers
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, BitsAndBytesConfig

transformers.logging.set_verbosity_error()


def build(config, device="meta"):
    config = dict(config)
    found = AutoConfig.for_model(config.pop("model_type"), **config)
    with torch.device(device):
        try:
            model = AutoModelForCausalLM.from_config(found, dtype=torch.bfloat16)
        except ValueError:
            model = AutoModelForImageTextToText.from_config(found, dtype=torch.bfloat16)
    model.tie_weights()
    return model


def parameters(config):
    sizes = {}
    for name, parameter in build(config).named_parameters():
        key = re.sub(r"\.\d+(?=\.)", ".*", name)
        sizes[key] = sizes.get(key, 0) + parameter.numel()
    return sizes


def trained(model):
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def adapter(config, how):
    how = LoraConfig(task_type="CAUSAL_LM", **how)
    tensors = trained(get_peft_model(build(config), how, low_cpu_mem_usage=True))
    return [sum(t.numel() for t in tensors), sum(t.numel() * t.element_size() for t in tensors)]


def optimizer(config, name, method):
    import bitsandbytes.optim as bnb
    from transformers.optimization import Adafactor

    model = build(config, "cpu")
    if method == "lora":
        saved = ["embed_tokens"]
        how = LoraConfig(r=8, target_modules="all-linear", modules_to_save=saved, task_type="CAUSAL_LM")
        model = get_peft_model(model, how)
    tensors = trained(model)
    kind = {
        "adamw_torch": lambda: torch.optim.AdamW(tensors),
        "adamw_torch_fused": lambda: torch.optim.AdamW(tensors, fused=True),
        "adamw_8bit": lambda: bnb.AdamW(tensors, optim_bits=8),
        "paged_adamw_32bit": lambda: bnb.AdamW(tensors, optim_bits=32, is_paged=True),
        "paged_adamw_8bit": lambda: bnb.AdamW(tensors, optim_bits=8, is_paged=True),
        "adafactor": lambda: Adafactor(tensors, lr=1e-3, scale_parameter=False, relative_step=False),
        "lion_32bit": lambda: bnb.Lion(tensors, optim_bits=32),
        "lion_8bit": lambda: bnb.Lion(tensors, optim_bits=8),
        "paged_lion_8bit": lambda: bnb.Lion(tensors, optim_bits=8, is_paged=True),
        "sgd": lambda: torch.optim.SGD(tensors, lr=0.1),
    }[name]()
    for tensor in tensors:
        tensor.grad = torch.zeros_like(tensor)
    kind.step()
    kept = {}
    for state in kind.state.values():
        for key, value in state.items():
            # On a GPU the step of an optimizer that is not fused stays on the CPU.
            if torch.is_tensor(value) and not (key == "step" and name == "adamw_torch"):
                kept[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
    return sum(kept.values())


def quantised(config, double_quant, upcast):
    with tempfile.TemporaryDirectory() as folder:
        build(config, "cpu").save_pretrained(folder)
        how = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=double_quant,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.bfloat16, device_map="cpu", quantization_config=how
        )
    if upcast:
        model = prepare_model_for_kbit_training(model)
    kept = {}
    for parameter in model.parameters():
        tensors = [parameter.data]
        state = getattr(parameter, "quant_state", None)
        if state is not None:
            tensors += [state.absmax, state.code]
            tensors += [state.offset, state.state2.absmax, state.state2.code] if state.nested else []
        kept.update({t.untyped_storage().data_ptr(): t.numel() * t.element_size() for t in tensors})
    return sum(kept.values())


for question, *given in json.load(sys.stdin):
    try:
        answer = globals()[question](*given)
    except Exception as error:
        answer = {"error": repr(error)}
    print("ANSWER" + json.dumps(answer), flush=True)
"""


def answers(python: str, questions: Sequence[Sequence[Any]]) -> list[Any]:
    """The answer to each question, {"error": ...} where the library refused."""
    run = subprocess.run(
        [python, "-c", PROGRAM],
        input=json.dumps([list(map(_plain, question)) for question in questions]),
        capture_output=True,
        text=True,
        timeout=900,
    )
    found = [json.loads(line[6:]) for line in run.stdout.splitlines() if line.startswith("ANSWER")]
    assert len(found) == len(questions), run.stderr[-3000:]
    return found


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
