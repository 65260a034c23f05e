"""What a topic may be called: one byte counts it, and a tabulator stands between two of them."""

from __future__ import annotations

from rumormill.bcos.wire.topic_body import LONGEST_TOPIC
from rumormill.core.errors import LocalProtocolError


def problem_with(topic: object) -> str | None:
    """Why this cannot be a topic; None if it can.

    >>> problem_with("weather"), problem_with("a" * 255)
    (None, 'it has 255 bytes, 254 can be sent')
    """
    if not isinstance(topic, str) or not topic:
        return "it is no text"
    if "\t" in topic:
        return "it has a tabulator, which ends a topic between nodes"
    try:
        size = len(topic.encode())
    except UnicodeEncodeError:
        return "it cannot be written as UTF-8"
    if size > LONGEST_TOPIC:
        return f"it has {size} bytes, {LONGEST_TOPIC} can be sent"
    return None


def check_name(topic: str) -> None:
    """Raise :class:`LocalProtocolError` if this cannot be a topic."""
    problem = problem_with(topic)
    if problem is not None:
        raise LocalProtocolError(f"{topic[:40]!r} cannot be a topic: {problem}")
