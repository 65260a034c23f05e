"""The overlay of a topic without I/O: tables, joining, forwarding, publishing."""
