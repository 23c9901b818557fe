"""``lint``: files instead of machines. Files become facts here, the rules of every other command judge them.

``inputs`` finds and opens files, ``choice`` tells which releases an installer would take for what a file
asks, ``judging`` makes facts and a report of both, ``places`` says where in the file a finding has its cause,
``scripts`` holds training scripts against versions, ``stated_versions`` reads those that a script asks for
itself, ``run`` goes through all files in their order.
"""
