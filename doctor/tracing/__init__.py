"""Asks the target what a plan would allocate: its own model class, on ``meta``, in a child."""
