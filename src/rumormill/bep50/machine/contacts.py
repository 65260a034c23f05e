"""Where to begin: addresses that the user gave, and what became of them.

A host may be a name, which stands for several addresses: each that we have a socket for is tried,
and the first that answers counts. Looking names up is not for a machine, so it is an order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rumormill.bep50.effects import (
    Bootstrap,
    Contact,
    ContactEnded,
    NameResolved,
    Reach,
    Reached,
    ResolveName,
)
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.wire.addresses import is_ipv6, parse_address, peer_text
from rumormill.core import trace
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.core.timers import Alarm, Timers

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 60.0
"""Seconds until a name that nobody knows is looked up again; the delay doubles each time."""

PATIENCE: Final = 30.0
"""Seconds after which an address counts as silent, whatever the overlay does with it."""

# Problems of :class:`Reached` beside those of :class:`ContactEnded`.
NO_ANSWER = "no_answer"
OURSELVES = "ourselves"
NO_SOCKET = "no_socket"
NAME_NOT_FOUND = "name_not_found"


class _Reaching:
    """One address that somebody waits for."""

    __slots__ = ("open", "peers", "problem", "token")

    def __init__(self, token: int) -> None:
        self.token = token
        self.peers: tuple[Peer, ...] = ()
        """What it stands for, as far as we have a socket."""
        self.open: dict[tuple[Peer, bytes], None] = {}
        """Addresses and topics of which it is not known yet what became of them."""
        self.problem = NO_ANSWER


class Contacts:
    """Gives the overlays addresses, and tells who asked what became of them."""

    def __init__(
        self,
        outbox: Outbox,
        contact: Callable[[Contact], None],
        topics: Callable[[], Iterable[bytes]],
        alarm: Alarm,
    ) -> None:
        """``contact`` gives the overlays addresses; ``topics`` are the targets of those joined."""
        self._outbox = outbox
        self._contact = contact
        self._topics = topics
        self._own: tuple[str, ...] = ()
        self._delays: dict[str, float] = {}
        """Bootstrap addresses whose names were not found yet, with the next delay."""
        self._asked: dict[str, list[_Reaching]] = {}
        """Names that are being looked up, with who waits for them."""
        self._reaching: dict[int, _Reaching] = {}
        self._by_peer: dict[Peer, list[_Reaching]] = {}
        self._timers: Timers[str | int] = Timers(alarm)

    @property
    def looking_up(self) -> bool:
        """Whether a name is being looked up: soon there may be somebody to ask."""
        return bool(self._asked)

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "names": len(self._delays) + len(self._asked),
            "reaching": len(self._reaching),
            "reached_peers": len(self._by_peer),
        }

    def listening(self, own: tuple[str, ...]) -> None:
        """These addresses are ours: nobody to begin with, and the families that we can reach."""
        self._own = own

    # ---- what the user wants

    def bootstrap(self, command: Bootstrap) -> None:
        """Use addresses from now on."""
        known: list[Peer] = []
        for address in command.addresses:
            host, port = parse_address(address)
            if port == 0:
                raise ConfigError("bootstrap", f"{address} has port 0, which is nobody's")
            try:
                known.append(peer_text(host, port))
            except LocalProtocolError:
                self._delays[address] = FIRST_DELAY
                self._look_up(address)
        self._use(self._reachable(known))

    def reach(self, command: Reach) -> None:
        """Use an address from now on, and tell whether it is good for one topic.

        Without a topic nobody can tell, and nothing is waited for.
        """
        reaching = self._reaching[command.token] = _Reaching(command.token)
        host, port = parse_address(command.address)
        if port == 0:
            del self._reaching[command.token]
            raise LocalProtocolError(
                f"cannot use the address {command.address!r}: port 0 is nobody's"
            )
        self._timers.set(command.token, self._outbox.now + PATIENCE)
        try:
            peer = peer_text(host, port)
        except LocalProtocolError:
            self._look_up(command.address, reaching)
        else:
            self._try(reaching, (peer,))

    # ---- names

    def _look_up(self, address: str, reaching: _Reaching | None = None) -> None:
        waiting = self._asked.get(address)
        if waiting is None:
            waiting = self._asked[address] = []
            self._outbox.effects.append(ResolveName(address))
        if reaching is not None:
            waiting.append(reaching)

    def resolved(self, answer: NameResolved) -> None:
        """A name was looked up; if nobody knows it, it is tried again."""
        address = answer.address
        waiting = self._asked.pop(address, [])
        if not answer.peers:
            self._outbox.emit(
                trace.CONNECTION_FAILED, address=address, reason=NAME_NOT_FOUND,
                detail=answer.problem,
            )  # fmt: skip
            delay = self._delays.get(address)
            if delay is not None:
                self._timers.set(address, self._outbox.now + delay)
                self._delays[address] = min(2 * delay, LONGEST_DELAY)
        elif self._delays.pop(address, None) is not None:
            self._use(self._reachable(answer.peers))
        for reaching in waiting:
            if answer.peers:
                self._try(reaching, answer.peers)
            else:
                self._end(reaching, "", NAME_NOT_FOUND, answer.problem)

    def _reachable(self, peers: Iterable[Peer]) -> tuple[Peer, ...]:
        """Those that we have a socket for and that are not we."""
        families = {is_ipv6(own) for own in self._own}
        return tuple(peer for peer in peers if peer not in self._own and is_ipv6(peer) in families)

    def _use(self, peers: tuple[Peer, ...]) -> None:
        if peers:
            self._contact(Contact(None, peers))

    # ---- one that somebody waits for

    def _try(self, reaching: _Reaching, peers: tuple[Peer, ...]) -> None:
        if reaching.token not in self._reaching:
            return  # it took too long
        usable = self._reachable(peers)
        if not usable:
            problem = OURSELVES if any(peer in self._own for peer in peers) else NO_SOCKET
            self._end(reaching, peers[0], problem)
            return
        reaching.peers = usable
        reaching.open = {(peer, topic): None for peer in usable for topic in self._topics()}
        for peer in usable:
            self._by_peer.setdefault(peer, []).append(reaching)
        self._use(usable)
        if not reaching.open:
            self._end(reaching, usable[0])

    def ended(self, told: ContactEnded) -> None:
        """The overlay tells what became of an address on a topic."""
        for reaching in list(self._by_peer.get(told.peer, ())):
            if not told.problem:
                self._end(reaching, told.peer)
            else:
                if told.problem != NO_ANSWER:
                    reaching.problem = told.problem
                self._close(reaching, told.peer, told.topic)

    def left(self, topic: bytes) -> None:
        """A topic was left: nothing will be heard of it."""
        for reaching in list(self._reaching.values()):
            for peer, each in list(reaching.open):
                if each == topic:
                    self._close(reaching, peer, topic)

    def _close(self, reaching: _Reaching, peer: Peer, topic: bytes) -> None:
        if reaching.open.pop((peer, topic), topic) is None and not reaching.open:
            self._end(reaching, peer, reaching.problem)

    def _end(self, reaching: _Reaching, peer: Peer, problem: str = "", detail: str = "") -> None:
        if self._reaching.pop(reaching.token, None) is None:
            return
        self._timers.cancel(reaching.token)
        for each in reaching.peers:
            self._forget(reaching, each)
        self._outbox.effects.append(Reached(reaching.token, peer, problem, detail))

    def _forget(self, reaching: _Reaching, peer: Peer) -> None:
        waiting = self._by_peer.get(peer, [])
        if reaching in waiting:
            waiting.remove(reaching)
        if not waiting:
            self._by_peer.pop(peer, None)

    # ---- time

    def wake(self, now: float) -> None:
        """Look names up again, and give up on those who are silent."""
        for key in self._timers.due(now):
            if isinstance(key, str):
                self._look_up(key)
            elif (reaching := self._reaching.get(key)) is not None:
                self._end(reaching, "".join(reaching.peers[:1]), reaching.problem)

    def next_wake(self) -> float | None:
        """When something is due."""
        return self._timers.next_wake()
