"""The attacks on a gossipsub node: what each of them sends, prepared before it begins."""

from __future__ import annotations

import itertools
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from bench.siege.attackers.link import Flood, Link, SilentLink, Watcher
from bench.siege.attackers.raw_link import STREAM, WORST, RawLink
from rumormill.libp2p.pubsub.topics.message_id import message_id_function
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.rpc import decode_rpc
from tests.helpers.libp2p import siege_keys
from tests.helpers.libp2p import siege_payloads as payloads
from tests.helpers.libp2p.siege_payloads import Payload

PIECE = 60_000
"""Bytes that are handed over at once, about one frame of Noise."""

WAIT = Payload(b"", 0)
"""Nothing now."""

ED25519_RATE, P384_RATE = 20_000, 3_000
"""Messages a second that are signed beforehand, for all identities together: more than a node of
ours could check."""
FORGED = 1000
"""Forged messages, each of another author; they can be sent again and again."""

LARGE_MESSAGES = 10
"""That the accomplice publishes each second."""
ASKS = 4
"""How often each identity asks for each of them: one more than is answered by the specification."""


@dataclass(frozen=True)
class Choice:
    """What the command line says."""

    topic: str
    seconds: float
    large: int
    """Bytes of the messages of ``iwant-large``."""
    message_id: str
    """How the node makes ids of messages."""


@dataclass(frozen=True)
class Weapon:
    """How one attack is made of connections."""

    flood: Callable[[], Flood] | None
    link: type[Link] = Link
    connections: int = 1
    """For each attacker."""
    accomplice: Callable[[], Flood] | None = None
    """Somebody who makes it possible, and whose bytes do not count."""

    def make(self, watcher: Watcher) -> Link:
        """One connection of it."""
        return self.link(watcher, self.flood)


def weapon(attack: str, choice: Choice) -> Weapon:
    """Prepare an attack; this may take some seconds."""
    return WEAPONS[attack](choice)


def _again_and_again(payload: Payload, *prelude: bytes) -> Callable[[], Flood]:
    piece = payload.times(max(1, PIECE // len(payload.data)))
    first = [Payload(b"".join(prelude), 0)] if prelude else []
    return lambda: itertools.chain(first, itertools.repeat(piece))


def _once(pieces: list[Payload]) -> Callable[[], Flood]:
    """What differs is sent once, by whichever identity comes first."""
    held = deque(pieces)

    def flood() -> Flood:
        while held:
            yield held.popleft()

    return flood


def _iwant(choice: Choice) -> Weapon:
    return Weapon(_again_and_again(payloads.iwant()))


def _empty_subscriptions(choice: Choice) -> Weapon:
    return Weapon(_again_and_again(payloads.empty_subscriptions()))


def _unknown_grafts(choice: Choice) -> Weapon:
    return Weapon(_again_and_again(payloads.unknown_grafts()))


def _backoff_grafts(choice: Choice) -> Weapon:
    flood = payloads.backoff_grafts(choice.topic)
    return Weapon(_again_and_again(flood, payloads.subscribe(choice.topic)))


def _toggles(choice: Choice) -> Weapon:
    return Weapon(_again_and_again(payloads.toggles(choice.topic)))


def _ed25519(choice: Choice) -> Weapon:
    signer = siege_keys.ed25519_signer(random.SystemRandom().randbytes(32))
    count = int(choice.seconds * ED25519_RATE)
    frames = payloads.messages(signer, time.time_ns(), count, choice.topic)
    return Weapon(_once(payloads.packed(frames, 16_000)))


def _p384(choice: Choice) -> Weapon:
    signer = siege_keys.p384_signer(random.SystemRandom().getrandbits(64))
    count = int(choice.seconds * P384_RATE)
    frames = payloads.messages(signer, time.time_ns(), count, choice.topic)
    return Weapon(_once(payloads.packed(frames, 4_000)))


def _rsa_forged(choice: Choice) -> Weapon:
    first = random.SystemRandom().getrandbits(32)
    frames = [
        payloads.message(siege_keys.rsa_forger(number), number, choice.topic, b"forged")
        for number in range(first, first + FORGED)
    ]
    pieces = payloads.packed(frames, 10_000)

    def flood() -> Flood:
        start = random.randrange(len(pieces))
        return itertools.cycle(pieces[start:] + pieces[:start])

    return Weapon(flood)


def _one_byte_frames(choice: Choice) -> Weapon:
    return Weapon(lambda: itertools.repeat(payloads.one_byte_frames(STREAM, WORST // 2)), RawLink)


def _window_updates(choice: Choice) -> Weapon:
    return Weapon(lambda: itertools.repeat(payloads.window_updates(STREAM, 5000)), RawLink)


def _pings(choice: Choice) -> Weapon:
    return Weapon(lambda: itertools.repeat(payloads.pings(5000)), RawLink)


# ---- large messages


class _Large:
    """Messages that an accomplice publishes, and that everybody else asks for by their ids."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._signer = siege_keys.ed25519_signer(random.SystemRandom().randbytes(32))
        self._id_of = message_id_function(choice.message_id)
        self._published: list[tuple[float, bytes]] = []

    def publish(self) -> Flood:
        """Some new ones each second."""
        for number in itertools.count(time.time_ns()):
            if len(self._published) % LARGE_MESSAGES == 0 and self._published:
                while time.monotonic() < self._published[-1][0] + 1.0:
                    yield WAIT
            data = random.randbytes(self._choice.large)
            frame = payloads.message(self._signer, number, self._choice.topic, data)
            (rpc,) = FrameReader(len(frame)).feed(frame)
            (message,) = decode_rpc(rpc).messages
            self._published.append((time.monotonic(), self._id_of(message)))
            yield Payload(frame, 1)

    def ask(self) -> Flood:
        """For each of them some times, when the node had time to take it."""
        next_one = 0
        while True:
            now = time.monotonic()
            ready = [
                message_id
                for published, message_id in self._published[next_one:]
                if now - published > 0.3
            ]
            next_one += len(ready)
            # Within one RPC an id counts once.
            yield Payload(payloads.iwant_of(ready) * ASKS, len(ready) * ASKS) if ready else WAIT


def _iwant_large(choice: Choice) -> Weapon:
    large = _Large(choice)
    return Weapon(large.ask, accomplice=large.publish)


def _half_open(choice: Choice) -> Weapon:
    return Weapon(None, SilentLink, connections=64)


def _idle(choice: Choice) -> Weapon:
    return Weapon(None, Link, connections=254)


WEAPONS: dict[str, Callable[[Choice], Weapon]] = {
    "iwant": _iwant,
    "empty-subscriptions": _empty_subscriptions,
    "unknown-grafts": _unknown_grafts,
    "backoff-grafts": _backoff_grafts,
    "toggles": _toggles,
    "p384": _p384,
    "rsa-forged": _rsa_forged,
    "ed25519": _ed25519,
    "iwant-large": _iwant_large,
    "half-open": _half_open,
    "idle": _idle,
    "yamux-small": _one_byte_frames,
    "yamux-windows": _window_updates,
    "yamux-pings": _pings,
}
"""By the names that the command line knows."""
