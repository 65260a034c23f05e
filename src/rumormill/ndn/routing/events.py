"""Kinds of trace events that only routing has; the others are in :mod:`rumormill.core.trace`."""

from __future__ import annotations

from typing import Final

NEIGHBOUR_UP: Final = "neighbour_up"  # hellos go both ways; fields: protocol, outbound, node
NEIGHBOUR_DOWN: Final = "neighbour_down"  # fields: reason
ROUTES_CHANGED: Final = "routes_changed"  # a neighbour told some; fields: changes, known
ROUTES_ASKED: Final = "routes_asked"  # a neighbour is asked to tell all again; fields: reason
ROUTING_RETRY: Final = "routing_retry"  # a neighbour has not answered; fields: what, attempt
LEFT_ALONE: Final = "left_alone"  # whoever is there gets no more hellos; fields: reason

REPEATABLE: Final = frozenset((ROUTES_CHANGED, ROUTES_ASKED, ROUTING_RETRY))
"""Kinds that neighbours can bring about as often as they like: traces sum them up."""
