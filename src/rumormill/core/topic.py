"""Topics and what a network promises about them."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import LocalProtocolError

LONGEST_TOPIC = 1024
"""Bytes of UTF-8. No specification sets a limit; a longer name is a mistake or an attack."""


class Capabilities(NamedTuple):
    """What a network promises: families differ, and say so instead of pretending.

    >>> Capabilities(largest_message=65536).every_message
    True
    """

    largest_message: int
    """Bytes of data that one message may have."""
    every_message: bool = True
    """Each message is meant to arrive; False where only the latest value is kept."""
    all_subscribers: bool = True
    """Each subscriber gets it; False for any-cast."""
    ordered: bool = False
    """Messages of one sender arrive in the order of sending."""
    acknowledged: bool = False
    """The publisher learns who got it."""
    signed: bool = True
    """Messages carry the author's signature, and it was checked."""
    at_most_once: bool = True
    """No subscriber gets a message twice, however often it was sent, while it remembers it."""
    relays: bool = False
    """A topic can be passed on for others without subscribing to it (``network.relay``)."""
    fanout: bool = True
    """One can publish on a topic without taking part in it."""

    @property
    def promises(self) -> dict[str, bool]:
        """What a reader of traces has to know to tell a message that was lost from one that was
        never meant to arrive.

        >>> Capabilities(largest_message=1000, every_message=False).promises["every_message"]
        False
        """
        return {
            "every_message": self.every_message,
            "all_subscribers": self.all_subscribers,
            "ordered": self.ordered,
            "acknowledged": self.acknowledged,
        }


def check_topic(topic: object) -> str:
    """Return the topic if it can be a name; raise :class:`LocalProtocolError` if not.

    >>> check_topic("weather")
    'weather'
    """
    if not isinstance(topic, str) or not topic:
        raise LocalProtocolError(f"a topic is a text that is not empty, not {topic!r}")
    try:
        size = len(topic.encode())
    except UnicodeEncodeError:
        raise LocalProtocolError(f"the topic {topic[:40]!r} cannot be written as UTF-8") from None
    if size > LONGEST_TOPIC:
        raise LocalProtocolError(
            f"the topic {topic[:40]!r}... has {size} bytes, at most {LONGEST_TOPIC} are allowed"
        )
    return topic
