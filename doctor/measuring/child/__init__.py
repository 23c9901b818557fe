"""The program of a measurement that runs inside the target: parts of one text, in order behind the frame.

The parts share one set of names and are never imported. Python 3.8 grammar, standard library at the top,
the target's own libraries inside functions.
"""

PARTS = ("limit", "storages", "phases", "model", "quantised", "plan", "loops", "run")
