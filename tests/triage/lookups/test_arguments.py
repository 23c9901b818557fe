"""Arguments that are not taken: by people, by libraries, and by code that came with a model."""

from __future__ import annotations

import pytest

from doctor.paste import Frame
from tests.triage.lookups.pastes import BARE_FRAME, case_of, ids, library_frame, suspicions, user_frame

STALE = "python/stale-or-other-environment"
TRAINER = library_frame("transformers/trainer.py", function="training_step")


def unexpected(callable: str, keyword: str) -> str:
    return f"TypeError: {callable}() got an unexpected keyword argument '{keyword}'"


@pytest.mark.parametrize(
    ("callable", "keyword", "versions", "id"),
    [
        ("SFTTrainer.__init__", "tokenizer", {"trl": "0.16.0"}, "trl/removed-argument"),
        ("SFTTrainer.__init__", "dataset_text_field", {}, "trl/removed-argument"),
        ("SFTConfig.__init__", "max_seq_length", {"trl": "0.22.2"}, "trl/removed-argument"),
        ("SFTConfig.__init__", "max_length", {"trl": "0.12.0"}, "trl/too-old"),
        ("DPOTrainer.__init__", "beta", {}, "trl/removed-argument"),
        ("DPOTrainer.get_batch_logps", "average_log_prob", {"trl": "0.9.6"}, "trl/removed-argument"),
        ("Trainer.__init__", "tokenizer", {"transformers": "5.15.0"}, "transformers/removed-argument"),
        ("Trainer.__init__", "processing_class", {"transformers": "4.44.0"}, "transformers/too-old"),
        (
            "TrainingArguments.__init__",
            "evaluation_strategy",
            {"transformers": "4.57.1"},
            "transformers/removed-argument",
        ),
        ("TrainingArguments.__init__", "eval_strategy", {}, "transformers/too-old"),
        (
            "SFTConfig.__init__",
            "eval_strategy",
            {"transformers": "4.40.0", "trl": "0.9.4"},
            "transformers/too-old",
        ),
        ("LlamaForCausalLM.__init__", "load_in_4bit", {"transformers": "4.28.1"}, "transformers/too-old"),
        ("Qwen2ForCausalLM.__init__", "dtype", {"transformers": "4.51.3"}, "transformers/too-old"),
        ("prepare_model_for_kbit_training", "gradient_checkpointing_kwargs", {}, "peft/too-old"),
        ("BuilderConfig.__init__", "use_auth_token", {"datasets": "3.1.0"}, "script/removed-argument"),
        ("MySFTTrainer.__init__", "tokenizer", {"trl": "0.24.0"}, "trl/removed-argument"),
        ("Trainer.__init__", "no_such_thing", {"transformers": "4.50.0"}, "script/unknown-argument"),
        ("MyTrainer.__init__", "no_such_thing", {"transformers": "4.50.0"}, None),
        ("open", "no_such_thing", {}, None),
    ],
)
def test_what_people_pass_is_held_against_the_release(
    callable: str, keyword: str, versions: dict[str, str], id: str | None
) -> None:
    for frames in ((), (BARE_FRAME,), (user_frame(f"x = {callable}({keyword}=1)"),)):
        assert ids(case_of(unexpected(callable, keyword), versions, frames)) == ([id] if id else [])


@pytest.mark.parametrize(
    "message",
    [
        "Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'",
        "TypeError: __init__() got an unexpected keyword argument 'dispatch_batches'",
        "unexpected keyword argument 'dispatch_batches'",
        'got an unexpected keyword argument "dispatch_batches"',
        "微调报 TypeError:Accelerator.init got an unexpected keyword argument 'dispatch batches'",
        "TypeError: Accelerator.__init__() got an unexpected\nkeyword argument 'dispatch_batches'",
    ],
)
def test_what_the_trainer_passes_to_accelerate_is_the_trainers_fault(message: str) -> None:
    assert ids(case_of(message)) == ["transformers/too-old-for-accelerate"]
    assert ids(case_of(message, {"accelerate": "1.2.0", "transformers": "4.39.3"})) == [
        "transformers/too-old-for-accelerate"
    ]


