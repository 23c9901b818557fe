"""Many machines at once: a launch line for each launcher, and what differs between the nodes."""
