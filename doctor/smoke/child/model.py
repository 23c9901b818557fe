"""The tiny model of the trial: made at random, saved, and loaded again as a QLoRA user loads one."""

import os
import sys

HIDDEN = 64
VOCABULARY = 512
# bitsandbytes keeps the state of an optimizer in 8 bits from 4096 elements on: HIDDEN x RANK reaches it.
RANK = 64
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LAYERS = 2


def training_device():
    """The device that training takes: "cuda:0" or "cpu"."""
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def compute_dtype():
    """bfloat16 on a GPU that has it, float16 on one that has not, float32 on the CPU."""
    import torch

    if not torch.cuda.is_available():
        return torch.float32
    return torch.bfloat16 if has_bf16(torch) else torch.float16


def tiny_model():
    """A Llama of two layers with random weights, the same at each call."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        use_cache=False,
    )
    return LlamaForCausalLM(config)


def saved_model():
    """The folder of the tiny model, written at the first call."""
    folder = os.path.join(CONFIG["folder"], "tiny-llama")
    if not os.path.isdir(folder):
        tiny_model().save_pretrained(folder)
    return folder


def quantised_model():
    """The tiny model in 4 bits: NF4, double quantisation."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig

    compile_nothing()
    dtype = compute_dtype()
    quantisation = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
    # The argument is called torch_dtype up to transformers 4.55, and the configuration's key likewise.
    name = "torch_dtype" if "torch_dtype" in LlamaConfig().to_dict() else "dtype"
    return AutoModelForCausalLM.from_pretrained(
        saved_model(),
        quantization_config=quantisation,
        device_map={"": 0 if torch.cuda.is_available() else "cpu"},
        local_files_only=True,
        **{name: dtype},
    )


def compile_nothing():
    """Have torch run what is marked for compilation as it stands, where this torch can be told to (2.6).

    Without its native library bitsandbytes compiles its fallbacks, half a minute for what runs once here.
    Nothing is marked where torch._dynamo is not loaded, and it is not loaded for this.
    """
    import torch

    if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
        torch.compiler.set_stance("force_eager")


def prepared_model(model):
    """A 4-bit model made ready for an adapter, with gradient checkpointing as peft sets it."""
    from peft import prepare_model_for_kbit_training

    return prepare_model_for_kbit_training(model)


def adapter_config():
    """LoRA on every projection, without dropout so that a result can be had twice."""
    from peft import LoraConfig

    return LoraConfig(
        r=RANK,
        lora_alpha=RANK,
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
        target_modules=list(PROJECTIONS),
    )


def adapted_model(model):
    """A model with a fresh adapter, in training mode."""
    import torch
    from peft import get_peft_model

    torch.manual_seed(0)
    model = get_peft_model(model, adapter_config())
    model.train()
    return model


def fixed_batch():
    """One batch of random tokens on the training device, its own labels."""
    import torch

    ids = torch.randint(3, VOCABULARY, (4, 32), generator=torch.Generator().manual_seed(1))
    ids = ids.to(training_device())
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


def adapter_weights(model, part):
    """The adapters' parameters whose name holds ``part``: "lora_A", "lora_B" or, for both, "lora_"."""
    return [weight for name, weight in model.named_parameters() if part in name]
