"""Who takes part in a topic: the table, how it is filled, and kept alive."""
