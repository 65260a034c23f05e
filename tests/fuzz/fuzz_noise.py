"""Fuzz Noise: the handshake with bytes, with altered messages and with any payload, and the frames
of the transport, altered and in any cut."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented, pieces

with instrumented(__name__):
    from rumormill.core.errors import RemoteProtocolError
    from rumormill.libp2p.stack.keys import PrivateKey
    from rumormill.libp2p.stack.noise.handshake import (
        LARGEST_HANDSHAKE_MESSAGE,
        NoiseHandshake,
        NoiseTransport,
    )

ALICE = PrivateKey.from_seed(b"a" * 32)
BOB = PrivateKey.from_seed(b"b" * 32)


class Liar(NoiseHandshake):
    """Does everything right but the payload."""

    def __init__(self, payload: bytes, *, initiator: bool) -> None:
        self.payload = payload
        super().__init__(BOB, initiator=initiator, entropy=random.Random(2))

    def _payload(self) -> bytes:
        return self.payload


def honest(*, initiator: bool) -> NoiseHandshake:
    return NoiseHandshake(ALICE, initiator=initiator, entropy=random.Random(1))


def feed(machine: NoiseHandshake, data: bytes, size: int) -> None:
    for piece in pieces(data, size):
        if machine.receive(piece) is not None:
            return
        assert len(machine._pending) <= LARGEST_HANDSHAKE_MESSAGE + 2, "too much is kept"


def raw_bytes(choices: Choices, size: int) -> None:
    machine = honest(initiator=choices.number(2) == 1)
    feed(machine, choices.take(10_000), size)
    assert machine.transport is None, "nobody can guess a handshake"


def any_payload(choices: Choices, size: int) -> None:
    """A peer whose encryption is right and whose payload is anything."""
    initiator = choices.number(2) == 1
    machine = honest(initiator=initiator)
    peer = Liar(choices.take(2000), initiator=not initiator)
    first, second = (machine, peer) if initiator else (peer, machine)
    feed(second, first.data_to_send(), size)
    feed(first, second.data_to_send(), size)
    feed(second, first.data_to_send(), size)
    assert machine.public_key is None, "nobody can guess a signature"


def altered_messages(choices: Choices, size: int) -> None:
    """A real handshake with one bit flipped on the way."""
    alice = honest(initiator=True)
    bob = NoiseHandshake(BOB, initiator=False, entropy=random.Random(2))
    which, flip, place = choices.number(3), 1 << choices.number(8), choices.take(2)
    for step in range(3):
        source, sink = (alice, bob) if step % 2 == 0 else (bob, alice)
        message = bytearray(source.data_to_send())
        if step == which:
            message[int.from_bytes(place, "big") % len(message)] ^= flip
        feed(sink, bytes(message), size)
    assert alice.transport is None or bob.transport is None, "an altered handshake went through"


def transport_bytes(choices: Choices, size: int) -> None:
    machine = NoiseTransport(bytes(32), bytes(32))
    for piece in pieces(choices.take(5000), size):
        assert machine.decrypt(piece) == b"", "nobody can guess a tag"
        assert len(machine._pending) <= 65537


def transport_frames(choices: Choices, size: int) -> None:
    """Any plaintext in any cut comes out as it went in."""
    ours, theirs = NoiseTransport(bytes(32), bytes(32)), NoiseTransport(bytes(32), bytes(32))
    sent = wire = received = b""
    while choices:
        plaintext = choices.take(choices.number(60)) * (1 + 40 * choices.number(50))
        sent += plaintext
        wire += ours.encrypt(plaintext)
        for piece in pieces(wire[: choices.number(256) * 4], size):
            received += theirs.decrypt(piece)
            wire = wire[len(piece) :]
    received += theirs.decrypt(wire)
    assert received == sent


MODES = [raw_bytes, any_payload, altered_messages, transport_bytes, transport_frames]


def target(data: bytes) -> None:
    choices = Choices(data)
    mode, size = MODES[choices.number(len(MODES))], choices.number(17)
    with contextlib.suppress(RemoteProtocolError):
        mode(choices, size)


KEY = BOB.public_key.to_protobuf()
SEEDS = [
    b"\x00\x00\x00\x00\x20" + bytes(range(32)),
    b"\x00\x05\x01\x00\x60" + bytes(range(96)),
    b"\x01\x00\x00\x0a\x24" + KEY + b"\x12\x40" + bytes(64),
    b"\x01\x00\x01\x0a\x24" + KEY + b"\x12\x40" + bytes(64) + b"\x22\x02\x12\x00",
    b"\x02\x00\x00\x03\x00\x10",
    b"\x02\x07\x01\x01\x00\x40",
    b"\x03\x00\x00\x10" + bytes(16),
    b"\x04\x03\x05hello\x01\x00\x09",
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
