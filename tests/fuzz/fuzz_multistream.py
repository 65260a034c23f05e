"""Fuzz multistream-select: both roles, any bytes, any cut; the cut must not matter."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.core.errors import RemoteProtocolError
    from rumormill.libp2p.stack.multistream import MOST_PROPOSALS, Negotiation, encode_token

NAMES = ["/a/1.0.0", "/b", "/ä"]
WORDS = ["/multistream/1.0.0", "na", "ls", *NAMES]


def outcome(dialer: bool, pieces: list[bytes]) -> tuple[object, bytes]:
    machine = Negotiation.dialer(NAMES) if dialer else Negotiation.listener(NAMES)
    held = b""
    for index, piece in enumerate(pieces):
        try:
            rest = machine.receive(piece)
        except RemoteProtocolError as error:
            return error.reason, machine.data_to_send()
        held = machine._reader.rest()
        if rest is not None:
            return (machine.protocol, rest + b"".join(pieces[index + 1 :])), machine.data_to_send()
        assert len(held) <= 1026, "more than a token is kept"
    return held, machine.data_to_send()


def target(data: bytes) -> None:
    choices = Choices(data)
    dialer = choices.number(2) == 1
    cut = choices.number(17)
    wire = bytearray()
    while choices:
        # Mostly words that mean something, sometimes bytes that do not.
        kind = choices.number(8)
        if kind < len(WORDS):
            wire += encode_token(WORDS[kind])
        else:
            wire += choices.take(choices.number(40))
    size = cut or len(wire) or 1
    raw = bytes(wire)
    whole = outcome(dialer, [raw])
    assert outcome(dialer, [raw[at : at + size] for at in range(0, len(raw), size)]) == whole
    assert len(whole[1]) <= 100 + 5 * MOST_PROPOSALS, "it answers more than it should"


SEEDS = [
    bytes((role, cut, *words))
    for role in (0, 1)
    for cut in (0, 1, 5)
    for words in ((0, 3), (0, 1, 4), (0, 2, 2, 5), (6, 30), (0, 1, 1, 1))
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
