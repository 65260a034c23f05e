"""Recent messages, in windows of one heartbeat each: what gossip tells of and answers with."""

from __future__ import annotations

from collections import deque

from rumormill.core.machine import Peer
from rumormill.libp2p.wire.message import WireMessage


class MessageCache:
    """The last ``windows`` heartbeats' messages; the newest ``gossip_windows`` are told about.

    Bounded in bytes too: a flood of large messages shortens the history, it does not fill memory.
    """

    __slots__ = (
        "_bytes", "_heartbeat", "_ids", "_messages", "_most_bytes", "_order", "_sent", "_windows",
        "evicted",
    )  # fmt: skip

    def __init__(self, windows: int, gossip_windows: int, most_bytes: int) -> None:
        self._windows = windows
        self._most_bytes = most_bytes
        self._heartbeat = 0
        # Each with the heartbeat that it came in, oldest first.
        self._order: deque[tuple[int, WireMessage]] = deque()
        # For each window: the ids of each topic. A heartbeat asks for every topic there is.
        self._ids: deque[dict[str, list[bytes]]] = deque({} for _ in range(gossip_windows))
        self._messages: dict[bytes, WireMessage] = {}
        self._sent: dict[bytes, dict[Peer, int]] = {}
        self._bytes = 0
        self.evicted = 0
        """Messages that had to go before their time since this was last set to 0."""

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: WireMessage) -> None:
        """Add a message to the newest window."""
        message_id = message.id
        if message_id in self._messages:
            return
        self._messages[message_id] = message
        self._order.append((self._heartbeat, message))
        newest = self._ids[0]
        for topic in message.topics:
            ids = newest.get(topic)
            if ids is None:
                newest[topic] = [message_id]
            else:
                ids.append(message_id)
        self._bytes += len(message.raw)
        while self._bytes > self._most_bytes and len(self._messages) > 1:
            self._forget_oldest()
            self.evicted += 1

    def get(self, message_id: bytes) -> WireMessage | None:
        """The message, if it is still kept."""
        return self._messages.get(message_id)

    def count_send(self, message_id: bytes, peer: Peer) -> int:
        """Note that the message goes to ``peer`` on request; returns how often it has now."""
        sent = self._sent.setdefault(message_id, {})
        sent[peer] = sent.get(peer, 0) + 1
        return sent[peer]

    @property
    def gossiped(self) -> bool:
        """Whether there is anything to tell about, on whatever topic."""
        return any(self._ids)

    def gossip_ids(self, topic: str) -> list[bytes]:
        """Ids of the topic's messages in the newest windows."""
        told = dict.fromkeys([each for ids in self._ids for each in ids.get(topic, ())])
        known = self._messages  # some may have had to go before their time, or come anew
        return [each for each in told if each in known and topic in known[each].topics]

    def shift(self) -> None:
        """A heartbeat has passed: forget the oldest window, begin a new one."""
        self._heartbeat += 1
        oldest = self._heartbeat - self._windows
        while self._order and self._order[0][0] <= oldest:
            self._forget_oldest()
        self._ids.pop()
        self._ids.appendleft({})

    def _forget_oldest(self) -> None:
        _, message = self._order.popleft()
        del self._messages[message.id]
        self._bytes -= len(message.raw)
        if self._sent:
            self._sent.pop(message.id, None)
