"""Findings -> one ordered plan for the whole set, in the words of the target's own installer. Pure.

``plan`` and ``outcome`` have the types. ``changes`` reads what a fix changes off its commands, ``choosing``
takes one fix for each finding, ``solving`` puts all wishes through one solve, ``foreseeing`` judges what
would be found afterwards, ``planning`` orders the steps; ``registrations`` knows what installers stumble
over, ``variables`` joins what findings ask of one variable. ``languages`` says each step as pip, uv, conda, a
project's own tool or a file would have it, ``settings`` and ``shells`` where a variable belongs, ``by_hand``
what distributions call their packages.
"""
