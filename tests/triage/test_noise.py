"""Lines of healthy machines: known as such, and as no fault."""

from __future__ import annotations

import pytest

from doctor.diagnosis import known_rules
from doctor.failures import shows
from doctor.matrix.rows import symptom_complaints
from doctor.triage.noise import HARMLESS

PRINTED = (
    "FutureWarning: `torch.utils._pytree._register_pytree_node is deprecated. Please use",
    "UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or "
    "use_reentrant=False explicitly.",
    "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp`",
    "UserWarning: TypedStorage is deprecated. It will be removed in the future",
    "FutureWarning: `resume_download` is deprecated and will be removed in version 1.0.0.",
    "FutureWarning: Using `TRANSFORMERS_CACHE` is deprecated and will be removed in v5 of Transformers.",
    "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
    "Some weights of LlamaForSequenceClassification were not initialized from the model checkpoint at x and",
    "`torch_dtype` is deprecated! Use `dtype` instead!",
    "You are using the default legacy behaviour of the <class 'LlamaTokenizer'>. This is expected",
    "Setting `pad_token_id` to `eos_token_id`:2 for open-end generation.",
    "Token indices sequence length is longer than the specified maximum sequence length for this model",
    "FutureWarning: `tokenizer` is deprecated and will be removed in version 5.0.0 for `Trainer.__init__`.",
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used.",
    "Skipping import of cpp extensions due to incompatible torch version 2.9.1+cu130 for torchao",
    "[2024-05-01 10:00:00,000] [INFO] [real_accelerator.py:191] Setting ds_accelerator to cuda (auto detect)",
    "E0000 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory for plugin",
    "To copy construct from a tensor, it is recommended to use sourceTensor.clone().detach()",
    "Exception in thread Thread-auto_conversion:",
    "UserWarning: pkg_resources is deprecated as an API.",
    "Note: you may need to restart the kernel to use updated packages.",
    "wandb: (3) Don't visualize my results",
)


@pytest.mark.parametrize("line", PRINTED)
def test_a_line_of_a_healthy_machine_is_known_as_such(line: str) -> None:
    assert any(shows(symptom, line) for symptom in HARMLESS)


@pytest.mark.parametrize("line", PRINTED)
def test_such_a_line_is_the_sign_of_no_fault(line: str) -> None:
    assert [rule.id for rule in known_rules() if any(shows(one, line) for one in rule.symptoms)] == []


def test_each_is_a_pattern_of_its_own_and_names_no_fact() -> None:
    assert len(set(HARMLESS)) == len(HARMLESS)
    assert [text for one in HARMLESS for text in symptom_complaints(one)] == []
    assert [one for one in HARMLESS if "(?P<" in one] == []
