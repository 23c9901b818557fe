"""From a paste to the root cause: facts of its statements, causes of its complaints, both held together."""
