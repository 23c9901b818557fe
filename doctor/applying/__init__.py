"""A plan carried out on the target, so that the target is as before or cured, and never between.

``workplace`` is where the steps run: ``aside`` builds a virtual environment's twin and exchanges the two at
once, ``in_place`` keeps what an interpreter without a folder of its own had. ``relocation`` makes text name
the one or the other, ``installing`` runs the steps. ``journal`` has what is needed to go back, ``recovery``
goes back by it, ``lock`` keeps two runs apart. ``applied`` is the course of it all, ``undoing`` its reverse.
"""
