"""Watching a run: its command untouched, its memory seen from outside and, where it lets us, from inside."""
