"""Packages that are refused for their version, model types that are not known, and what installers say."""

from __future__ import annotations

import pytest

from tests.triage.lookups.pastes import BARE_FRAME, case_of, ids, suspicions

STALE = "python/stale-or-other-environment"
REFUSED = "is required for a normal functioning of this module, but found"
TRAINER = (
    "ImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=0.20.1`: "
    "Please run `pip install transformers[torch]` or `pip install accelerate -U`"
)


@pytest.mark.parametrize(
    ("message", "versions", "id"),
    [
        (f"ImportError: tokenizers>=0.21,<0.22 {REFUSED} tokenizers==0.20.3.", {}, "tokenizers/too-old"),
        (f"ImportError: tokenizers>=0.21,<0.22 {REFUSED} tokenizers==0.22.1.", {}, "tokenizers/too-new"),
        (
            f"ImportError: huggingface-hub>=0.34.0,<1.0 {REFUSED} huggingface-hub==1.2.0.",
            {},
            "huggingface-hub/too-new",
        ),
        (
            f"ImportError: huggingface-hub>=1.3.0,<2.0 {REFUSED} huggingface-hub==0.36.2.",
            {},
            "huggingface-hub/too-old",
        ),
        (f"ImportError: safetensors>=0.4.3 {REFUSED} safetensors==0.4.2.", {}, "safetensors/too-old"),
        (
            f"ImportError: regex!=2019.12.17 {REFUSED} regex==2019.12.17.",
            {},
            "python/requirement-unsatisfied",
        ),
        (
            "ImportError: Found an incompatible version of torchao. Found version 0.14.1, "
            "but only versions above 0.16.0 are supported",
            {},
            "torchao/incompatible",
        ),
        (
            "ImportError: Found an incompatible version of auto-gptq. Found version 0.4.2, "
            "but only version above 0.5.0 are supported",
            {},
            "auto-gptq/incompatible",
        ),
        (
            "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following "
            "error: "
            "you need flash_attn package version to be greater or equal than 2.1.0. Detected version 2.0.4. "
            "Please refer to the documentation",
            {},
            "flash-attn/too-old",
        ),
        (
            "Disabling PyTorch because PyTorch >= 2.4 is required but found 2.3.0",
            {},
            "transformers/torch-too-old",
        ),
        (
            "ValueError: The version of PEFT you are using is not compatible, please use a version "
            "that is greater than 0.5.0",
            {"peft": "0.4.0"},
            "peft/too-old",
        ),
        (
            f"ImportError: transformers>=4.41.2,<=4.45.0 {REFUSED} transformers==4.40.0.",
            {},
            "transformers/too-old",
        ),
        (
            f"ImportError: transformers>=4.41.2,<=4.45.0 {REFUSED} transformers==4.45.2.",
            {},
            "python/requirement-unsatisfied",
        ),
        (f"ImportError: peft>=0.11.1,<=0.12.0 {REFUSED} peft==0.10.0.", {}, "peft/too-old"),
        (TRAINER, {"accelerate": "0.19.0"}, "accelerate/too-old"),
        (TRAINER, {"accelerate": "0.25.0"}, STALE),
        ("bf16 mixed precision requires PyTorch >= 1.10 and a supported device.", {}, None),
        ("Requirement already satisfied: peft>=0.14", {}, None),
    ],
)
def test_refused_releases(message: str, versions: dict[str, str], id: str | None) -> None:
    assert ids(case_of(message, versions)) == ([id] if id else [])


def test_the_trainers_message_is_the_same_without_accelerate() -> None:
    found = suspicions(case_of(TRAINER, frames=(BARE_FRAME,)))
    assert [one.finding.id for one in found] == ["accelerate/missing", "accelerate/too-old", STALE]
    assert {one.finding.confidence for one in found} == {"possible"}
    assert found[0].question and "accelerate" in found[0].question.text


