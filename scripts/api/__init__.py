"""Reads releases for `extract_api.py`: what their modules export, what their callables take."""
