"""Writing a spool: from the event loop through a buffer into segments, and mending before that."""
