"""What releases export and accept, as the stored tables say: facts that were read or run upstream."""

from __future__ import annotations

import pytest

from doctor.matrix import api
from doctor.matrix.api_table import COVERED, table_of
from doctor.versions import Interval

TODAY = {
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "peft": "0.21.2",
    "accelerate": "1.15.0",
    "bitsandbytes": "0.50.2",
    "datasets": "5.2.0",
    "huggingface-hub": "2.4.0",
}
LOADER = "transformers.AutoModelForCausalLM.from_pretrained"


@pytest.mark.parametrize(
    ("module", "name", "last_with", "first_without"),
    [
        ("transformers", "AdamW", "4.49.0", "4.50.0"),
        ("transformers", "HybridCache", "4.57.6", "5.0.0"),
        ("transformers", "top_k_top_p_filtering", "4.38.2", "4.39.0"),
        ("transformers.utils", "is_torch_fx_available", "4.57.6", "5.0.0"),
        ("trl", "DataCollatorForCompletionOnlyLM", "0.19.1", "0.20.0"),
        ("trl", "setup_chat_format", "0.25.1", "0.26.0"),
        ("trl", "PPOTrainer", "0.28.0", "0.29.0"),
        ("trl", "ORPOTrainer", "0.28.0", "0.29.0"),
        ("trl", "AutoModelForCausalLMWithValueHead", "0.28.0", "0.29.0"),
        ("trl", "get_kbit_device_map", "1.7.1", "1.8.0"),
        ("peft", "prepare_model_for_int8_training", "0.9.0", "0.10.0"),
        ("huggingface_hub", "cached_download", "0.25.2", "0.26.0"),
        ("huggingface_hub", "HfFolder", "0.36.2", "1.0.0"),
        ("huggingface_hub", "Repository", "0.36.2", "1.0.0"),
        ("datasets", "load_metric", "2.21.0", "3.0.0"),
        ("bitsandbytes.nn", "SwitchBackLinear", "0.49.2", "0.50.2"),
    ],
)
def test_names_that_went(module: str, name: str, last_with: str, first_without: str) -> None:
    assert api.exports(module, name, last_with) is True
    assert api.exports(module, name, first_without) is False
    assert api.history(module, name)[-1].fixed == first_without


@pytest.mark.parametrize(
    ("module", "name", "last_without", "first_with"),
    [
        ("transformers", "EncoderDecoderCache", "4.42.4", "4.43.0"),
        ("accelerate.utils.memory", "clear_device_cache", "0.31.0", "0.32.0"),
        ("huggingface_hub.errors", "LocalEntryNotFoundError", "0.24.7", "0.25.0"),
        ("huggingface_hub", "split_torch_state_dict_into_shards", "0.20.3", "0.21.0"),
        ("trl", "SFTConfig", "0.8.6", "0.9.2"),
        ("peft", "prepare_model_for_kbit_training", "0.3.0", "0.4.0"),
    ],
)
def test_names_that_came(module: str, name: str, last_without: str, first_with: str) -> None:
    assert api.exports(module, name, last_without) is False
    assert api.exports(module, name, first_with) is True


def test_modules_come_and_go() -> None:
    assert api.has_module("transformers.modeling_layers", "4.51.3") is False
    assert api.has_module("transformers.modeling_layers", "4.52.4") is True
    assert api.has_module("trl.core", "0.24.0") is True
    assert api.has_module("trl.core", "0.25.0") is False
    assert api.has_module("transformers.models.qwen3", "4.50.3") is False
    assert api.has_module("transformers.models.qwen3", "4.51.0") is True
    assert api.exports("trl.core", "LengthSampler", "1.16.0") is False
    assert api.has_module("transformers.models.llama.image_processing_llama_fast", "5.24.0") is None
    assert api.has_module("trl.a.b.c", "1.16.0") is False
    assert api.has_module("trl", "99.0") is None


@pytest.mark.parametrize(
    ("module", "name", "version"),
    [
        ("torch", "nn", "2.6.0"),  # no table
        ("renamed", "x", "1.0"),  # a file beside the tables
        ("trl", "SFTTrainer", "99.0"),  # newer than the table
        ("trl", "SFTTrainer", "0.1"),
        ("trl", "SFTTrainer", "not a version"),
        ("trl", "SFTTrainer", ""),
        ("trl", "_anything", "1.16.0"),
        ("transformers", "UnheardOfTokenizerFast", "5.24.0"),  # made on demand
        ("transformers.models.zamba", "ZambaModel", "5.24.0"),  # read in no depth
        ("transformers.trainer", "torch", "5.24.0"),  # somebody else's
    ],
)
def test_what_is_not_known_is_not_said(module: str, name: str, version: str) -> None:
    assert api.exports(module, name, version) is None


