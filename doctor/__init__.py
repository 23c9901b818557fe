"""lora-doctor: the true cause of a broken LoRA or QLoRA environment, and a fix that works."""

__version__ = "0.1.0"
