"""Noise: who is at the other end, and a line that nobody else reads."""