def test_a_version_between_two_releases_is_judged_where_both_agree() -> None:
    assert api.exports("transformers", "AdamW", "4.46.0") is True  # yanked
    assert api.exports("transformers", "AdamW", "4.50.0.dev0") is None
    assert api.exports("trl", "NeverThere", "0.12.0rc1") is False
    assert api.exports("bitsandbytes.nn", "Linear4bit", "0.43.1") is True
    old, new = {"trl": "0.15.0"}, {"trl": "0.16.0"}
    assert api.signature("trl.SFTTrainer", {"trl": "0.16.0.dev0"}) is None
    assert api.signature("trl.SFTTrainer", old) != api.signature("trl.SFTTrainer", new)


@pytest.mark.parametrize(
    ("callable_name", "keyword", "versions", "taken"),
    [
        ("transformers.TrainingArguments", "evaluation_strategy", {"transformers": "4.50.3"}, True),
        ("transformers.TrainingArguments", "evaluation_strategy", {"transformers": "4.51.0"}, False),
        ("transformers.TrainingArguments", "eval_strategy", {"transformers": "4.40.2"}, False),
        ("transformers.TrainingArguments", "eval_strategy", {"transformers": "4.41.0"}, True),
        ("transformers.TrainingArguments", "group_by_length", {"transformers": "5.1.0"}, True),
        ("transformers.TrainingArguments", "group_by_length", {"transformers": "5.2.0"}, False),
        ("transformers.TrainingArguments", "warmup_ratio", {"transformers": "5.12.1"}, True),
        ("transformers.TrainingArguments", "warmup_ratio", {"transformers": "5.16.1"}, False),
        ("transformers.TrainingArguments", "overwrite_output_dir", {"transformers": "5.0.0"}, False),
        ("transformers.Seq2SeqTrainingArguments", "predict_with_generate", TODAY, True),
        ("transformers.Seq2SeqTrainingArguments", "learning_rate", TODAY, True),
        ("transformers.Trainer", "tokenizer", {"transformers": "4.57.6"}, True),
        ("transformers.Trainer", "tokenizer", {"transformers": "5.0.0"}, False),
        ("trl.SFTTrainer", "tokenizer", {"trl": "0.11.4"}, True),
        ("trl.SFTTrainer", "tokenizer", {"trl": "0.15.2"}, True),  # with a warning
        ("trl.SFTTrainer", "tokenizer", {"trl": "0.16.0"}, False),
        ("trl.SFTTrainer", "packing", {"trl": "0.12.2"}, True),
        ("trl.SFTTrainer", "packing", {"trl": "0.13.0"}, False),
        ("trl.SFTTrainer", "model_init", {"trl": "0.15.0"}, False),
        ("trl.SFTConfig", "max_seq_length", {"trl": "0.19.1", "transformers": "4.52.4"}, True),
        ("trl.SFTConfig", "max_seq_length", {"trl": "0.20.0", "transformers": "4.52.4"}, False),
        ("trl.SFTConfig", "eval_strategy", {"trl": "0.9.6", "transformers": "4.40.2"}, False),
        ("trl.SFTConfig", "eval_strategy", {"trl": "0.9.6", "transformers": "4.41.2"}, True),
        ("trl.DPOConfig", "beta", TODAY, True),
        ("trl.PPOTrainer", "reward_model", {"trl": "0.27.0", "transformers": "4.57.6"}, True),  # it moved
        ("trl.PPOTrainer", "tokenizer", {"trl": "0.27.0", "transformers": "4.57.6"}, False),
        ("peft.LoraConfig", "use_dora", {"peft": "0.8.2"}, False),
        ("peft.LoraConfig", "use_dora", {"peft": "0.9.0"}, True),
        ("peft.LoraConfig", "lora_bias", {"peft": "0.13.2"}, False),
        ("peft.LoraConfig", "lora_bias", {"peft": "0.14.0"}, True),
        ("peft.LoraConfig", "task_type", {"peft": "0.21.2"}, True),  # of PeftConfig
        ("accelerate.Accelerator", "dispatch_batches", {"accelerate": "0.34.2"}, True),
        ("accelerate.Accelerator", "dispatch_batches", {"accelerate": "1.0.0"}, False),
        ("accelerate.Accelerator.unwrap_model", "keep_torch_compile", {"accelerate": "1.2.1"}, False),
        ("accelerate.Accelerator.unwrap_model", "keep_torch_compile", {"accelerate": "1.3.0"}, True),
        ("transformers.BitsAndBytesConfig", "bnb_4bit_quant_type", TODAY, True),
        ("transformers.BitsAndBytesConfig", "unheard_of", TODAY, None),
        (LOADER, "load_in_4bit", {"transformers": "4.29.2"}, False),
        (LOADER, "load_in_4bit", {"transformers": "4.57.6"}, True),
        (LOADER, "load_in_4bit", {"transformers": "5.0.0"}, False),
        (LOADER, "use_flash_attention_2", TODAY, False),
        (LOADER, "dtype", {"transformers": "4.55.4"}, False),
        (LOADER, "dtype", {"transformers": "4.56.2"}, True),
        (LOADER, "torch_dtype", TODAY, True),
        (LOADER, "attn_implementation", {"transformers": "4.35.2"}, None),
        (LOADER, "use_cache", TODAY, None),  # the configuration may know it
        ("datasets.load_dataset", "trust_remote_code", {"datasets": "2.15.0"}, None),
        ("huggingface_hub.hf_hub_download", "resume_download", {"huggingface-hub": "0.36.2"}, True),
        ("huggingface_hub.hf_hub_download", "resume_download", {"huggingface-hub": "1.0.1"}, False),
        ("bitsandbytes.nn.Linear4bit", "quant_storage", TODAY, True),
    ],
)
def test_keywords(callable_name: str, keyword: str, versions: dict[str, str], taken: bool | None) -> None:
    signature = api.signature(callable_name, versions)
    assert signature is not None
    assert signature.accepts(keyword) is taken


