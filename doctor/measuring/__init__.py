"""An honest run of a plan on a real device, in a child of the target: ``fit --measure`` and ``--bisect``."""
