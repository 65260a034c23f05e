"""What keys are called: ``/<identity>/KEY/<id>``, and certificates of them further down."""

from __future__ import annotations

from typing import Final

from rumormill.ndn.wire.name import GENERIC, Name, component, prefix_ends

KEY: Final = component(b"KEY", GENERIC)
"""The component between an identity and the id of one of its keys."""

MOST_BELOW: Final = 4
"""Components that may follow: the key's id, an issuer, a version, and a digest of the packet."""


def key_name(identity: Name, key_id: str) -> Name:
    """The name of an identity's key.

    >>> from rumormill.ndn.wire.name import name_from_uri, name_to_uri
    >>> name_to_uri(key_name(name_from_uri("/alice"), "1f"))
    '/alice/KEY/1f'
    """
    return identity + KEY + component(key_id.encode(), GENERIC)


def key_named_by(locator: Name) -> Name:
    """The name of the key where a certificate of it may be named; any other name as it is.

    >>> from rumormill.ndn.wire.name import name_from_uri, name_to_uri
    >>> name_to_uri(key_named_by(name_from_uri("/alice/KEY/1f/self/54=%01")))
    '/alice/KEY/1f'
    >>> name_to_uri(key_named_by(name_from_uri("/alice/KEY")))
    '/alice/KEY'
    """
    ends = prefix_ends(locator)
    last = len(ends) - 1
    for at in range(last - 1, max(last - 1 - MOST_BELOW, 0), -1):
        if locator[ends[at - 1] : ends[at]] == KEY:
            return locator[: ends[at + 1]]
    return locator
