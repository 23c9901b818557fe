"""``python -m doctor``."""

from doctor.cli import main

main()
