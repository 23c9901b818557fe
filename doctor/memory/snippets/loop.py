"""A training loop of one's own: what a plan needs and no more."""

from __future__ import annotations

from doctor.memory.plan import Plan

OPTIMIZERS = {
    "adamw_torch": "torch.optim.AdamW({weights}, lr=2e-4)",
    "adamw_torch_fused": "torch.optim.AdamW({weights}, lr=2e-4, fused=True)",
    "adamw_8bit": "bitsandbytes.optim.AdamW8bit({weights}, lr=2e-4)",
    "paged_adamw_32bit": "bitsandbytes.optim.PagedAdamW32bit({weights}, lr=2e-4)",
    "paged_adamw_8bit": "bitsandbytes.optim.PagedAdamW8bit({weights}, lr=2e-4)",
    "adafactor": "Adafactor({weights}, lr=2e-4, relative_step=False)",
    "lion_32bit": "bitsandbytes.optim.Lion32bit({weights}, lr=2e-5)",
    "lion_8bit": "bitsandbytes.optim.Lion8bit({weights}, lr=2e-5)",
    "paged_lion_8bit": "bitsandbytes.optim.PagedLion8bit({weights}, lr=2e-5)",
    "sgd": "torch.optim.SGD({weights}, lr=1e-3)",
}


def bare_loop(plan: Plan) -> str:
    """Rows of text, batches of tokens, and steps."""
    optimizer = OPTIMIZERS[plan.optimizer].format(weights="weights")
    lines = []
    if plan.gradient_checkpointing:
        kind = f'{{"use_reentrant": {bool(plan.reentrant)}}}'
        lines.append(f"model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={kind})")
        if plan.method != "full":
            lines.append("model.enable_input_require_grads()")
    if optimizer.startswith("bitsandbytes"):
        lines.append("import bitsandbytes")
    if optimizer.startswith("Adafactor"):
        lines.append("from transformers import Adafactor")
    lines += [
        "model.train()",
        "weights = [weight for weight in model.parameters() if weight.requires_grad]",
        f"optimizer = {optimizer}",
        'rows = load_dataset("json", data_files="train.jsonl", split="train")  # rows of {"text": ...}',
        f"for number, batch in enumerate(rows.iter(batch_size={plan.batch_size})):",
        "    tokens = tokenizer(",
        f'        batch["text"], truncation=True, max_length={plan.sequence_length}, padding=True,',
        '        return_tensors="pt",',
        "    ).to(model.device)",
        '    labels = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)',
        f"    loss = model(**tokens, labels=labels).loss / {plan.accumulation}",
        "    loss.backward()",
        f"    if (number + 1) % {plan.accumulation} == 0:",
        "        optimizer.step()",
        "        optimizer.zero_grad()",
    ]
    return "\n".join(lines)
