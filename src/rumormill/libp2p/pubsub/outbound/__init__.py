"""The way out: messages of our own (:mod:`publisher`, :mod:`round_robin`), and what waits for each
peer (:mod:`outbox`): a :mod:`queue` of control and a :mod:`backlog` of messages, with a :mod:`lane`
for each source.
"""
