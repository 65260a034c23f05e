"""What a node takes along from one run to the next, and what it makes of it."""
