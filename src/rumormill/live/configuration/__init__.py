"""The keys that can be set on a network, and their values."""
