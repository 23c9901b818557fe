"""Parts of ``scripts/compute_matrix.py``: which sets are evaluated, and how outcomes become clashes."""
