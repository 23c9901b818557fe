"""compat_matrix -> rules and queries."""
