"""Reading a spool: in its folder, or from the node that keeps it, and only what is wanted."""
