"""The package index -> compat_matrix/releases/, and the Python files of releases."""
