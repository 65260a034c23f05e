"""The control messages of gossipsub 1.0: IHAVE, IWANT, GRAFT and PRUNE."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.protobuf import (
    LENGTH_DELIMITED,
    VARINT,
    bytes_field,
    fields,
    raw_field,
    varint_field,
)
from rumormill.libp2p.wire.control import Budget, ControlKind, ControlKinds, decode_ids
from rumormill.libp2p.wire.merging import each_id_once, newest_of_topic
from rumormill.libp2p.wire.message import decode_topic

MOST_WAITING_ID_BYTES = 2 * 1024 * 1024
"""Bytes of ids (of IHAVE and IWANT) that may wait for one peer: more would be stale when they
leave, and how long an id is, is the peer's choice."""

MOST_WAITING_PRUNES = 5000
"""Topics of PRUNE that may wait for one peer. Those we answer GRAFT with are the peer's choice."""


class IHave(NamedTuple):
    """Ids of messages that a peer has on a topic."""

    topic: str
    message_ids: tuple[bytes, ...]
    other: bytes = b""


class IWant(NamedTuple):
    """Ids of messages that a peer wants to be sent."""

    message_ids: tuple[bytes, ...]
    other: bytes = b""


class Graft(NamedTuple):
    """A peer took us into its mesh of the topic."""

    topic: str
    other: bytes = b""


class Prune(NamedTuple):
    """A peer took us out of its mesh; ``backoff`` seconds (from 1.1 on) until we may ask again."""

    topic: str
    backoff: int | None = None
    other: bytes = b""


# ---- reading


def _decode_ihave(raw: bytes, budget: Budget) -> IHave:
    topic, ids, other = decode_ids(raw, 1, 2, budget)
    return IHave(decode_topic(topic), ids, other)


def _decode_iwant(raw: bytes, budget: Budget) -> IWant:
    _, ids, other = decode_ids(raw, 0, 1, budget)
    return IWant(ids, other)


def _decode_graft(raw: bytes, budget: Budget) -> Graft:
    topic, _, other = decode_ids(raw, 1, 0, budget)
    return Graft(decode_topic(topic), other)


def _decode_prune(raw: bytes, budget: Budget) -> Prune:
    topic, backoff = b"", None
    other: list[bytes] = []
    for number, kind, start, end in fields(raw, 0, len(raw)):
        if number == 1 and kind == LENGTH_DELIMITED:
            topic = raw[start:end]
        elif number == 3 and kind == VARINT:
            backoff = start
        else:
            other.append(raw_field(raw, number, kind, start, end))
    return Prune(decode_topic(topic), backoff, b"".join(other))


# ---- writing


def _encode_ihave(entry: IHave) -> bytes:
    ids = b"".join([bytes_field(2, each) for each in entry.message_ids])
    return bytes_field(1, entry.topic.encode()) + ids + entry.other


def _encode_iwant(entry: IWant) -> bytes:
    return b"".join([bytes_field(1, each) for each in entry.message_ids]) + entry.other


def _encode_graft(entry: Graft) -> bytes:
    return bytes_field(1, entry.topic.encode()) + entry.other


def _encode_prune(entry: Prune) -> bytes:
    backoff = b"" if entry.backoff is None else varint_field(3, entry.backoff)
    # Peers (field 2, in `other`) stand before the backoff, as every encoder writes them.
    return bytes_field(1, entry.topic.encode()) + entry.other + backoff


# ---- the kinds

_NEWEST = newest_of_topic()
_ONCE = each_id_once(MOST_WAITING_ID_BYTES)

IHAVE = ControlKind("ihave", 1, IHave, _decode_ihave, _encode_ihave, _ONCE)
IWANT = ControlKind("iwant", 2, IWant, _decode_iwant, _encode_iwant, _ONCE)
GRAFT = ControlKind("graft", 3, Graft, _decode_graft, _encode_graft, _NEWEST, urgent=True)
PRUNE = ControlKind(
    "prune", 4, Prune, _decode_prune, _encode_prune, _NEWEST, MOST_WAITING_PRUNES, urgent=True
)

GOSSIP_KINDS = ControlKinds(IHAVE, IWANT, GRAFT, PRUNE)
"""What a reader of gossipsub 1.0 knows."""
