"""The last part of every collector: leave at once, for the interpreter's teardown shows nothing more."""

sys.stdout.flush()
os._exit(0)
