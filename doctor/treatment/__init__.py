"""Findings -> one ordered plan for the whole set, in the words of the target's own installer. Pure.

``plan`` has the types, ``changes`` reads what a fix changes off its commands, ``planning`` makes the plan,
``languages`` says each step as pip, uv, conda, a project's own tool or a file would have it.
"""
