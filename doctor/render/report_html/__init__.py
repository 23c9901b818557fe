"""A report as a page to look at: one file, nothing loaded from elsewhere.

``markup`` escapes, ``look`` and ``script`` are what every page shares, ``shell`` joins them; ``page`` has the
order of the sections, and each other module draws one kind of thing. ``fragment`` is the same for notebooks.
"""
