"""The parts of ``scripts/derive_memory_formula.py``."""
