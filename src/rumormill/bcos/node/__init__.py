"""A node among nodes, without I/O: links, dialing, topic state, and the machine of all parts."""
