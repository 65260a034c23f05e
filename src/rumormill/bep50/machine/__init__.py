"""The whole machine of a bep50 node: overlays, publications, contacts, the main DHT."""

from rumormill.bep50.machine.machine import Bep50Machine

__all__ = ["Bep50Machine"]
