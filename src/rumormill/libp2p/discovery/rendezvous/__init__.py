"""libp2p rendezvous: meeting points that nodes register at, and are asked by topic who else did.

:mod:`message` is the wire, :mod:`records` whose word counts, :mod:`registrations` and
:mod:`server` what a point keeps, :mod:`rendezvous` the way that topics are found by.
"""
