"""Static run: what would happen at each stage of a fine-tune, read from the sources of the packages alone.

An abstract interpreter of Python. It runs module bodies, and of each stage's program the calls, over values
that may be unknown. Availability checks, version guards, lazy modules, constructors and signatures are not
described anywhere: they are run. Where a test is unknown both branches run, and what they raise is not
believed; only what happens for certain is told.
"""