def test_a_signature_in_full() -> None:
    signature = api.signature("peft.get_peft_model", {"peft": "0.9.0"})
    either = [api.Parameter(name, "either", name in ("model", "peft_config")) for name in NAMES]
    assert signature == api.Signature(tuple(either))
    passed_on = api.signature("trl.DPOTrainer.training_step", TODAY)  # def f(self, *args, **kwargs)
    assert passed_on == api.signature("transformers.Trainer.training_step", TODAY)
    assert api.signature("trl.trainer.sft_trainer.SFTTrainer.train", TODAY) == api.signature(
        "transformers.Trainer.train", TODAY
    )


NAMES = ("model", "peft_config", "adapter_name", "mixed")


def test_what_a_config_inherits_is_not_known_without_the_version_of_its_base() -> None:
    alone = api.signature("trl.SFTConfig", {"trl": "1.16.0"})
    assert alone is not None
    assert alone.accepts("packing") is True and alone.accepts("evaluation_strategy") is None


def test_positional_parameters_keep_their_order_when_they_move() -> None:
    def first(version: str) -> list[str]:
        signature = api.signature("trl.SFTTrainer", {"trl": version})
        return [own.name for own in signature.positional][:6] if signature else []

    assert first("0.8.6")[:3] == ["model", "args", "data_collator"]
    assert first("1.16.0") == [
        *("model", "args", "data_collator", "train_dataset", "eval_dataset", "processing_class")
    ]


@pytest.mark.parametrize(
    ("dotted", "name"),
    [
        ("trl.trainer.sft_trainer.SFTTrainer", "trl.SFTTrainer"),
        ("trl.trainer.SFTTrainer.train", "trl.SFTTrainer.train"),
        ("trl.experimental.ppo.ppo_trainer.PPOTrainer", "trl.experimental.ppo.PPOTrainer"),
        ("transformers.training_args.TrainingArguments", "transformers.TrainingArguments"),
        ("transformers.utils.quantization_config.BitsAndBytesConfig", "transformers.BitsAndBytesConfig"),
        ("peft.tuners.lora.config.LoraConfig", "peft.LoraConfig"),
        ("torch.nn.Linear", "torch.nn.Linear"),
        ("trl", "trl"),
        ("trl.nothing.At.all", "trl.nothing.At.all"),
    ],
)
def test_one_name_for_one_thing(dotted: str, name: str) -> None:
    assert api.canonical(dotted) == name


def test_where_a_name_is_now() -> None:
    assert api.where_now("ORPOTrainer", "trl", "1.16.0")[0] == "trl.experimental.orpo"
    assert api.where_now("SFTTrainer", "trl", "1.16.0")[0] == "trl"
    assert api.where_now("PPOTrainer", "trl", "1.16.0") == ()
    assert api.where_now("Linear", "torch", "2.6.0") == ()


def test_history_and_bases() -> None:
    assert api.history("trl", "setup_chat_format") == (Interval("0.7.10", "0.26.0"),)
    assert api.history("trl.trainer", "nothing") == ()
    assert api.parameter_history("trl.SFTConfig", "max_length") == (Interval("0.16.0"),)
    assert api.parameter_history("trl.Nothing", "max_length") == ()
    assert api.bases("trl.SFTConfig", TODAY)[-1] == "transformers.TrainingArguments"
    assert "transformers.Trainer" in api.bases("trl.SFTTrainer", TODAY)


@pytest.mark.parametrize("package", sorted(COVERED))
def test_every_table_is_in_order(package: str) -> None:
    table = table_of(package)
    assert table is not None
    assert list(table.order) == sorted(set(table.order)) and len(table.order) > 10
    top = package.replace("-", "_")
    assert all(key.split(".")[0] == top for own in (table.modules, table.callables) for key in own)


def test_classes_that_derived_from_each_other_over_the_releases() -> None:
    """trl's KTOTrainer came to derive from its experimental one, which had derived from it."""
    names = list(api.with_ancestors("trl.KTOTrainer"))
    assert names[0] == "trl.KTOTrainer" and "transformers.Trainer" in names
    assert len(names) == len(set(names))
    found = api.replacement("trl.KTOTrainer", "tokenizer")
    assert found is not None and found.new == "processing_class"
