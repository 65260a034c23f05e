"""The overlay of a topic without I/O: tables, joining, forwarding, publishing."""

from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.saved.saved_state import saved_id

__all__ = ["OverlayNode", "OverlayParameters", "saved_id"]
