"""A node without I/O: faces, a forwarder, routing, and publishing and subscribing on top."""
