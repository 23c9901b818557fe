"""Shapes from configs as they are published: figures that a reader can check by hand or on a model card."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.memory.shapes import Matrix, ModelShape, unfused
from doctor.readers.model_config import ConfigInvalid, read
from readers.model_config.tiny import CONFIGS, SIZES

LLAMA_2_7B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "max_position_embeddings": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "vocab_size": 32000,
}


def shape(config: dict[str, Any], name: str = "config.json") -> ModelShape:
    return read(json.dumps(config), name)


def matrix(of: ModelShape, name: str) -> Matrix:
    return next(matrix for matrix in of.matrices if matrix.name == name)


def test_a_dense_model() -> None:
    found = shape(LLAMA_2_7B)
    assert found.parameters == 6_738_415_616  # the model card
    assert (found.layers, found.hidden, found.heads, found.kv_heads, found.head_dim) == (
        32,
        4096,
        32,
        32,
        128,
    )
    assert (found.intermediate, found.vocab, found.tied, found.source) == (11008, 32000, False, "config")
    up = matrix(found, "up_proj")
    assert (up.rows, up.columns, up.count, up.path) == (11008, 4096, 32, "model.layers.*.mlp.up_proj")
    assert up.is_linear and not matrix(found, "lm_head").is_linear
    assert found.config == LLAMA_2_7B and found.notes == () and found.error == 0.0


def test_grouped_queries_make_narrow_keys_and_values() -> None:
    found = shape({**LLAMA_2_7B, "num_key_value_heads": 8})
    assert matrix(found, "k_proj").rows == 1024 and matrix(found, "q_proj").rows == 4096


def test_a_tied_head_is_counted_once() -> None:
    tied = shape({**LLAMA_2_7B, "tie_word_embeddings": True})
    assert tied.tied and tied.parameters == 6_738_415_616 - 32000 * 4096


def test_keys_that_are_left_out_are_what_transformers_takes() -> None:
    gemma = shape({**LLAMA_2_7B, "model_type": "gemma2"})
    assert gemma.tied and gemma.head_dim == 256


def test_null_is_an_answer() -> None:
    config = dict(CONFIGS["deepseek_v2"])
    assert any(m.name == "q_proj" for m in shape(config).matrices)
    del config["q_lora_rank"]
    assert matrix(shape(config), "q_a_proj").rows == 1536


def test_experts_are_all_resident_and_few_are_passed() -> None:
    found = shape({**SIZES, "model_type": "mixtral", "num_local_experts": 4})
    assert (found.experts, found.experts_per_token, found.intermediate) == (4, 2, 2 * 96)
    up = matrix(found, "gate_up_proj")
    assert (up.rows, up.columns, up.count, up.fused) == (192, 64, 3 * 4, True)
    assert any("one tensor" in note for note in found.notes)


def test_transformers_4_has_experts_apart() -> None:
    found = shape({**SIZES, "model_type": "mixtral", "num_local_experts": 4})
    apart = unfused(found)
    assert apart.parameters == found.parameters
    assert matrix(apart, "w1").path == "model.layers.*.block_sparse_moe.experts.*.w1"
    assert (matrix(apart, "w1").rows, matrix(apart, "w2").columns) == (96, 96)
    assert matrix(apart, "gate").is_linear and all(m.is_linear for m in apart.matrices if m.role == "expert")


def test_only_gpt_oss_has_stacked_experts_in_transformers_4_too() -> None:
    found = shape(dict(CONFIGS["gpt_oss"]))
    assert unfused(found) == found


def test_transformers_4_quantises_what_derives_from_linear() -> None:
    found = shape(dict(CONFIGS["falcon"]))
    assert matrix(found, "dense").derived and not matrix(unfused(found), "dense").derived


def test_layers_without_experts_come_first() -> None:
    found = shape(dict(CONFIGS["deepseek_v3"]))
    dense = next(m for m in found.matrices if m.path == "model.layers.*.mlp.up_proj")
    assert (dense.rows, dense.count, matrix(found, "gate").count) == (96, 1, 2)
    assert (found.head_dim, found.intermediate) == (8 + 4, 2 * 24 + 24)


def test_a_model_that_sees() -> None:
    found = shape(dict(CONFIGS["gemma3"]))
    vision = [m for m in found.matrices if m.role == "vision"]
    assert {m.name for m in vision} == {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"}
    assert found.image_tokens == 4 and found.layers == 3 and found.hidden == 64
    assert matrix(found, "embed_tokens").path == "model.language_model.embed_tokens"
    assert any("An image takes 4 tokens" in note for note in found.notes)


def test_weights_that_are_quantised_already() -> None:
    four = {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}
    found = shape({**LLAMA_2_7B, **four})
    assert found.quantised == "bitsandbytes-4bit" and "qlora" in found.notes[0]
    found = shape({**LLAMA_2_7B, "quantization_config": {"quant_method": "gptq", "bits": 4}})
    assert found.quantised == "gptq" and "quantised already" in found.notes[0]


def test_code_of_its_own_is_not_run() -> None:
    found = shape({**LLAMA_2_7B, "auto_map": {"AutoModel": "modeling_x.X"}})
    assert "not run" in found.notes[0]


def test_an_unknown_architecture_with_the_common_sizes_is_counted_with_doubt() -> None:
    found = shape({**LLAMA_2_7B, "model_type": "surprise"})
    assert found.parameters == 6_738_415_616 and found.error > 0 and "surprise is not known" in found.notes[0]


def test_the_text_part_of_an_unknown_architecture_is_counted() -> None:
    found = shape({"model_type": "surprise_vl", "text_config": LLAMA_2_7B, "vision_config": {}})
    assert found.parameters == 6_738_415_616 and "its text part, llama, is counted" in found.notes[0]


def test_an_unknown_architecture_without_them_is_refused() -> None:
    with pytest.raises(ConfigInvalid, match="mamba is unknown here") as caught:
        shape({"model_type": "mamba", "hidden_size": 64})
    assert "num_hidden_layers" in caught.value.message and "llama" in caught.value.hint
