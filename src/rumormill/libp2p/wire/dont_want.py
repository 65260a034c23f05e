"""The control message of gossipsub 1.2: IDONTWANT."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.wire.control import Budget, ControlKind, decode_ids
from rumormill.libp2p.wire.merging import each_id_once

MOST_WAITING_ID_BYTES = 64 * 1024
"""Bytes of ids that may wait for one peer: if its line is not free for longer than it takes to
gather these, it has long sent us its copies."""

MOST_IDS_PER_RPC = 10
"""go reads no more of one RPC and skips the rest without a word."""


class IDontWant(NamedTuple):
    """Ids of messages that a peer has, or is about to have: it wants no copy of them."""

    message_ids: tuple[bytes, ...]
    other: bytes = b""


def _decode(raw: bytes, budget: Budget) -> IDontWant:
    _, ids, other = decode_ids(raw, 0, 1, budget)
    return IDontWant(ids, other)


def _encode(entry: IDontWant) -> bytes:
    return b"".join([bytes_field(1, each) for each in entry.message_ids]) + entry.other


IDONTWANT = ControlKind(
    "idontwant", 5, IDontWant, _decode, _encode, each_id_once(MOST_WAITING_ID_BYTES),
    urgent=True, most_ids=MOST_IDS_PER_RPC,
)  # fmt: skip
