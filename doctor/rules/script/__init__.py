"""Faults of a training script under the versions in question: its calls, its imports, and their order."""

from __future__ import annotations

from doctor.rules.script import arguments, choices, machine, models, overrides, symbols, trainers

__all__ = ["arguments", "choices", "machine", "models", "overrides", "symbols", "trainers"]
