"""Files that a node keeps: whole at any time, and readable by their owner alone."""
