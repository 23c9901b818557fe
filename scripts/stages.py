"""Tries the stages of a fine-tune in the interpreter that runs it; prints one JSON object of outcomes.

    python -I scripts/stages.py [STAGE ...]

An outcome is "ok" or the error: what surfaced, then what it hid ("RuntimeError: ... <- ImportError: ...").
Standard library and Python 3.8 grammar; it needs os.fork. The stages run one after the other in one process,
imports in the order in which scripts have them. The order matters: trl mends other packages where it is
imported first. A stage that fails does not end the process; one that dies does, and a fresh one takes up the
rest. A stage whose packages are not installed is left out.
"""

import contextlib
import faulthandler
import importlib.util
import inspect
import json
import os
import shutil
import signal
import sys
import tempfile
import warnings

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "WANDB_DISABLED": "true",
    "TRANSFORMERS_VERBOSITY": "error",
}
LORA = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}
STAGE_LIMIT_S = 240  # a stage that takes longer hangs: SIGALRM ends its process
FOLDER = tempfile.mkdtemp()


def import_torch():
    """What everything stands on."""
    import torch

    torch.nn.Linear(1, 1)


def import_transformers():
    """What a LoRA script takes from transformers, which loads a module only when something of it is taken."""
    from transformers import (  # noqa: F401
        AutoModelForCausalLM,
        BitsAndBytesConfig,
        LlamaConfig,
        LlamaForCausalLM,
        Trainer,
        TrainingArguments,
    )


def import_accelerate():
    """What Trainer takes from accelerate."""
    from accelerate import Accelerator  # noqa: F401


def import_peft():
    """What a LoRA script takes from peft."""
    from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training  # noqa: F401


def import_bitsandbytes():
    """The 4-bit layer."""
    import bitsandbytes

    bitsandbytes.nn.Linear4bit  # noqa: B018


def import_trl():
    """What a LoRA script takes from trl; SFTConfig came with 0.9."""
    from trl import SFTTrainer  # noqa: F401

    if importlib.util.find_spec("trl.trainer.sft_config"):
        from trl import SFTConfig  # noqa: F401


def tiny_model():
    """A Llama of two layers."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=128,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )
    return LlamaForCausalLM(config)


def backward(model):
    """One forward and backward pass; an adapter that gets no gradient is a failure."""
    import torch

    ids = torch.randint(0, 128, (2, 16))
    model(input_ids=ids, labels=ids).loss.backward()
    halves = [weight.grad for name, weight in model.named_parameters() if "lora_B" in name]
    if not halves or any(grad is None or not grad.abs().sum() > 0 for grad in halves):
        raise AssertionError("an adapter gets no gradient")


def lora_step():
    """One pass of plain LoRA, and the adapter saved."""
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(tiny_model(), LoraConfig(**LORA))
    backward(model)
    model.save_pretrained(os.path.join(FOLDER, "adapter"))


def quantised_model():
    """The tiny model loaded in 4 bits, as a QLoRA script does it."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    folder = os.path.join(FOLDER, "tiny")
    tiny_model().save_pretrained(folder)
    quantisation = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.float32,
    )
    return AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=quantisation, device_map={"": "cpu"}
    )


def qlora_step():
    """One pass of LoRA on the model in 4 bits."""
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    model = prepare_model_for_kbit_training(quantised_model())
    backward(get_peft_model(model, LoraConfig(**LORA)))


def accepted(function, wanted):
    """Those of the wanted arguments that this release knows."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in wanted.items() if name in known}


def arguments_of(kind, folder, **more):
    """Arguments of a run of one step on the CPU, under this release's names."""
    short = {"max_steps": 1, "per_device_train_batch_size": 2, "logging_steps": 1, "save_strategy": "no"}
    wanted = dict(short, output_dir=os.path.join(FOLDER, folder), report_to=[], use_cpu=True, **more)
    return kind(**accepted(kind.__init__, wanted))


def token_rows():
    """Rows of tokens as a data set gives them."""
    import torch

    ids = torch.arange(16)
    row = {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)}
    return [row] * 4


def trainer_step():
    """One step of plain LoRA in transformers' Trainer."""
    from peft import LoraConfig, get_peft_model
    from transformers import Trainer, TrainingArguments

    model = get_peft_model(tiny_model(), LoraConfig(**LORA))
    Trainer(model=model, args=arguments_of(TrainingArguments, "trainer"), train_dataset=token_rows()).train()


