"""Certificates: making a chain, reading one, and saying in a sentence what is wrong with one."""
