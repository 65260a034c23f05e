"""Finding peers: the ways to do so, each a machine, and what holds them together."""
