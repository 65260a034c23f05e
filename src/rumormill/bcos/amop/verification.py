"""Private topics: to which nodes their messages may go, as the publishers of this node have said.

A private topic in the list of another node is in doubt at first. As long as it is, a publisher on
this node is asked to look at the node's subscriber (0x37): when the list comes, and again with each
topic seq that brings nothing new. It says how that went (0x38), once and for all: a failure stays
one until the topic vanishes from the list or the connection ends. When the last publisher of a
topic has left this node, all that was found out for it is in doubt again: the next may know others.

Nodes of other make believe every SDK that sends a 0x38. Here it must be a publisher of that topic,
which is one that listens to its PushChannel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from rumormill.bcos.amop.attempts import Attempts
from rumormill.bcos.amop.listeners import Listeners
from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import Nodes, PacketDone, Subscriber
from rumormill.bcos.wire.channel_packet import SEQ_SIZE, ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.verification import (
    TopicStatus,
    encode_verify_request,
    is_need_verify,
    push_channel,
    verify_channels,
)
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.turn import Turn

VERIFYING: Final = 0
SUCCESS: Final = 1
FAILED: Final = 2

TOPIC_VERIFIED = "topic_verified"  # fields: passed
VERIFICATION_ASKED = "verification_asked"  # a publisher was asked to verify; fields: node
VERIFICATION_FAILED = "verification_failed"  # it did not take the question; fields: reason, node


class Counter:
    """Seqs of what this node asks by itself: decimal, with zeros before it."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def next_seq(self) -> bytes:
        """One that was not used before.

        >>> Counter().next_seq()
        b'00000000000000000000000000000001'
        """
        self._last += 1
        return b"%0*d" % (SEQ_SIZE, self._last)


class _NodeTopics:
    """The private topics of one node: the state of each, and where its subscriber is asked."""

    __slots__ = ("asking", "channels", "doubtful", "states")

    def __init__(self) -> None:
        self.states: dict[str, int] = {}
        self.channels: dict[str, list[str]] = {}
        self.doubtful: dict[str, None] = {}
        """Those that are in doubt and can be verified."""
        self.asking: dict[str, Attempts[Subscriber, ChannelPacket]] = {}


class Verification:
    """Keeps the state of every private topic of every connected node."""

    def __init__(
        self,
        turn: Turn,
        nodes: Nodes,
        listeners: Listeners,
        random: Random,
        counter: Counter,
        subscriber_timeout: float,
    ) -> None:
        self._turn = turn
        self._nodes = nodes
        self._listeners = listeners
        self._random = random
        self._counter = counter
        self._timeout = subscriber_timeout
        self._by_node: dict[str, _NodeTopics] = {}

    def routable(self, topic: str) -> list[str]:
        """Nodes that messages of a topic may go to."""
        holders = self._nodes.holders(topic)
        if not is_need_verify(topic):
            return list(holders)
        return [node for node in holders if self.state(node, topic) == SUCCESS]

    def state(self, node: str, topic: str) -> int | None:
        """The state of a private topic; None if the node has not said that it has it."""
        known = self._by_node.get(node)
        return None if known is None else known.states.get(topic)

    def topics_changed(self, node: str) -> None:
        """A node has sent its list of topics."""
        topics = self._nodes.topics_of(node)
        private = [topic for topic in topics if is_need_verify(topic)]
        if not private:
            self.node_left(node)
            return
        known = self._by_node.setdefault(node, _NodeTopics())
        before = known.states
        known.states = {topic: before.get(topic, VERIFYING) for topic in private}
        known.channels = verify_channels(topics)
        known.doubtful = {
            topic: None
            for topic, state in known.states.items()
            if state == VERIFYING and topic in known.channels
        }
        for topic in [each for each in known.asking if each not in known.states]:
            known.asking.pop(topic).stop()
        self.ask_again(node)

    def ask_again(self, node: str) -> None:
        """Ask publishers of this node about all topics of the other that are in doubt."""
        known = self._by_node.get(node)
        if known is None:
            return
        # Of two lists that others make long the shorter one is walked.
        here, there = self._listeners.private, known.doubtful.keys()
        fewer, more = (here, there) if len(here) < len(there) else (there, here)
        for topic in [each for each in fewer if each in more]:
            self._ask(node, known, topic)

    def publisher_came(self, topic: str) -> None:
        """A private topic has a publisher here now: who has it can be verified."""
        for node in self._nodes.holders(topic):
            known = self._by_node.get(node)
            if known is not None and topic in known.doubtful:
                self._ask(node, known, topic)

    def publishers_left(self, topic: str) -> None:
        """Nobody here publishes a private topic any more: what was found out for them is void."""
        for node in self._nodes.holders(topic):
            known = self._by_node.get(node)
            if known is not None and topic in known.states:
                known.states[topic] = VERIFYING
                if topic in known.channels:
                    known.doubtful[topic] = None

    def node_left(self, node: str) -> None:
        """All that was found out about a node is void."""
        known = self._by_node.pop(node, None)
        if known is not None:
            for search in known.asking.values():
                search.stop()

    def judged(self, publisher: Subscriber, status: TopicStatus) -> None:
        """A publisher says how a verification went."""
        node, topic = status.node_id, status.topic
        if not self._listeners.listens(publisher, push_channel(topic)):
            raise RemoteProtocolError("not_a_publisher", f"{topic[:80]} of {node[:16]}")
        known = self._by_node.get(node)
        if known is None or known.states.get(topic) != VERIFYING:
            raise RemoteProtocolError("not_in_doubt", f"{topic[:80]} of {node[:16]}")
        known.states[topic] = SUCCESS if status.passed else FAILED
        known.doubtful.pop(topic, None)
        if (search := known.asking.pop(topic, None)) is not None:
            search.stop()
        self._turn.trace(TOPIC_VERIFIED, topic, peer=node, passed=status.passed)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        known = self._by_node.values()
        return {
            "verified_nodes": len(self._by_node),
            "verified_topics": sum(len(each.states) for each in known),
            "verifications": sum(len(each.asking) for each in known),
        }

    def _ask(self, node: str, known: _NodeTopics, topic: str) -> None:
        if topic in known.asking:
            return  # the question has not been taken yet
        channel = self._random.choice(known.channels[topic])
        seq, body = self._counter.next_seq(), encode_verify_request(node, topic, channel)
        raw = encode_channel(ChannelPacket(ChannelType.VERIFY, seq, 0, body))
        parcel = Parcel(ChannelType.VERIFY, seq, topic, raw)

        def ask(publisher: Subscriber, done: PacketDone) -> None:
            self._turn.trace(VERIFICATION_ASKED, topic, peer=publisher.peer, node=node)
            publisher.ask(parcel, None, self._timeout, done)

        def failed(publisher: Subscriber, problem: str) -> None:
            self._turn.trace(
                VERIFICATION_FAILED, topic, peer=publisher.peer, reason=problem, node=node
            )

        def ended(answer: ChannelPacket | None, publisher: Subscriber | None) -> None:
            known.asking.pop(topic, None)

        candidates: Callable[[], list[Subscriber]] = partial(
            self._listeners.of, push_channel(topic)
        )
        search = Attempts(self._random, candidates, ask, failed, ended)
        known.asking[topic] = search
        search.go_on()
