"""The trial: the imports and the 4-bit LoRA run, in children of the target."""
