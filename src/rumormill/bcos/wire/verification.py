"""Private topics: what they are called, and what a node and a publisher tell each other of them.

Who listens to the private topic t is known by a key. Three names come of t; here with t = hello:

- ``#!$TopicNeedVerify_hello`` is where its messages go; all other functions take this name
- ``#!$PushChannel_#!$TopicNeedVerify_hello`` is what a publisher listens to
- ``#!$VerifyChannel_#!$TopicNeedVerify_hello_<32 hex digits>`` is where one subscriber is asked
  to prove who it is

A node asks its publisher to verify a node that has a subscriber (0x37, :class:`VerifyRequest`), and
the publisher says how that went (0x38, :class:`TopicStatus`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from rumormill.bcos.wire.json_text import number_of, read_object, text_of, write_json
from rumormill.bcos.wire.topic_body import LONGEST_TOPIC
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

NEED_VERIFY: Final = "#!$TopicNeedVerify_"
PUSH_CHANNEL: Final = "#!$PushChannel_"
VERIFY_CHANNEL: Final = "#!$VerifyChannel_"
UUID_SIZE: Final = 32

LONGEST_PRIVATE_TOPIC: Final = (
    LONGEST_TOPIC - len(VERIFY_CHANNEL) - len(NEED_VERIFY) - len("_") - UUID_SIZE
)
"""Bytes: the longest of its names, the VerifyChannel, has to be a topic."""

LONGEST_FOR_GO: Final = LONGEST_PRIVATE_TOPIC - len(VERIFY_CHANNEL)
"""Bytes. The go-sdk puts one more prefix before that name when it answers a 0x37."""

MOST_BYTES: Final = 4096
"""Of the JSON of either packet: more than the longest names need if every byte is escaped."""

_UUID: Final = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)
_NODE_ID: Final = re.compile(r"[0-9a-fA-F]{128}", re.ASCII)


# ---- names


def need_verify(topic: str) -> str:
    """The name that a private topic's messages go to.

    >>> need_verify("hello")
    '#!$TopicNeedVerify_hello'
    """
    check_private_topic(topic)
    return NEED_VERIFY + topic


def check_private_topic(topic: str, longest: int = LONGEST_PRIVATE_TOPIC) -> None:
    """Raise :class:`LocalProtocolError` for a topic that cannot be private.

    With :data:`LONGEST_FOR_GO`, for one that publishers of the go-sdk cannot verify.
    """
    if is_need_verify(topic):
        raise LocalProtocolError(
            f"{topic[:60]!r} is already the name of a private topic; give what is behind"
            f" {NEED_VERIFY!r}"
        )
    size = len(topic.encode())
    if not 1 <= size <= longest:
        raise LocalProtocolError(
            f"the private topic {topic[:40]!r} has {size} bytes, it may have 1 to {longest}"
        )


def is_need_verify(name: str) -> bool:
    """Whether messages to this name go to verified subscribers alone."""
    return name.startswith(NEED_VERIFY)


def plain_topic(name: str) -> str:
    """The topic that a name was made of.

    >>> plain_topic("#!$TopicNeedVerify_hello")
    'hello'
    """
    if not is_need_verify(name):
        raise LocalProtocolError(f"{name[:60]!r} is not the name of a private topic")
    return name.removeprefix(NEED_VERIFY)


def push_channel(name: str) -> str:
    """What a publisher listens to, so that its node knows it."""
    return PUSH_CHANNEL + name


def verify_channel(name: str, uuid: str) -> str:
    """What one subscriber listens to; ``uuid`` are 32 hex digits that no other has.

    >>> verify_channel(need_verify("hello"), "92be6ce4dbd311eaae5a983b8fda4e0e")
    '#!$VerifyChannel_#!$TopicNeedVerify_hello_92be6ce4dbd311eaae5a983b8fda4e0e'
    """
    if not _UUID.fullmatch(uuid):
        raise LocalProtocolError(f"{uuid[:40]!r} are not {UUID_SIZE} hex digits")
    return f"{VERIFY_CHANNEL}{name}_{uuid}"


def name_of_verify_channel(topic: str) -> str | None:
    """The private topic's name whose subscriber listens there; None if it is no such channel.

    >>> name_of_verify_channel(verify_channel("#!$TopicNeedVerify_hello", "0" * 32))
    '#!$TopicNeedVerify_hello'
    """
    if not topic.startswith(VERIFY_CHANNEL + NEED_VERIFY):
        return None
    end = len(topic) - UUID_SIZE
    if topic[end - 1] != "_" or not _UUID.fullmatch(topic, end):
        return None
    name = topic[len(VERIFY_CHANNEL) : end - 1]
    # Where the topic is too short, parts of the prefix were taken for the rest.
    return name if len(name) > len(NEED_VERIFY) else None


def verify_channels(topics: Iterable[str]) -> dict[str, list[str]]:
    """All VerifyChannels in a list of topics, by the private topic's name, in their order.

    For whoever looks for more than one name: the list is walked once.
    """
    found: dict[str, list[str]] = {}
    for topic in topics:
        name = name_of_verify_channel(topic)
        if name is not None:
            found.setdefault(name, []).append(topic)
    return found


def verify_channels_of(name: str, topics: Iterable[str]) -> list[str]:
    """The VerifyChannels of one private topic's name in a list of topics, in their order."""
    start = f"{VERIFY_CHANNEL}{name}_"
    return [
        topic for topic in topics if topic.startswith(start) and _UUID.fullmatch(topic, len(start))
    ]


