"""Values on their way: published, checked, passed on, acknowledged."""
