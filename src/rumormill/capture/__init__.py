"""The spool: what a node delivered and what happened on it, kept in a folder for later readers."""
