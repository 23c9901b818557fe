"""The libraries of a LoRA fine-tune."""

from __future__ import annotations

# Distribution names, which are import names too, in the order in which they stand on one another.
STACK = ("torch", "bitsandbytes", "transformers", "accelerate", "peft", "trl")
