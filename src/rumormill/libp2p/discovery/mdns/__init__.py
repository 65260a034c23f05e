"""mDNS as libp2p uses it: nodes of one local network find each other without being told anything.

``dns`` reads and writes the little of DNS that is needed, ``records`` what libp2p says in it,
``way`` asks, answers, and forgets. The sockets are in :mod:`rumormill.live.transports.multicast`.

Why our own and not python-zeroconf, which is well maintained: it is a whole resolver with sockets,
tasks and a clock of its own, so nothing of it could run in virtual time; its cache has no bound
that a stranger on the network could not use up; and what libp2p needs of it is one question and
one answer.
"""
