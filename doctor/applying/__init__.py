"""A plan carried out on the target, so that the target is as before or cured, and never between.

``workplace`` is where the steps run; ``aside`` builds a virtual environment's twin and exchanges the two at
once; ``in_place`` keeps what an interpreter without an environment of its own had; ``journal`` has what is
needed to go back, ``lock`` keeps two runs apart, ``applied`` is the course of it all.
"""
