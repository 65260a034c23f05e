"""The control messages of gossipsub 1.0, IHAVE, IWANT, GRAFT and PRUNE, with what 1.1 adds."""

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


class ExchangedPeer(NamedTuple):
    """A peer that is named to another. Nothing of it is looked at before somebody wants it."""

    peer_id: bytes
    record: bytes = b""
    """Its signed record, as far as the one who names it has it."""
    other: bytes = b""


class Prune(NamedTuple):
    """A peer took us out of its mesh; from 1.1 on: ``backoff`` seconds until we may ask again, and
    ``peers`` that we may turn to instead.
    """

    topic: str
    backoff: int | None = None
    peers: tuple[ExchangedPeer, ...] = ()
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
    peers: list[ExchangedPeer] = []
    other: list[bytes] = []
    for number, kind, start, end in fields(raw, 0, len(raw)):
        if number == 1 and kind == LENGTH_DELIMITED:
            topic = raw[start:end]
        elif number == 2 and kind == LENGTH_DELIMITED:
            budget.spend_id()  # it costs as much as one, and is paid for as one
            peers.append(_decode_exchanged(raw, start, end))
        elif number == 3 and kind == VARINT:
            backoff = start
        else:
            other.append(raw_field(raw, number, kind, start, end))
    return Prune(decode_topic(topic), backoff, tuple(peers), b"".join(other))


def _decode_exchanged(raw: bytes, start: int, end: int) -> ExchangedPeer:
    peer_id = record = b""
    other: list[bytes] = []
    for number, kind, first, last in fields(raw, start, end):
        if number == 1 and kind == LENGTH_DELIMITED:
            peer_id = raw[first:last]
        elif number == 2 and kind == LENGTH_DELIMITED:
            record = raw[first:last]
        else:
            other.append(raw_field(raw, number, kind, first, last))
    return ExchangedPeer(peer_id, record, b"".join(other))


# ---- writing


def _encode_ihave(entry: IHave) -> bytes:
    ids = b"".join([bytes_field(2, each) for each in entry.message_ids])
    return bytes_field(1, entry.topic.encode()) + ids + entry.other


def _encode_iwant(entry: IWant) -> bytes:
    return b"".join([bytes_field(1, each) for each in entry.message_ids]) + entry.other


def _encode_graft(entry: Graft) -> bytes:
    return bytes_field(1, entry.topic.encode()) + entry.other


def _encode_prune(entry: Prune) -> bytes:
    peers = b"".join([bytes_field(2, _encode_exchanged(each)) for each in entry.peers])
    backoff = b"" if entry.backoff is None else varint_field(3, entry.backoff)
    return bytes_field(1, entry.topic.encode()) + peers + backoff + entry.other


def _encode_exchanged(peer: ExchangedPeer) -> bytes:
    record = bytes_field(2, peer.record) if peer.record else b""
    return bytes_field(1, peer.peer_id) + record + peer.other


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
