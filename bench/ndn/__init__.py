"""Benchmarks of the ndn family: see :mod:`bench.ndn.part`."""
