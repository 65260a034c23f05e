"""What travels: packets between an SDK and its node, between nodes, and what is inside of them.

Nothing here knows a connection or the time. Decoders raise
:class:`~rumormill.core.errors.RemoteProtocolError` for whatever a peer may not send.
"""
