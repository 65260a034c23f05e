"""What nodes tell each other of their topics: a seq, the question for the list, and the list.

    seq        decimal digits
    question   nothing; a node of ours adds the seq that it knows, which nodes of other make ignore
    list       seq, then TAB and a name for each topic
    changes    seq TAB the seq that was known, then TAB and + or - and a name for each change

Changes are only for who has told which seq it knows: nobody else can read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from rumormill.bcos.wire.topic_body import LONGEST_TOPIC
from rumormill.core.errors import RemoteProtocolError

TAB: Final = "\t"

LARGEST_SEQ: Final = 2**63
"""Beyond what anybody counts to; keeps numbers of strangers small."""

LONGEST_NUMBER: Final = 20

STRANGE_NAMES: Final = 16
"""Names of a list that may be none, beside as many as there is room for, before nobody looks any
more: a few compressed bytes can be millions of them."""


class TopicType:
    """What a packet of this module is."""

    SEQ: Final = 1
    QUESTION: Final = 2
    LIST: Final = 3
    CHANGES: Final = 4
    """Ours; see above."""


class TopicList(NamedTuple):
    """All topics of a node; ``strange`` names were left out."""

    seq: int
    topics: list[str]
    strange: int = 0


class TopicChanges(NamedTuple):
    """What has changed of them since a seq."""

    seq: int
    since: int
    added: list[str]
    removed: list[str]


def can_travel(name: str) -> bool:
    """Whether a topic can be in a list at all.

    >>> can_travel("weather"), can_travel(""), can_travel("a\\tb"), can_travel("x" * 255)
    (True, False, False, False)
    """
    if not name or TAB in name or len(name) > LONGEST_TOPIC:
        return False
    if name.isascii():
        return True
    try:
        return len(name.encode()) <= LONGEST_TOPIC
    except UnicodeEncodeError:  # half a character, as JSON can have it
        return False


def encode_seq(seq: int) -> bytes:
    """A seq, or the question of a node that knows it."""
    return b"%d" % seq


def decode_seq(payload: bytes) -> int:
    """A seq.

    >>> decode_seq(b"222")
    222
    """
    if not payload.isdigit() or len(payload) > LONGEST_NUMBER or int(payload) >= LARGEST_SEQ:
        raise RemoteProtocolError("bad_topic_seq", repr(payload[:LONGEST_NUMBER]))
    return int(payload)


def decode_question(payload: bytes) -> int | None:
    """The seq that who asks knows; None if it says nothing, or something of its own."""
    try:
        return decode_seq(payload)
    except RemoteProtocolError:
        return None


def encode_list(seq: int, topics: Iterable[str]) -> bytes:
    """The whole list.

    >>> encode_list(1, ["cpptopic"])
    b'1\\tcpptopic'
    """
    return TAB.join((str(seq), *topics)).encode()


def decode_list(payload: bytes, most: int) -> TopicList:
    """Read a list; of more names than ``most`` and of names that are none, the number is kept."""
    looked_at = 2 * most + STRANGE_NAMES
    number, *names = _text(payload).split(TAB, looked_at + 1)
    beyond = names.pop().count(TAB) + 1 if len(names) > looked_at else 0
    topics = [name for name in dict.fromkeys(names) if can_travel(name)]
    seq = decode_seq(number.encode())
    return TopicList(seq, topics[:most], len(names) + beyond - min(len(topics), most))


def encode_changes(changes: TopicChanges) -> bytes:
    """The changes.

    >>> encode_changes(TopicChanges(9, 7, ["new"], ["old"]))
    b'9\\t7\\t+new\\t-old'
    """
    seq, since, added, removed = changes
    names = (*("+" + name for name in added), *("-" + name for name in removed))
    return TAB.join((str(seq), str(since), *names)).encode()


def decode_changes(payload: bytes, most: int) -> TopicChanges:
    """Read no more than ``most`` changes; they are right in all, or of no use."""
    if payload.count(TAB.encode()) > most + 1:
        raise RemoteProtocolError("bad_topic_changes", f"more than {most}")
    number, *rest = _text(payload).split(TAB)
    if not rest:
        raise RemoteProtocolError("bad_topic_changes", "no seq to begin at")
    changes = TopicChanges(decode_seq(number.encode()), decode_seq(rest[0].encode()), [], [])
    for name in rest[1:]:
        if name[:1] not in ("+", "-") or not can_travel(name[1:]):
            raise RemoteProtocolError("bad_topic_changes", repr(name[:40]))
        (changes.added if name[0] == "+" else changes.removed).append(name[1:])
    return changes


def _text(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        raise RemoteProtocolError("bad_topic_list", "no UTF-8") from None
