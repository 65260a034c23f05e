"""Where the tables are, what is in them, and what keeps them in shape."""
