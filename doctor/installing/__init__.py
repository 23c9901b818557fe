"""A complete stack in a new virtual environment, by pip or uv; begun anywhere, it can be finished later.

``marker`` has what an environment says of its own making, ``tools`` the commands, ``room`` what the place
must offer, ``trouble`` the words of an installer that failed, ``making`` the course of it all.
"""
