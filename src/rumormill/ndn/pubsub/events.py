"""Trace events that only this room has; those that all families share are in core.trace."""

from __future__ import annotations

from typing import Final

PUBLICATION_ENDED: Final = "publication_ended"
"""What became of a message of ours. Fields: outcome, reason, attempts, fetched, seconds."""
RETRIED: Final = "retried"
"""Something was sent again. Fields: what (notify, fetch, segment), reason, attempt."""
FETCH_FAILED: Final = "fetch_failed"
"""A publisher was named, and the message could not be had there. Fields: reason, attempts."""
ROUTE_STANDS: Final = "route_stands"
"""The forwarder brings us what is below a prefix; again after each reconnect. Fields: prefix."""
ROUTE_REFUSED: Final = "route_refused"
"""The forwarder does not want to bring us what we asked for. Fields: prefix, reason."""

REPEATABLE: Final = frozenset((RETRIED, FETCH_FAILED))
"""Kinds that strangers can bring about as often as they like: traces sum them up."""
