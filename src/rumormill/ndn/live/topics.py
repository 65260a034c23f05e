"""Topics as users write them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.ndn.wire.name import check_name, name_from_uri, name_to_uri

REMEMBERED: Final = 1024

LARGEST_TOPIC: Final = 2000
"""Bytes of a topic's name: it is in every packet about it, twice in some, and these have 8800."""


@lru_cache(REMEMBERED)
def canonical_topic(text: str) -> str:
    """The topic in its one true form; :class:`LocalProtocolError` for what can be none.

    >>> canonical_topic("ndn:/8=weather/"), canonical_topic("/a b")
    ('/weather', '/a%20b')
    """
    name = name_from_uri(text)
    if not name:
        raise LocalProtocolError("the root / cannot be a topic")
    if len(name) > LARGEST_TOPIC:
        raise LocalProtocolError(
            f"the topic {text[:40]!r}... has {len(name)} bytes, at most {LARGEST_TOPIC} can be sent"
        )
    try:
        check_name(name)
    except RemoteProtocolError as error:
        raise LocalProtocolError(f"the topic {text[:40]!r}... cannot be sent: {error}") from None
    return name_to_uri(name)
