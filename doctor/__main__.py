"""``python -m doctor``."""

import os
import sys

# `python -m` puts the working folder first; a tempfile.py there must not break the doctor.
if sys.path[:1] == [os.getcwd()] and not os.path.isdir("doctor"):
    del sys.path[0]

from doctor.cli import main

main()
