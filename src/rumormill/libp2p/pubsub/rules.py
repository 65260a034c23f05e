"""The rules of each topic: signature policy, id function, largest message."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import ConfigError
from rumormill.libp2p.pubsub.message_id import NEED_AUTHOR, MessageIdFunction, message_id_function
from rumormill.libp2p.pubsub.parameters import PubsubParameters, TopicRules
from rumormill.libp2p.wire.signing import SigningPolicy


class Rules(NamedTuple):
    """What holds for a topic once defaults and exceptions are put together."""

    signing: SigningPolicy
    unsigned_authors: bool
    """Whether a message that is not signed may name an author all the same."""
    message_id: MessageIdFunction
    max_message_size: int
    """Bytes of data that we publish at most."""
    most_received: int
    """Bytes of data that a peer's message may have. Where the topic has no limit of its own, all
    that an RPC can carry: what other networks' peers carry, we carry."""


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
            for topic, special in parameters.topic_rules.items()
        }

    def of(self, topic: str) -> Rules:
        """The rules of one topic."""
        return self._special.get(topic, self._default) if self._special else self._default


def _rules(parameters: PubsubParameters, special: TopicRules, key: str = "message_id") -> Rules:
    signing = special.signing or parameters.signing
    choice = special.message_id or parameters.message_id
    authors = special.unsigned_authors
    largest = parameters.max_message_size
    if choice is None:
        choice = "origin_bytes" if signing == "StrictSign" else "sha256"
    if signing == "StrictNoSign" and choice in NEED_AUTHOR:
        # All messages would have one id, and only the first would get through.
        raise ConfigError(key, f"{choice!r} needs an author, and StrictNoSign allows none")
    return Rules(
        signing,
        parameters.unsigned_authors if authors is None else authors,
        message_id_function(choice),
        min(special.max_message_size or largest, largest),
        special.max_message_size or parameters.max_rpc_size,
    )
