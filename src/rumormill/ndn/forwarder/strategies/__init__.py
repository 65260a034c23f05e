"""Strategies: to which of the next hops an Interest goes, and which of them serves a prefix."""
