"""The program of one rank of a collective test, inside the target: parts of one text, behind the frame.

The parts share one set of names and are never imported. Python 3.8 grammar, standard library at the top,
the target's own torch inside functions.
"""

PARTS = ("telling", "store", "group", "pairs", "sums", "run")
