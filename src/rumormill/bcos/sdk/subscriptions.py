"""What we listen to: every node is told the complete set, whenever it changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.pool import Pool
from rumormill.bcos.sdk.private_topics import PrivateTopics
from rumormill.bcos.wire.channel_packet import ChannelType
from rumormill.bcos.wire.json_text import write_json
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn

_TELL: Final = "tell"


class Subscriptions:
    """Topics that somebody reads or answers. Changes of one turn are told in one packet."""

    def __init__(
        self,
        turn: Turn,
        parameters: SdkParameters,
        pool: Pool,
        private: PrivateTopics,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._pool = pool
        self._private = private
        self._read: dict[str, None] = {}
        self._answered: dict[str, None] = {}
        self._by_name: dict[str, str] = {}
        """Topics by their name on the wire."""
        self._timers: Timers[str] = Timers(alarm)

    def __len__(self) -> int:
        return len(self._by_name)

    def subscribe(self, topic: str) -> None:
        """The application reads a topic."""
        if topic not in self._read:
            self._listen(topic)
            self._read[topic] = None
            self._turn.trace(trace.SUBSCRIBED, topic)

    def unsubscribe(self, topic: str) -> None:
        """The application no longer reads a topic."""
        if topic in self._read:
            del self._read[topic]
            self._leave(topic)
            self._turn.trace(trace.UNSUBSCRIBED, topic)

    def set_answering(self, topic: str, answering: bool) -> None:
        """Whether the application answers the messages of a topic."""
        if answering and topic not in self._answered:
            self._listen(topic)
            self._answered[topic] = None
        elif not answering and topic in self._answered:
            del self._answered[topic]
            self._leave(topic)

    def reads(self, topic: str) -> bool:
        """Whether nodes count us among those who listen to a topic."""
        return topic in self._read or topic in self._answered

    def is_answered(self, topic: str) -> bool:
        """Whether the application answers the messages of a topic itself."""
        return topic in self._answered

    def topics(self) -> Iterable[str]:
        """The topics, as the application calls them."""
        return self._by_name.values()

    def topic_of(self, name: str) -> str | None:
        """What the application calls a topic that has this name on the wire; None if it does not
        listen to it.
        """
        return self._by_name.get(name)

    def changed(self) -> None:
        """Tell all nodes at the end of this turn."""
        self._timers.set(_TELL, self._turn.now)

    def tell(self, connection: Connection) -> None:
        """Tell a node the complete set."""
        names = [*self._by_name, *self._private.channels(connection, self._by_name)]
        seq = self._pool.new_seq()
        if not connection.send(ChannelType.SUBSCRIBE, seq, write_json(names)):
            # It would listen to what is no longer so; another connection begins anew.
            self._pool.drop(connection, "queue_full")

    def wake(self) -> None:
        """Tell what has changed."""
        if self._timers.due(self._turn.now):
            for connection in self._pool.up():
                self.tell(connection)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _listen(self, topic: str) -> None:
        name = self._private.readable_name(topic)
        if name in self._by_name:
            return
        if len(self._by_name) >= self._parameters.max_sdk_topics:
            most = self._parameters.max_sdk_topics
            raise LocalProtocolError(f"{most} topics are subscribed to, and no more are allowed")
        self._by_name[name] = topic
        self.changed()

    def _leave(self, topic: str) -> None:
        if not self.reads(topic):
            del self._by_name[self._private.readable_name(topic)]
            self.changed()