# ---- packets


class VerifyRequest(NamedTuple):
    """A node asks its publisher: has ``node_id`` a subscriber who may listen to ``topic``?"""

    node_id: str
    """128 hex digits in lower case."""
    topic: str
    """A private topic's name."""
    topic_for_cert: str
    """The VerifyChannel where to ask for a proof."""


class TopicStatus(NamedTuple):
    """A publisher's verdict: whether messages to ``topic`` may go to ``node_id``."""

    passed: bool
    node_id: str
    """128 hex digits in lower case."""
    topic: str
    """A private topic's name."""


def encode_verify_request(node_id: str, topic: str, topic_for_cert: str) -> bytes:
    """What a packet 0x37 carries: what nodes of other make write, to the byte."""
    return write_json({"nodeId": node_id, "topic": topic, "topicForCert": topic_for_cert}) + b"\n"


def decode_verify_request(data: bytes) -> VerifyRequest:
    """Read what a packet 0x37 carries."""
    found = read_object(data, MOST_BYTES)
    node_id, topic = _node_id(text_of(found, "nodeId")), _name(text_of(found, "topic"))
    topic_for_cert = text_of(found, "topicForCert")
    if name_of_verify_channel(topic_for_cert) != topic:
        detail = "topicForCert is no VerifyChannel of its topic"
        raise RemoteProtocolError("bad_verification", detail)
    return VerifyRequest(node_id, topic, topic_for_cert)


def encode_topic_status(passed: bool, node_id: str, topic: str) -> bytes:
    """What a packet 0x38 carries."""
    return write_json({"checkResult": 0 if passed else 1, "nodeId": node_id, "topic": topic})


def decode_topic_status(data: bytes) -> TopicStatus:
    """Read what a packet 0x38 carries. Every result but 0 is a failure, as nodes have it."""
    found = read_object(data, MOST_BYTES)
    passed = number_of(found, "checkResult") == 0
    return TopicStatus(passed, _node_id(text_of(found, "nodeId")), _name(text_of(found, "topic")))


def _node_id(text: str) -> str:
    if not _NODE_ID.fullmatch(text):
        raise RemoteProtocolError("bad_verification", "nodeId is not 128 hex digits")
    return text.lower()


def _name(text: str) -> str:
    if not is_need_verify(text) or not _fits(text):
        raise RemoteProtocolError("bad_verification", "topic is no private topic's name")
    return text


def _fits(name: str) -> bool:
    return len(NEED_VERIFY) < len(name.encode()) <= len(NEED_VERIFY) + LONGEST_PRIVATE_TOPIC
