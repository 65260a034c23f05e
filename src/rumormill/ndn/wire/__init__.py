"""What travels: names, Interests, Data, link packets, and what pubsub and management put in them.

Pure functions; nothing here knows a face or the time. Decoders raise
:class:`~rumormill.core.errors.RemoteProtocolError` for whatever a peer may not send, and cost time
in proportion to the length of what they are given.
"""
