"""Kinds of trace events that only routing has; the others are in :mod:`rumormill.core.trace`."""

from __future__ import annotations

NEIGHBOUR_UP = "neighbour_up"  # hellos go both ways; fields: protocol, outbound, node
NEIGHBOUR_DOWN = "neighbour_down"  # fields: reason
ROUTES_CHANGED = "routes_changed"  # a neighbour told some; fields: changes, known
ROUTES_ASKED = "routes_asked"  # a neighbour is asked to tell all again; fields: reason
ROUTING_RETRY = "routing_retry"  # a neighbour has not answered; fields: what, attempt
LEFT_ALONE = "left_alone"  # whoever is there gets no more hellos; fields: reason
