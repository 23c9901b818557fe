"""Image encoders, and the models that see by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from doctor.readers.model_config.older import norm
from doctor.readers.model_config.weights import Family, Weight


class Seeing(NamedTuple):
    """A model that also sees: the family of its text part, and what is beside it."""

    text: str  # model_type of the text part
    tower: Family
    image_tokens: str = ""  # the key that states how many tokens an image becomes; "" where its size decides


def layer(path: str, rows: str, columns: str, bias: str = "yes") -> Weight:
    """A linear layer of every block of an encoder."""
    return Weight(path, rows, columns, bias=bias, role="vision")


SIGLIP = "model.vision_tower."
GEMMA3_TOWER = Family(
    (
        Weight(SIGLIP + "embeddings.patch_embedding", "hidden", "channels*patch*patch", "1", "yes", "other"),
        Weight(SIGLIP + "embeddings.position_embedding", "patches", "hidden", "1", role="embedding"),
        *(
            layer(f"{SIGLIP}encoder.layers.*.self_attn.{name}", "hidden", "hidden")
            for name in ("q_proj", "k_proj", "v_proj", "out_proj")
        ),
        layer(SIGLIP + "encoder.layers.*.mlp.fc1", "intermediate", "hidden"),
        layer(SIGLIP + "encoder.layers.*.mlp.fc2", "hidden", "intermediate"),
        norm(SIGLIP + "encoder.layers.*.layer_norm1"),
        norm(SIGLIP + "encoder.layers.*.layer_norm2"),
        norm(SIGLIP + "post_layernorm", "1"),
        Weight(
            "model.multi_modal_projector.mm_input_projection_weight",
            "hidden",
            "text_hidden",
            "1",
            role="other",
        ),
        Weight("model.multi_modal_projector.mm_soft_emb_norm", "hidden", times="1", role="norm"),
    ),
    {
        "num_channels": 3,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "image_size": 896,
        "patch_size": 14,
    },
)
VISUAL = "model.visual."
QWEN2_VL_TOWER = Family(
    (
        Weight(VISUAL + "patch_embed.proj", "width", "channels*patch_frames*patch*patch", "1", role="other"),
        layer(VISUAL + "blocks.*.attn.qkv", "3*width", "width"),
        layer(VISUAL + "blocks.*.attn.proj", "width", "width"),
        layer(VISUAL + "blocks.*.mlp.fc1", "ratio*width", "width"),
        layer(VISUAL + "blocks.*.mlp.fc2", "width", "ratio*width"),
        norm(VISUAL + "blocks.*.norm1", width="width"),
        norm(VISUAL + "blocks.*.norm2", width="width"),
        norm(VISUAL + "merger.ln_q", "1", width="width"),
        Weight(VISUAL + "merger.mlp.0", "merge*merge*width", "merge*merge*width", "1", "yes", "vision"),
        Weight(VISUAL + "merger.mlp.2", "text_hidden", "merge*merge*width", "1", "yes", "vision"),
    ),
    {
        "in_channels": 3,
        "temporal_patch_size": 2,
        "spatial_merge_size": 2,
        "embed_dim": 1280,
        "num_heads": 16,
        "depth": 32,
        "mlp_ratio": 4,
        "patch_size": 14,
    },
)
QWEN2_5_VL_TOWER = Family(
    (
        Weight(VISUAL + "patch_embed.proj", "hidden", "channels*patch_frames*patch*patch", "1", role="other"),
        layer(VISUAL + "blocks.*.attn.qkv", "3*hidden", "hidden"),
        layer(VISUAL + "blocks.*.attn.proj", "hidden", "hidden"),
        layer(VISUAL + "blocks.*.mlp.gate_proj", "intermediate", "hidden"),
        layer(VISUAL + "blocks.*.mlp.up_proj", "intermediate", "hidden"),
        layer(VISUAL + "blocks.*.mlp.down_proj", "hidden", "intermediate"),
        Weight(VISUAL + "blocks.*.norm1", "hidden", role="norm"),
        Weight(VISUAL + "blocks.*.norm2", "hidden", role="norm"),
        Weight(VISUAL + "merger.ln_q", "hidden", times="1", role="norm"),
        Weight(VISUAL + "merger.mlp.0", "merge*merge*hidden", "merge*merge*hidden", "1", "yes", "vision"),
        Weight(VISUAL + "merger.mlp.2", "out", "merge*merge*hidden", "1", "yes", "vision"),
    ),
    {
        "in_channels": 3,
        "temporal_patch_size": 2,
        "spatial_merge_size": 2,
        "hidden_size": 1280,
        "num_heads": 16,
        "depth": 32,
        "intermediate_size": 3420,
        "out_hidden_size": 3584,
        "patch_size": 14,
    },
)
QWEN3_VL_TOWER = Family(
    (
        Weight(
            VISUAL + "patch_embed.proj", "hidden", "channels*patch_frames*patch*patch", "1", "yes", "other"
        ),
        Weight(VISUAL + "pos_embed", "positions", "hidden", "1", role="embedding"),
        layer(VISUAL + "blocks.*.attn.qkv", "3*hidden", "hidden"),
        layer(VISUAL + "blocks.*.attn.proj", "hidden", "hidden"),
        layer(VISUAL + "blocks.*.mlp.linear_fc1", "intermediate", "hidden"),
        layer(VISUAL + "blocks.*.mlp.linear_fc2", "hidden", "intermediate"),
        norm(VISUAL + "blocks.*.norm1"),
        norm(VISUAL + "blocks.*.norm2"),
        norm(VISUAL + "merger.norm", "1"),
        norm(VISUAL + "deepstack_merger_list.*.norm", "deepstack", width="merge*merge*hidden"),
        *(
            Weight(f"{VISUAL}{at}.{name}", rows, "merge*merge*hidden", times, "yes", "vision")
            for at, times in (("merger", "1"), ("deepstack_merger_list.*", "deepstack"))
            for name, rows in (("linear_fc1", "merge*merge*hidden"), ("linear_fc2", "out"))
        ),
    ),
    {
        "in_channels": 3,
        "temporal_patch_size": 2,
        "spatial_merge_size": 2,
        "hidden_size": 1152,
        "num_heads": 16,
        "depth": 27,
        "intermediate_size": 4304,
        "out_hidden_size": 3584,
        "patch_size": 16,
        "num_position_embeddings": 2304,
    },
)
PIXTRAL = "model.vision_tower.transformer.layers.*."
PIXTRAL_TOWER = Family(
    (
        Weight("model.vision_tower.patch_conv", "hidden", "channels*patch*patch", "1", role="other"),
        Weight("model.vision_tower.ln_pre", "hidden", times="1", role="norm"),
        *(
            layer(f"{PIXTRAL}attention.{name}", "hidden", "hidden", "")
            for name in ("q_proj", "k_proj", "v_proj", "o_proj")
        ),
        layer(PIXTRAL + "feed_forward.gate_proj", "intermediate", "hidden", ""),
        layer(PIXTRAL + "feed_forward.up_proj", "intermediate", "hidden", ""),
        layer(PIXTRAL + "feed_forward.down_proj", "hidden", "intermediate", ""),
        Weight(PIXTRAL + "attention_norm", "hidden", role="norm"),
        Weight(PIXTRAL + "ffn_norm", "hidden", role="norm"),
        Weight("model.multi_modal_projector.norm", "hidden", times="1", role="norm"),
        Weight(
            "model.multi_modal_projector.patch_merger.merging_layer",
            "hidden",
            "merge*merge*hidden",
            "1",
            "",
            "vision",
        ),
        Weight(
            "model.multi_modal_projector.linear_1",
            "text_hidden",
            "hidden",
            "1",
            "multimodal_projector_bias",
            "vision",
        ),
        Weight(
            "model.multi_modal_projector.linear_2",
            "text_hidden",
            "text_hidden",
            "1",
            "multimodal_projector_bias",
            "vision",
        ),
    ),
    {
        "num_channels": 3,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "image_size": 1024,
        "patch_size": 16,
        "spatial_merge_size": 2,
    },
)

SEEING: Mapping[str, Seeing] = {
    "gemma3": Seeing("gemma3_text", GEMMA3_TOWER, "mm_tokens_per_image"),
    "qwen2_vl": Seeing("qwen2", QWEN2_VL_TOWER),
    "qwen2_5_vl": Seeing("qwen2", QWEN2_5_VL_TOWER),
    "qwen3_vl": Seeing("qwen3", QWEN3_VL_TOWER),
    "mistral3": Seeing("mistral", PIXTRAL_TOWER),
}
