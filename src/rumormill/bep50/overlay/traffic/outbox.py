"""What a call of the node has brought about so far: the effects, in order."""

from __future__ import annotations

from rumormill.bep50.effects import Bep50Effect, ContactEnded
from rumormill.core.machine import Peer, Send
from rumormill.core.trace import PACKET_SENT, TraceEvent, type_of_field

VALUES = ("put", "value")
"""Packets that carry a value."""


class Outbox:
    """Where every part of a node leaves its effects; it knows the time and our name for them.

    >>> outbox = Outbox("us", trace_packets=False)
    >>> effects = outbox.begin(now=7.0)
    >>> outbox.emit("joined", "weather"); effects[0].to_json_line()
    '{"time":7.0,"node":"us","event":"joined","topic":"weather","message_id":null,"peer":null}'
    """

    __slots__ = ("effects", "ended", "name", "now", "trace_packets")

    def __init__(self, name: str, trace_packets: bool) -> None:
        self.name = name
        """What traces call us: our address."""
        self.now = 0.0
        self.trace_packets = trace_packets
        self.effects: list[Bep50Effect] = []
        """Those of the call under way."""
        self.ended: list[ContactEnded] | None = None
        """Where ends of contacts are left instead, for who looks after contacts itself."""

    def begin(self, now: float) -> list[Bep50Effect]:
        """A call begins; returns the list that its effects will be in."""
        self.now = now
        self.effects = []
        return self.effects

    def send(self, peer: Peer, packet: bytes, kind: str) -> None:
        """Send a datagram; ``kind`` is the query's method, ``answer``, ``value`` or ``error``."""
        self.effects.append(Send(peer, packet))
        if self.trace_packets:
            self.effects.append(
                TraceEvent(
                    self.now, self.name, PACKET_SENT, None, None, peer,
                    {"size": len(packet), "messages": int(kind in VALUES), "kind": kind},
                )
            )  # fmt: skip

    def contact_ended(self, peer: Peer, topic: bytes, problem: str) -> None:
        """Tell what became of a contact."""
        ended = ContactEnded(peer, topic, problem)
        if self.ended is None:
            self.effects.append(ended)
        else:
            self.ended.append(ended)

    def emit(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """Trace an event of this node at this time."""
        self.effects.append(TraceEvent(self.now, self.name, event, topic, message_id, peer, fields))
