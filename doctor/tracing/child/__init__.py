"""The program of the trace that runs inside the target: parts of one text, in this order behind the frame.

The parts share one set of names and are never imported. Python 3.8 grammar.
"""

PARTS = (
    "life",
    "cuda_kernels",
    "autocast",
    "model",
    "quantised",
    "loading",
    "optimizers",
    "steps",
    "tracing",
)
