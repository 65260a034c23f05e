"""libp2p's Kademlia (kad-dht): a table of peers by distance, lookups, and who provides what.

:mod:`message` is the wire, :mod:`table` whom we know, :mod:`lookup` how a key is approached,
:mod:`providers` and :mod:`server` what we keep for others, :mod:`kademlia` the way that topics are
found by.
"""
