"""The trace events of discovery. Each says in ``way`` how: kademlia, rendezvous, mdns, bootstrap,
remembered; what peer exchange finds is told by the ``exchange_`` events of gossipsub."""

from __future__ import annotations

DISCOVERY_ASKED = "discovery_asked"
"""A topic lacks peers, and a way was told to look; fields: way, lacking."""

DISCOVERY_FOUND = "discovery_found"
"""A way named a peer that we are not connected to; fields: way, addresses (how many), told_by."""

DISCOVERY_REFUSED = "discovery_refused"
"""A peer that was found is not dialed; fields: way, reason."""

DISCOVERY_CONNECTED = "discovery_connected"
"""A peer that was found is there; fields: way."""

DISCOVERY_FAILED = "discovery_failed"
"""A peer that was found could not be reached, or a way came to nothing; fields: way, reason."""

DISCOVERY_LOST = "discovery_lost"
"""A peer that a way had named is not to be found by it any more; fields: way, reason."""

DISCOVERY_ADVERTISED = "discovery_advertised"
"""Others can find us by this topic now; fields: way, peers (whom we have told), ttl."""

DISCOVERY_LOOKED = "discovery_looked"
"""A look of a way is over; fields: way, purpose, asked, failed, found, seconds."""

REPEATABLE = frozenset(
    (DISCOVERY_FOUND, DISCOVERY_REFUSED, DISCOVERY_FAILED, DISCOVERY_LOST, DISCOVERY_LOOKED)
)
"""Those that a peer can bring about as often as it likes."""
