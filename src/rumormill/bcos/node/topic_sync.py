"""Topic state: nodes tell the seq of their topics, and ask for the list when another's has moved.

Nodes of ours say in the question which seq they know, and get the changes alone. Nodes of other
make do not look at it, and answer with all their topics.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Protocol

from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.node.questions import Done
from rumormill.bcos.node.topic_board import TopicBoard
from rumormill.bcos.node.topics_of_nodes import TopicsOfNodes
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket
from rumormill.bcos.wire.topic_state import (
    TopicChanges,
    TopicType,
    decode_changes,
    decode_list,
    decode_question,
    decode_seq,
    encode_changes,
    encode_list,
    encode_seq,
)
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn

SEQ_COST = 5.0
"""Microseconds of a seq; an honest node sends one in five seconds, and one with each change."""

NAME_COST = 0.5
"""Microseconds of each name in a list."""

ANSWER_BYTE_COST = 0.005
"""Microseconds of each byte of an answer to who asks again for what it was told already."""

LIE_COST = 1000.0
"""Microseconds for a seq that comes to nothing: it makes us ask."""

MOST_TRACED = 64
"""Topics of one change that are traced one by one; of more, the number."""

EVERYBODY = ""
"""Key of the timer for what all nodes are to be told."""


class TopicPort(Protocol):
    """The way to other nodes, and who is told of their topics."""

    def send(self, node: str, packet: P2PPacket) -> bool:
        """Hand a packet to a node; False if it cannot leave."""
        ...

    def ask_packet(
        self, node: str, protocol: int, kind: int, payload: bytes, timeout: float, done: Done
    ) -> None:
        """Send a packet and wait for its answer."""
        ...

    def charge_work(self, node: str, what: str, cost: float, blame: bool) -> None:
        """A node has made us work."""
        ...

    def topics_changed(self, node: str, names: Iterable[str]) -> None:
        """A node has other topics now; these have come or gone."""
        ...

    def topics_confirmed(self, node: str) -> None:
        """A node has the topics that it had."""
        ...

    def seq_heard(self, node: str) -> None:
        """A node has a new seq; it will be asked."""
        ...


class TopicState:
    """What we know of the topics of one node."""

    __slots__ = ("answered", "asking", "confirmed_at", "direct", "heard", "news", "seq", "settled")

    def __init__(self, direct: bool) -> None:
        self.direct = direct
        """Whether it is told our seq by us, over a link of its own."""
        self.seq: int | None = 0
        """Of the topics that we know; None if that has to be asked for anew."""
        self.heard = 0
        """The last seq that it told."""
        self.asking = False
        self.news = False
        """It told another seq while we were asking."""
        self.settled = True
        """What it told last has been asked for, and answered."""
        self.answered: tuple[int, int | None] | None = None
        """What we answered it last: our seq, and since when."""
        self.confirmed_at = float("-inf")


class TopicSync:
    """Our topics to others, and theirs to us."""

    def __init__(
        self,
        turn: Turn,
        board: TopicBoard,
        parameters: NodeParameters,
        port: TopicPort,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._board = board
        self._parameters = parameters
        self._port = port
        self._direct = not parameters.relay
        """Whether only what is published here goes to others by what we know of their topics."""
        self._states: dict[str, TopicState] = {}
        self._timers: Timers[str] = Timers(alarm)
        self._list: tuple[int, bytes] = (0, encode_list(0, ()))
        """Our list as it travels, and its seq."""
        self.known = TopicsOfNodes()
        board.on_change(self._board_changed)

    # ---- nodes come and go

    def joined(self, node: str, direct: bool = True) -> None:
        """A node can be reached; if it was there on another way, what we know is to be asked for
        anew."""
        state = self._states.get(node)
        if state is None:
            state = self._states[node] = TopicState(direct)
        else:
            state.direct = direct
            state.seq = None
            state.heard = 0
            state.settled = False
        if direct:
            self._tell(node)
        self._timers.set(node, self._turn.now + self._parameters.topic_interval)

    def left(self, node: str) -> None:
        """A node cannot be reached any more."""
        self._states.pop(node, None)
        self._timers.cancel(node)
        had = self.known.count(node)
        self.known.forget(node)
        if had:
            self._turn.trace(trace.PEER_UNSUBSCRIBED, peer=node, count=had, reason="left")

    def heard_seq(self, node: str) -> int:
        """The last seq that a node has told."""
        state = self._states.get(node)
        return 0 if state is None else state.heard

    # ---- telling ours

    def _board_changed(self) -> None:
        self._timers.at_latest(EVERYBODY, self._turn.now + self._parameters.topic_delay)

    def _tell(self, node: str) -> None:
        payload = encode_seq(self._board.seq)
        self._port.send(node, P2PPacket(Module.TOPIC, TopicType.SEQ, 0, payload))

    def _answer(self, node: str, state: TopicState, packet: P2PPacket) -> None:
        since = decode_question(packet.payload)
        kind, payload = self._answer_to(since)
        if state.answered == (self._board.seq, since):
            cost = SEQ_COST + ANSWER_BYTE_COST * len(payload)
            self._port.charge_work(node, "topics_again", cost, True)
        if self._port.send(node, P2PPacket(-Module.TOPIC, kind, packet.seq, payload)):
            state.answered = (self._board.seq, since)

    def _answer_to(self, since: int | None) -> tuple[int, bytes]:
        board = self._board
        # At 0 all is new: the list itself says the same in fewer words.
        changes = board.changes_since(since) if since else None
        if changes is not None and since is not None:
            told = TopicChanges(board.seq, since, list(changes.added), list(changes.removed))
            return TopicType.CHANGES, encode_changes(told)
        if self._list[0] != board.seq:
            self._list = (board.seq, encode_list(board.seq, board.topics))
        return TopicType.LIST, self._list[1]

    # ---- hearing theirs

    def received(self, node: str, packet: P2PPacket) -> None:
        """A packet of this module, which is no answer."""
        state = self._states.get(node)
        if state is None:
            return  # it left within this turn
        if packet.type == TopicType.QUESTION and packet.seq:
            self._answer(node, state, packet)
        elif packet.type == TopicType.SEQ:
            self._port.charge_work(node, "topic_seqs", SEQ_COST, True)
            self.heard(node, decode_seq(packet.payload))
        else:
            raise RemoteProtocolError("bad_topic_packet", f"type {packet.type}")

    def heard(self, node: str, seq: int) -> None:
        """A node, or somebody on the way to it, tells its seq."""
        state = self._states.get(node)
        if state is None:
            return
        if seq < state.heard and state.direct:
            self._port.charge_work(node, "seq_backwards", LIE_COST, True)
            detail = f"from {state.heard} to {seq}"
            self._turn.trace(trace.PROTOCOL_ERROR, peer=node, reason="seq_backwards", detail=detail)
            state.seq = None
        if seq != state.heard:
            state.heard = seq
            self._port.seq_heard(node)
        if seq == state.seq:
            state.settled = True
            self._confirmed(node, state)
        elif state.asking:
            state.news = True
        else:
            self._ask(node, state)

    def _confirmed(self, node: str, state: TopicState) -> None:
        """Not more often than an honest node would have it: it makes us ask subscribers."""
        if self._turn.now - state.confirmed_at >= self._parameters.topic_interval / 2:
            state.confirmed_at = self._turn.now
            self._port.topics_confirmed(node)

    def _ask(self, node: str, state: TopicState) -> None:
        known = state.seq
        if known is not None and state.heard < known:
            known = None  # of two ways to it one is behind, or it has begun anew
        state.asking, state.news, state.settled = True, False, False
        question = encode_seq(known) if known else b""
        self._port.ask_packet(
            node, Module.TOPIC, TopicType.QUESTION, question,
            self._parameters.topic_timeout, partial(self._answered, node, state, known),
        )  # fmt: skip

    def _answered(
        self, node: str, state: TopicState, known: int | None, packet: P2PPacket | None, why: str
    ) -> None:
        state.asking = False
        if self._states.get(node) is not state:
            return
        if packet is None:
            self._turn.trace(trace.DROPPED, peer=node, what="topics", reason=why, count=1)
            return  # it is asked again with its next seq
        try:
            self._take(node, state, known, packet)
        except RemoteProtocolError:
            state.seq = None  # the next question is for the whole list
            raise

    def _take(self, node: str, state: TopicState, known: int | None, packet: P2PPacket) -> None:
        if packet.type == TopicType.LIST:
            seq, topics, strange = decode_list(packet.payload, self._room(node))
            if strange:
                self._turn.trace(
                    trace.DROPPED, peer=node, what="topics", reason="not_taken", count=strange
                )
            added, removed = self.known.differences(node, topics)
            cost = NAME_COST * (len(topics) + strange)
        elif packet.type == TopicType.CHANGES and known:
            most = self._room(node) + self.known.count(node)  # all new, and all old ones gone
            seq, since, added, removed = decode_changes(packet.payload, most)
            cost = NAME_COST * (len(added) + len(removed))
            self._check_changes(node, known, since, added, removed)
        else:
            raise RemoteProtocolError("bad_topic_packet", f"type {packet.type} for an answer")
        self._port.charge_work(node, "topic_names", cost, not (added or removed))
        if seq < state.heard and not state.news:
            self._port.charge_work(node, "seq_of_nothing", LIE_COST, True)
        state.seq, state.settled = seq, True
        self._changed(node, added, removed)
        if state.news and state.heard > seq:
            self._ask(node, state)

    def _check_changes(
        self, node: str, known: int, since: int, added: list[str], removed: list[str]
    ) -> None:
        has = self.known.has
        fits = since == known and all(has(node, name) for name in removed)
        if not fits or any(has(node, name) for name in added):
            raise RemoteProtocolError("changes_do_not_fit", f"since {since}, {known} known")
        if len(added) - len(removed) > self._room(node) - self.known.count(node):
            raise RemoteProtocolError("too_many_topics", f"{len(added)} more")

    def _room(self, node: str) -> int:
        """How many topics a node may have."""
        others = self.known.total - self.known.count(node)
        return max(0, min(self._parameters.max_peer_topics, self._parameters.max_topics - others))

    def _changed(self, node: str, added: list[str], removed: list[str]) -> None:
        self.known.change(node, added, removed)
        for event, names in (
            (trace.PEER_UNSUBSCRIBED, removed),
            (trace.PEER_SUBSCRIBED, added),
        ):
            if len(names) > MOST_TRACED:
                self._turn.trace(event, peer=node, count=len(names))
            else:
                for name in names:
                    self._turn.trace(event, topic=name, peer=node, direct=self._direct)
        if added or removed:
            self._port.topics_changed(node, (*added, *removed))

    # ---- time

    def wake(self, now: float) -> None:
        """Tell our seq where it is time, and ask again where no answer came."""
        for node in self._timers.due(now):
            if node == EVERYBODY:
                for each in list(self._states):
                    if self._states[each].direct:
                        self._tell(each)
                continue
            self._timers.set(node, now + self._parameters.topic_interval)
            state = self._states[node]
            if state.direct:
                self._tell(node)
            elif state.settled:
                self._confirmed(node, state)
            elif not state.asking:
                self._ask(node, state)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def stop(self) -> None:
        """Tell nobody any more."""
        for node in [EVERYBODY, *self._states]:
            self._timers.cancel(node)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {"topic_states": len(self._states), **self.known.sizes()}
