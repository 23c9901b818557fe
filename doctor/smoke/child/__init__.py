"""The program of the trial that runs inside the target: parts of one text, in this order behind the frame.

The parts share one set of names and are never imported. Python 3.8 grammar, standard library at the top,
the target's own libraries inside the stages that try them.
"""

PARTS = ("record", "imports", "gpu", "model", "proofs", "steps", "evaluation", "trainers", "stages")