def word_tokenizer():
    """A tokenizer of two words, made in memory."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "<unk>": 1, "<eos>": 2, "hello": 3, "world": 4}
    plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>"
    )


def sft_step():
    """One step in trl's SFTTrainer, every argument under the name that this release has for it."""
    import trl
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import TrainingArguments
    from trl import SFTTrainer

    text = {"dataset_text_field": "text", "max_seq_length": 32, "max_length": 32}
    plain = {"bf16": False, "gradient_checkpointing": False}
    arguments = arguments_of(getattr(trl, "SFTConfig", TrainingArguments), "sft", **text, **plain)
    options = {name: value for name, value in text.items() if not hasattr(arguments, name)}
    names = accepted(SFTTrainer.__init__, {"processing_class": None, "tokenizer": None})
    options.update({name: word_tokenizer() for name in list(names)[:1]})
    SFTTrainer(
        model=tiny_model(),
        args=arguments,
        train_dataset=Dataset.from_dict({"text": ["hello world " * 6] * 4}),
        peft_config=LoraConfig(**LORA),
        **accepted(SFTTrainer.__init__, options),
    ).train()


# Each stage, with the packages without which it is left out.
STAGES = {
    "import-torch": (import_torch, ("torch",)),
    "import-transformers": (import_transformers, ("transformers",)),
    "import-accelerate": (import_accelerate, ("accelerate",)),
    "import-peft": (import_peft, ("peft",)),
    "import-bitsandbytes": (import_bitsandbytes, ("bitsandbytes",)),
    "import-trl": (import_trl, ("trl",)),
    "load-4bit": (quantised_model, ("transformers", "bitsandbytes")),
    "lora-step": (lora_step, ("transformers", "peft")),
    "qlora-step": (qlora_step, ("transformers", "peft", "bitsandbytes")),
    "trainer-step": (trainer_step, ("transformers", "peft")),
    "sft-step": (sft_step, ("trl", "peft")),
}


def words_of(error):
    """The error as it surfaced, then the first cause where it is another."""
    chain = [error]
    while len(chain) < 20 and (chain[-1].__cause__ or chain[-1].__context__):
        chain.append(chain[-1].__cause__ or chain[-1].__context__)
    shown = [first_line(chain[0])]
    # A cause says nothing where it is what the code tried first; one that the surfaced text hides does.
    if "look up to see its traceback" in shown[0] or chain[0].__cause__:
        shown += [line for line in (first_line(chain[-1]),) if line not in shown]
    return " <- ".join(shown)


def first_line(error):
    """ "ImportError: cannot import name ..." """
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0].replace(sys.prefix, '<env>')[:300] if text else ''}"


def run(names, tell):
    """The stages in turn; ``tell`` hears of each when it begins and when it ends."""
    for name in names:
        tell(name, None)
        signal.alarm(STAGE_LIMIT_S)
        try:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                STAGES[name][0]()
        except BaseException as error:
            tell(name, words_of(error))
        else:
            tell(name, "ok")


def try_in_child(names):
    """Outcomes of one child: a stage that it began and never ended is the one it died in."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        run(names, lambda name, outcome: os.write(writer, (json.dumps([name, outcome]) + "\n").encode()))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        outcomes = dict(json.loads(line) for line in lines)
    status = os.waitpid(child, 0)[1]
    death = f"died of signal {status & 127}" if status & 127 else f"died with exit code {status >> 8}"
    return {name: death if outcome is None else outcome for name, outcome in outcomes.items()}


def main():
    """Run the stages that are named, or all, of what is installed."""
    os.environ.update(QUIET)
    warnings.filterwarnings("ignore")
    faulthandler.enable()
    wanted = sys.argv[1:] or list(STAGES)
    pending = [name for name in wanted if all(map(importlib.util.find_spec, STAGES[name][1]))]
    outcomes = {}
    while pending:
        outcomes.update(try_in_child(pending))
        pending = [name for name in pending if name not in outcomes]
    shutil.rmtree(FOLDER)
    print(json.dumps({name: outcomes[name] for name in wanted if name in outcomes}))


if __name__ == "__main__":
    main()
