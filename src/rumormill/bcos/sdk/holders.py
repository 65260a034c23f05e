"""Who listens to a topic, as far as nodes tell: asked for again and again, for a few topics.

A node of our own make answers the JSON-RPC question ``rumormill_subscribers``. Others answer with
an error; then the topics that ``getPeers`` lists for each of its neighbours have to do, which leave
out those who listen on the node itself. A node that answers neither leaves us ignorant.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from rumormill.bcos.links.pending import Pending
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.pool import Pool
from rumormill.bcos.sdk.private_topics import PrivateTopics
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.json_text import number_of, read_object, write_json
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn

SUBSCRIBERS_UNKNOWN: Final = "subscribers_unknown"
"""A node cannot tell who listens; whoever waits for subscribers of a topic need not any more."""

QUESTION: Final = "rumormill_subscribers"
QUESTION_OF_OTHERS: Final = "getPeers"
GROUP: Final = 1
"""What ``getPeers`` has to be asked with; the answer is the same for every group."""

ANSWER_TIMEOUT: Final = 5.0
LARGEST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes: the topics of all neighbours may be in it."""
MOST_NODES: Final = 1000
"""Nodes of one topic that are remembered."""


class Holders:
    """The nodes that have subscribers, by topic. The topics used last are asked for."""

    def __init__(
        self,
        turn: Turn,
        parameters: SdkParameters,
        pool: Pool,
        private: PrivateTopics,
        questions: Pending[bytes, ChannelPacket],
        reads: Callable[[str], bool],
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._pool = pool
        self._private = private
        self._questions = questions
        self._reads = reads
        """Whether we listen to a topic ourselves."""
        self._known: OrderedDict[str, tuple[str, ...] | None] = OrderedDict()
        """What was used last comes last; None while nobody has told."""
        self._watched: dict[str, int] = {}
        self._asking: dict[str, bytes] = {}
        self._timers: Timers[str] = Timers(alarm)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, topic: str) -> tuple[str, ...] | None:
        """The nodes that have subscribers of a topic; None if nobody can tell."""
        return self._known.get(topic)

    def has_targets(self, topic: str) -> bool:
        """Whether a message would find somebody; if our node cannot tell, it may."""
        connection = next(iter(self._pool.up()), None)
        if connection is None:
            return False
        return connection.asks_peers is None or bool(self._known.get(topic))

    def watch(self, topic: str, watching: bool) -> None:
        """Somebody begins or ends to wait for subscribers; those are asked for more often."""
        count = self._watched.pop(topic, 0) + (1 if watching else -1)
        if count > 0:
            self._watched[topic] = count
        if watching:
            self.use(topic)
            self._timers.at_latest(topic, self._turn.now)

    def use(self, topic: str) -> None:
        """A topic is of interest; past the limit, the one that was so longest ago is not any more,
        unless somebody waits for it.
        """
        known = self._known
        if topic in known:
            known.move_to_end(topic)
            return
        known[topic] = None
        self._timers.set(topic, self._turn.now)
        if len(known) > self._parameters.max_known_topics:
            oldest = next((each for each in known if each not in self._watched), None)
            if oldest is not None:
                self._set(oldest, ())
                del known[oldest]
                self._timers.cancel(oldest)

    def node_down(self) -> None:
        """A node is gone; without any, nobody can be reached."""
        if not self._pool.up():
            for topic in self._known:
                self._set(topic, ())
                self._known[topic] = None

    def node_up(self) -> None:
        """A node is there: ask it, rather than wait for the next turn."""
        for topic in self._known:
            self._timers.at_latest(topic, self._turn.now)

    def wake(self) -> None:
        """Ask for what is due."""
        for topic in self._timers.due(self._turn.now):
            self._ask(topic)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    # ---- asking

    def _ask(self, topic: str) -> None:
        connection = next(iter(self._pool.up()), None)
        if topic in self._asking or topic not in self._known or connection is None:
            return  # the answer, or the next node, sets the next turn
        if connection.asks_peers is None:
            self._again(topic)
            return
        seq = self._pool.new_seq()
        call: dict[str, object] = {"jsonrpc": "2.0", "id": 1}
        if connection.asks_peers:
            call.update(method=QUESTION_OF_OTHERS, params=[GROUP])
        else:
            call.update(method=QUESTION, params=[self._private.name(topic)])
        if not connection.send(ChannelType.RPC, seq, write_json(call)):
            self._again(topic)
            return
        self._asking[topic] = seq
        until = self._turn.now + ANSWER_TIMEOUT
        done = partial(self._answered, connection, topic, connection.asks_peers)
        self._questions.begin(seq, connection.number, until, done)

    def _again(self, topic: str) -> None:
        parameters = self._parameters
        watched = topic in self._watched
        delay = parameters.watch_interval if watched else parameters.subscribers_interval
        self._timers.set(topic, self._turn.now + delay)

    def _answered(
        self,
        connection: Connection,
        topic: str,
        asked_peers: bool,
        answer: ChannelPacket | None,
        problem: str,
    ) -> None:
        del self._asking[topic]
        if topic not in self._known:
            return
        self._again(topic)
        if answer is None:
            return
        reply = read_object(answer.data, LARGEST_ANSWER)
        if "result" not in reply:
            self._not_understood(connection, topic, asked_peers)
        elif asked_peers:
            self._set(topic, _holders_among_peers(reply["result"], self._private.name(topic)))
        else:
            self._set(topic, self._told(reply["result"], topic, connection.peer))

    def _told(self, result: Any, topic: str, node: str) -> tuple[str, ...]:
        """Of the answer to our own question: other nodes, and the one that was asked, if others
        than we listen there.
        """
        if not isinstance(result, dict) or not isinstance(result.get("nodes"), list):
            raise RemoteProtocolError("bad_rpc_answer", f"{QUESTION} without nodes")
        nodes = [each for each in result["nodes"] if isinstance(each, str)]
        ours = sum(each.peer == node for each in self._pool.up()) if self._reads(topic) else 0
        if number_of(result, "here") > ours:
            nodes.insert(0, node)
        return tuple(dict.fromkeys(nodes[:MOST_NODES]))

    def _not_understood(self, connection: Connection, topic: str, asked_peers: bool) -> None:
        """The node does not know the question: is there another?"""
        if connection.asks_peers == asked_peers:
            connection.asks_peers = None if asked_peers else True
        if connection.asks_peers is None:
            self._known[topic] = None
            self._turn.trace(SUBSCRIBERS_UNKNOWN, peer=connection.peer)
        else:
            self._timers.set(topic, self._turn.now)

    def _set(self, topic: str, nodes: tuple[str, ...]) -> None:
        before = self._known.get(topic) or ()
        self._known[topic] = nodes
        for node in nodes:
            if node not in before:
                self._turn.trace(trace.PEER_SUBSCRIBED, topic, peer=node)
        for node in before:
            if node not in nodes:
                self._turn.trace(trace.PEER_UNSUBSCRIBED, topic, peer=node)


def _holders_among_peers(result: Any, name: str) -> tuple[str, ...]:
    """Of a list of neighbours: those that have the topic."""
    if not isinstance(result, list):
        raise RemoteProtocolError("bad_rpc_answer", f"{QUESTION_OF_OTHERS} without a list")
    found: dict[str, None] = {}
    for peer in result:
        if not isinstance(peer, dict) or not isinstance(peer.get("Topic"), list):
            continue
        node = peer.get("NodeID")
        if isinstance(node, str) and name in peer["Topic"] and len(found) < MOST_NODES:
            found[node] = None
    return tuple(found)
