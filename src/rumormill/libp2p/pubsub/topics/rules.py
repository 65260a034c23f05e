"""The rules of each topic: signature policy, id function, largest message, transform."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import ConfigError
from rumormill.libp2p.pubsub.parameters import ENVELOPE, PubsubParameters, TopicRules
from rumormill.libp2p.pubsub.topics.message_id import (
    NEED_AUTHOR,
    MessageIdFunction,
    message_id_function,
)
from rumormill.libp2p.pubsub.topics.transforms import DataTransform
from rumormill.libp2p.wire.signing import SigningPolicy


class Rules(NamedTuple):
    """What holds for a topic once defaults and exceptions are put together."""

    signing: SigningPolicy
    unsigned_authors: bool
    """Whether a message that is not signed may name an author all the same."""
    message_id: MessageIdFunction
    max_message_size: int
    """Bytes of data on the wire that we publish at most."""
    most_received: int
    """Bytes of data on the wire that a peer's message may have. Where the topic has no limit of its
    own, all that an RPC can carry: what other networks' peers carry, we carry."""
    max_rpc_size: int
    """Bytes of an RPC with a message of ours: more than elsewhere only where the topic needs it."""
    transform: DataTransform | None
    """What makes the application's data of what is on the wire; None if that is the same."""


class RuleBook:
    """Finds the rules of a topic.

    >>> RuleBook(PubsubParameters(signing="StrictNoSign")).of("weather").message_id.__name__
    'sha256'
    """

    __slots__ = ("_default", "_special")

    def __init__(self, parameters: PubsubParameters) -> None:
        self._default = _rules(parameters, TopicRules())
        self._special = {
            topic: _rules(parameters, special, f"topic_rules.{topic}.message_id")
            for topic, special in parameters.special_topics().items()
        }

    def of(self, topic: str) -> Rules:
        """The rules of one topic."""
        return self._special.get(topic, self._default) if self._special else self._default

    @property
    def transforming(self) -> bool:
        """Whether any topic has a transform."""
        every = (self._default, *self._special.values())
        return any(rules.transform is not None for rules in every)


def _rules(parameters: PubsubParameters, special: TopicRules, key: str = "message_id") -> Rules:
    signing = special.signing or parameters.signing
    choice = special.message_id or parameters.message_id
    authors = special.unsigned_authors
    size = special.max_message_size
    if choice is None:
        choice = "origin_bytes" if signing == "StrictSign" else "sha256"
    if signing == "StrictNoSign" and choice in NEED_AUTHOR:
        # All messages would have one id, and only the first would get through.
        raise ConfigError(key, f"{choice!r} needs an author, and StrictNoSign allows none")
    return Rules(
        signing,
        parameters.unsigned_authors if authors is None else authors,
        message_id_function(choice),
        size or parameters.max_message_size,
        size or parameters.max_rpc_size,
        max(parameters.max_rpc_size, (size or 0) + ENVELOPE),
        special.transform or parameters.transform,
    )