def test_a_found_version_that_the_statement_contradicts_is_of_another_environment() -> None:
    message = f"ImportError: tokenizers>=0.21,<0.22 {REFUSED} tokenizers==0.20.3."
    assert ids(case_of(message, {"tokenizers": "0.21.1"})) == [STALE]
    assert ids(case_of(message, {"transformers": "4.44.2"})) == [STALE]  # asks for 0.19
    assert ids(case_of(message, {"transformers": "4.50.0"})) == ["tokenizers/too-old"]


@pytest.mark.parametrize(
    ("message", "versions", "id", "first"),
    [
        ("KeyError: 'qwen3'", {}, "transformers/too-old-for-model-type", "4.51.0"),
        ("KeyError: 'mistral'", {"transformers": "4.31.0"}, "transformers/too-old-for-model-type", "4.34.0"),
        ("KeyError: 'llama'", {"transformers": "4.27.4"}, "transformers/too-old-for-model-type", "4.28.0"),
        (
            "ValueError: Tokenizer class Qwen2Tokenizer does not exist or is not currently imported.",
            {},
            "transformers/too-old-for-model-type",
            "4.37.0",
        ),
        ("KeyError: 'text'", {}, None, ""),
        ("KeyError: 'bert'", {}, None, ""),
        ("KeyError: 'mistral'", {"transformers": "4.50.0"}, None, ""),
    ],
)
def test_model_types(message: str, versions: dict[str, str], id: str | None, first: str) -> None:
    case = case_of(message, versions)
    assert ids(case) == ([id] if id else [])
    assert all(first in one.finding.title for one in suspicions(case))


def test_a_checkpoint_of_a_type_that_is_newer_known_or_unheard_of() -> None:
    message = (
        "ValueError: The checkpoint you are trying to load has model type `{}` but Transformers does not "
        "recognize this architecture. This could be because of an issue with the checkpoint"
    )
    too_old = "transformers/too-old-for-model-type"
    assert ids(case_of(message.format("gemma3"), {"transformers": "4.49.0"})) == [too_old]
    assert ids(case_of(message.format("gemma3"), {"transformers": "4.57.1"})) == [STALE]
    unheard_of = suspicions(case_of(message.format("no_such_type")))
    assert [(one.finding.id, one.finding.confidence) for one in unheard_of] == [(too_old, "possible")]


@pytest.mark.parametrize(
    ("message", "id"),
    [
        (
            "ERROR: Cannot install peft==0.18.0 and transformers==4.40.0 because these package versions have "
            "conflicting dependencies.",
            "python/unresolvable-requirements",
        ),
        ("× No solution found when resolving dependencies:", "python/unresolvable-requirements"),
        ("ERROR: No matching distribution found for torch==2.13.0", "python/no-wheel-for-version"),
        ("ERROR: No matching distribution found for torch==99.1", "python/unresolvable-requirements"),
        (
            "ERROR: Could not find a version that satisfies the requirement torch>=2.0 (from versions: none)",
            "python/no-wheel-for-version",
        ),
        (
            "ERROR: Package 'transformers' requires a different Python: 3.8.10 not in '>=3.9.0'",
            "python/no-wheel-for-version",
        ),
        (
            "ERROR: pip's dependency resolver does not currently take into account all the packages that are "
            "installed. This behaviour is the source of the following dependency conflicts.\n"
            "trl 0.8.6 requires transformers>=4.31.0, but you have transformers 4.30.0 which is "
            "incompatible.",
            "python/requirement-unsatisfied",
        ),
        (
            "tensorflow-metadata 1.14.0 requires protobuf<4.21,>=3.20.3, but you have protobuf 4.23.4 "
            "which is incompatible.",
            None,
        ),
        ("Collecting torch==2.13.0", None),
    ],
)
def test_what_installers_say(message: str, id: str | None) -> None:
    assert ids(case_of(message)) == ([id] if id else [])


def test_what_pip_leaves_behind_is_only_a_warning() -> None:
    message = (
        "trl 0.8.6 requires transformers>=4.31.0, but you have transformers 4.30.0 which is incompatible."
    )
    assert suspicions(case_of(message))[0].finding.severity == "warning"
