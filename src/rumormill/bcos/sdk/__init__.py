"""The client of a node, as a machine: publishes and subscribes by one of several nodes."""