@pytest.mark.parametrize(
    ("keyword", "frames", "around", "versions", "id"),
    [
        ("eva_config", (), "", {"peft": "0.10.0"}, "peft/adapter-config-from-newer"),
        ("corda_config", (), "", {}, "peft/adapter-config-from-newer"),
        (
            "exclude_modules",
            (library_frame("peft/config.py", function="from_peft_type"),),
            "",
            {},
            "peft/adapter-config-from-newer",
        ),
        ("use_dora", (), "", {}, "peft/too-old"),
        ("use_dora", (), "PeftModel.from_pretrained(model, path)", {}, "peft/adapter-config-from-newer"),
        ("enable_lora", (), "", {"peft": "0.4.0"}, "peft/adapter-config-from-older"),
        ("eva_config", (), "", {"peft": "0.15.0"}, STALE),
        ("use_original_init", (), "", {}, "script/unknown-argument"),
        ("use_original_init", (library_frame("peft/config.py", function="from_peft_type"),), "", {}, None),
    ],
)
def test_keys_of_adapters(
    keyword: str, frames: tuple[Frame, ...], around: str, versions: dict[str, str], id: str | None
) -> None:
    case = case_of(unexpected("LoraConfig.__init__", keyword), versions, frames, around=around)
    assert ids(case) == ([id] if id else [])


@pytest.mark.parametrize(
    ("message", "frames", "id"),
    [
        (
            unexpected("CustomTrainer.compute_loss", "num_items_in_batch"),
            (TRAINER,),
            "script/override-lacks-argument",
        ),
        (unexpected("compute_loss", "num_items_in_batch"), (), "script/override-lacks-argument"),
        (
            "TypeError: MyTrainer.log() takes 2 positional arguments but 3 were given",
            (TRAINER,),
            "script/override-lacks-argument",
        ),
        (
            "TypeError: DPOTrainer.get_batch_samples() takes 3 positional arguments but 4 were given",
            (),
            "trl/too-old-for-transformers",
        ),
        (unexpected("ChatGLMTokenizer._pad", "padding_side"), (), "transformers/remote-code-needs-older"),
        ("TypeError: f() missing 1 required positional argument: 'x'", (), None),
    ],
)
def test_methods_that_transformers_calls_with_more_than_they_take(
    message: str, frames: tuple[Frame, ...], id: str | None
) -> None:
    assert ids(case_of(message, frames=frames)) == ([id] if id else [])


def test_frames_of_decorators_ask_for_nothing() -> None:
    frames = (
        library_frame("trl/trainer/sft_trainer.py", "super().__init__(tokenizer=tokenizer)", "__init__"),
        library_frame("transformers/utils/deprecation.py", "return func(*args, **kwargs)", "wrapped_func"),
    )
    case = case_of(
        unexpected("Trainer.__init__", "tokenizer"), {"trl": "0.11.4", "transformers": "5.1.0"}, frames
    )
    assert ids(case) == ["trl/too-old-for-transformers"]


def test_a_stated_release_that_takes_the_argument_did_not_run() -> None:
    message = unexpected("Accelerator.unwrap_model", "keep_torch_compile")
    assert ids(case_of(message, {"accelerate": "1.3.0"}, (BARE_FRAME,))) == [STALE]
    assert ids(case_of(message, {"accelerate": "1.2.1"}, (BARE_FRAME,))) == ["accelerate/too-old"]


def test_the_cure_says_what_to_write_now() -> None:
    case = case_of(unexpected("SFTTrainer.__init__", "dataset_text_field"), {"trl": "0.16.0"})
    assert suspicions(case)[0].finding.fixes[0].title == "Give dataset_text_field to SFTConfig"
    assert suspicions(case)[0].finding.fixes[1].commands == (
        ("python", "-m", "pip", "install", "trl<0.13.0"),
    )
