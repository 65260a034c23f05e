"""Pubsub and the streams that there are: what it is told of its peers, what it wants of them.

The other half, how streams come about and what becomes of them, is
:mod:`~rumormill.libp2p.host.pubsub_streams`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from rumormill.core.machine import Connect, Drop, Machine, PeerJoined, PeerLeft, Send, Writable
from rumormill.core.timers import Timers
from rumormill.core.trace import DROPPED
from rumormill.core.transport import HoldPeer, RestPeer, RestTransport
from rumormill.libp2p.effects import PubsubEffect, PubsubInput
from rumormill.libp2p.host.effects import OF_CONNECTIONS, HostEffect, for_driver
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.peer_streams import PeerStreams
from rumormill.libp2p.host.table import ConnectionTable, Link, Turn
from rumormill.libp2p.wire.frames import FrameReader


class PubsubMachine(Machine[PubsubInput, PubsubEffect], Protocol):
    """What a host needs of pubsub."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """The ids of the protocols that it speaks, best first."""
        ...

    def usefulness(self, peer: str, now: float) -> int:
        """Of how much use a peer is when there is no room for all: 0 if it does nothing, 1 if it
        might be of use by what it says, more if it has shown to be.
        """
        ...

    def take_reader(self, peer: str) -> FrameReader:
        """Give away what is half read of the peer's stream: what comes next begins a frame."""
        ...


class PubsubFeed:
    """Feeds pubsub, and carries out what it wants on the streams of its peers.

    ``drop`` closes every connection of a peer, ``connect`` tries to get one.
    """

    def __init__(
        self,
        *,
        pubsub: PubsubMachine,
        parameters: HostParameters,
        table: ConnectionTable,
        turn: Turn,
        drop: Callable[[str, str, float], None],
        connect: Callable[[Connect, float], None],
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._table = table
        self._turn = turn
        self._drop = drop
        self._connect = connect
        self._peers: dict[str, PeerStreams] = {}
        self._timers: Timers[str] = Timers(turn.alarm)
        self._paused = False

    def __len__(self) -> int:
        """Of how many peers something is kept."""
        return len(self._peers)

    # ---- pubsub

    def feed(self, input: PubsubInput, now: float) -> None:
        """Give pubsub an input and see to what it wants done."""
        self.carry_out(self._pubsub.handle(input, now), now)

    def carry_out(self, effects: Sequence[PubsubEffect], now: float) -> None:
        """Do what concerns connections; the rest is the business of the host's driver."""
        passed_on = self._turn.effects
        if for_driver(effects):
            passed_on += effects  # as most are: checks, deliveries, what happened
            return
        for effect in effects:
            if type(effect) not in OF_CONNECTIONS:
                passed_on.append(cast("HostEffect", effect))
            elif isinstance(effect, Send):
                self._send(effect, now)
            elif isinstance(effect, HoldPeer):
                self._hold_peer(effect)
            elif isinstance(effect, RestPeer):
                passed_on += [
                    RestTransport(link.id, effect.seconds) for link in self._table.of(effect.peer)
                ]
            elif isinstance(effect, Drop):
                self._drop(effect.peer, effect.reason, now)
            elif isinstance(effect, Connect):
                self._connect(effect, now)

    def _send(self, effect: Send, now: float) -> None:
        streams = self._peers.get(effect.peer)
        if streams is None or not streams.outbound.agreed:
            self._turn.trace(now, DROPPED, effect.peer, what="packet", reason="no_stream")
            return
        outbound = streams.outbound
        link = outbound.link
        assert link is not None
        unsent = link.connection.write(outbound.number, effect.packet)
        self._turn.touch(link)
        outbound.written += len(effect.packet)
        if unsent:
            # The peer's window is full: see that it moves, and that not too much gathers.
            if outbound.stall_at is None:
                outbound.watch(unsent, now + self._parameters.stall_timeout)
                self._arm(streams)
            if unsent > self._parameters.send_high_water:
                outbound.fill()
                self._tell_ready(streams, now)

    def _tell_ready(self, streams: PeerStreams, now: float) -> None:
        """Let pubsub know whether it may send, if that has changed."""
        ready = streams.outbound.ready()
        if streams.joined and ready != streams.ready:
            streams.ready = ready
            self.feed(Writable(streams.peer, ready), now)

    # ---- holding peers back

    def hold(self, paused: bool) -> None:
        """Hold all peers back, or let those go on that pubsub does not want held."""
        self._paused = paused
        for streams in self._peers.values():
            self._apply_hold(streams)

    def _hold_peer(self, effect: HoldPeer) -> None:
        streams = self._peers.get(effect.peer)
        if streams is not None:
            streams.held = effect.held
            self._apply_hold(streams)

    def _apply_hold(self, streams: PeerStreams) -> None:
        for link, inbound in streams.inbound.items():
            link.connection.hold(inbound.number, self._paused or streams.held)
            self._turn.touch(link)

    # ---- joining and leaving

    def _join(self, streams: PeerStreams, link: Link, protocol: str, now: float) -> None:
        streams.joined = streams.ready = True
        dialed = self._table.dialed(streams.peer)
        self.feed(PeerJoined(streams.peer, protocol, dialed, link.address), now)
        self._tell_ready(streams, now)

    def _leave(self, streams: PeerStreams, reason: str, now: float) -> None:
        """To pubsub the peer is gone, so nothing more of it may be read."""
        joined = streams.joined
        for link, inbound in streams.inbound.items():
            self._reset(link, inbound.number)
        streams.left()
        if joined:
            self.feed(PeerLeft(streams.peer, reason), now)

    def _reset(self, link: Link, stream: int) -> None:
        if link.streams.pop(stream, None) is not None:
            link.connection.reset_stream(stream)
            self._turn.touch(link)

    def _close(self, link: Link, stream: int) -> None:
        if link.streams.pop(stream, None) is not None:
            link.connection.close_stream(stream)
            self._turn.touch(link)

    # ---- time

    def _arm(self, streams: PeerStreams) -> None:
        due = streams.next_wake()
        if due is not None and self._peers.get(streams.peer) is streams:
            self._timers.at_latest(streams.peer, due)
