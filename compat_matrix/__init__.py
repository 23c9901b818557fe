"""Which releases, builds, drivers and GPUs do not go together: data only, its form is in README.md.

PYTEST_DONT_REWRITE, as in ``doctor``.
"""
