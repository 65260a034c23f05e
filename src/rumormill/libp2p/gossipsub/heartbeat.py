"""The heartbeat: what all parts of a gossipsub router do once in a while, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.pubsub.part import Part, hears


class HeartbeatPart(Part):
    """A part that has something to do at every heartbeat."""

    def heartbeat(self, now: float) -> None:
        """A heartbeat is due."""


class Heartbeat:
    """Runs the parts at even intervals, from the first reason to do so."""

    def __init__(self, parameters: GossipsubParameters, parts: Iterable[Part]) -> None:
        self._delay = parameters.heartbeat_delay
        self._interval = parameters.heartbeat_interval
        self._parts = [
            part.heartbeat
            for part in parts
            if isinstance(part, HeartbeatPart) and hears(part, "heartbeat", HeartbeatPart)
        ]
        self.due: float | None = None
        """When the next one is; None before there is a reason for any."""

    def start(self, now: float) -> None:
        """There is a peer or a topic."""
        if self.due is None:
            self.due = now + self._delay

    def run(self, now: float) -> None:
        """Run the parts if it is time; a heartbeat that was missed is not made up for."""
        due = self.due
        if due is None or now < due:
            return
        later = due + self._interval
        self.due = later if later > now else now + self._interval
        for heartbeat in self._parts:
            heartbeat(now)
