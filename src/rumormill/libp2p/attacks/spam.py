"""Attackers that send too much, or what is bad: the spam that gossipsub 1.1 was made against."""

from __future__ import annotations

from rumormill.core.machine import Peer, Send
from rumormill.libp2p.attacks.sybil import Orders, Sybil, control
from rumormill.libp2p.wire.dont_want import IDontWant
from rumormill.libp2p.wire.gossip import Graft, IHave, IWant, Prune
from rumormill.libp2p.wire.message import WireMessage, build_message
from rumormill.libp2p.wire.rpc import Rpc, message_frame

UNWELCOME = b"unwelcome"
"""The data of messages that a validator refuses."""


class Forger:
    """Writes messages that look like those of others, or like none that anybody wants."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def message(self, author: Peer, sequence: int, data: bytes, signature: bytes) -> WireMessage:
        """A message with whatever signature."""
        return build_message(
            data=data,
            topics=(self._topic,),
            sender_id=author.encode(),
            sequence=sequence.to_bytes(8, "big"),
            sign=lambda payload: signature,
        )


class Counting(Sybil):
    """Gives whatever it sends a number that nobody has had before."""

    def __init__(self, orders: Orders) -> None:
        super().__init__(orders)
        self._number = orders.random.getrandbits(48) << 12

    def number(self) -> int:
        """The next number."""
        self._number += 1
        return self._number

    def made_up_ids(self, count: int) -> tuple[bytes, ...]:
        """Ids of messages that there are not."""
        name = self.orders.name.encode()
        return tuple([name + self.number().to_bytes(8, "big") for _ in range(count)])


class Thirsty(Sybil):
    """IWANT spam: asks for every message that it was sent, again and again."""

    listens = True
    period = 0.1
    most = 200

    def __init__(self, orders: Orders) -> None:
        super().__init__(orders)
        self._ids: dict[bytes, None] = {}

    def said(self, peer: Peer, rpc: Rpc, now: float) -> list[Send]:
        """Note the ids."""
        for message in rpc.messages:
            self._ids[(message.sender_id or b"") + (message.sequence or b"")] = None
        while len(self._ids) > self.most:
            del self._ids[next(iter(self._ids))]
        return []

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Ask for all of them."""
        return [control(IWant(tuple(self._ids)))] if self._ids else []


class PromiseBreaker(Counting):
    """IHAVE spam: tells of messages that there are not, more often than it may."""

    period = 0.05

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Twenty lists a second, of ten ids each."""
        return [control(IHave(self.orders.topic, self.made_up_ids(10)))]


class GraftFlood(Sybil):
    """Leaves the mesh and asks for a place, ten times a second, whatever the answer."""

    period = 0.1

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Go, and ask to be taken back at once, and for a topic that nobody has."""
        topic = self.orders.topic
        return [control(Prune(topic)), control(Graft(topic), Graft(f"{topic} of nobody"))]


class Refusing(Counting):
    """IDONTWANT spam: refuses messages that there are not, eight thousand a second."""

    period = 0.1

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """In lists of eight hundred, and an empty one."""
        return [control(IDontWant(self.made_up_ids(800)), IDontWant(()))]


class Unwelcome(Counting):
    """Sends messages that are its own and that every validator refuses."""

    period = 0.1

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Ten a second."""
        forger = Forger(self.orders.topic)
        return [
            message_frame(forger.message(self.orders.name, self.number(), UNWELCOME, bytes(64)))
        ]


class Burner(Sybil):
    """Forges the ids that the victim's next messages will have, to make them look old.

    Where numbers can be guessed and an id is marked before its signature is checked, whoever comes
    first with it wins.
    """

    period = 0.2

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Any of the victim's next numbers: it counts from 1."""
        forger = Forger(self.orders.topic)
        guess = 1 + self.orders.random.randrange(200)
        message = forger.message(self.orders.victim, guess, b"forged", b"\x01" * 64)
        return [message_frame(message)]


class Replayer(Sybil):
    """Plays old messages back, once peers have forgotten their ids."""

    listens = True
    period = 0.2
    wait = 15.0

    def __init__(self, orders: Orders) -> None:
        super().__init__(orders)
        self._kept: list[tuple[float, bytes]] = []
        self._had: set[bytes] = set()

    def said(self, peer: Peer, rpc: Rpc, now: float) -> list[Send]:
        """Keep the messages."""
        for message in rpc.messages:
            if message.raw not in self._had:
                self._had.add(message.raw)
                self._kept.append((now, message_frame(message)))
        return []

    def act(self, peer: Peer, now: float) -> list[bytes]:
        """Those that are old enough, a few at a time."""
        old = [frame for when, frame in self._kept if when < now - self.wait]
        return self.orders.random.sample(old, min(5, len(old)))
