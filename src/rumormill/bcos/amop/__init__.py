"""AMOP: messages between applications, across their nodes.

Its parts know the other nodes and the subscribers of this one by what :mod:`~.ports` says alone.
"""
