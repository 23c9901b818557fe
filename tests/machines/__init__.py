"""Machines as checks saw them, each a file with its facts and the findings that were right for it."""
