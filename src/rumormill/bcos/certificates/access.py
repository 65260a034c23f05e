"""Which nodes may connect: lists of node ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rumormill.core.errors import ConfigError
from rumormill.core.words import short

NOT_ALLOWED: Final = "not_in_whitelist"
DENIED: Final = "in_blacklist"

_NODE_ID: Final = re.compile(r"[0-9a-fA-F]{128}")


class AccessLists:
    """A white and a black list of nodes; the black one wins, an empty white one allows all.

    >>> lists = AccessLists(allowed=["AB" * 64])
    >>> lists.refuses("ab" * 64), lists.refuses("cd" * 64)
    ('', 'not_in_whitelist')
    """

    def __init__(self, allowed: Iterable[str] = (), denied: Iterable[str] = ()) -> None:
        self._allowed = frozenset(_listed("allowed", allowed))
        self._denied = frozenset(_listed("denied", denied))

    def refuses(self, node_id: str) -> str:
        """Why a node may not connect; empty if it may. Who has no node id is on no list."""
        node_id = node_id.lower()
        if node_id in self._denied:
            return DENIED
        return NOT_ALLOWED if self._allowed and node_id not in self._allowed else ""


def node_ids(texts: Iterable[str]) -> tuple[str, ...]:
    """Node ids in their one true form; :class:`ValueError` for the first text that is none.

    >>> node_ids(["0f"])
    Traceback (most recent call last):
    ...
    ValueError: a node id has 128 hex digits, '0f' has 2 characters
    """
    return tuple(_node_id(text) for text in texts)


def _listed(key: str, texts: Iterable[str]) -> tuple[str, ...]:
    try:
        return node_ids(texts)
    except ValueError as error:
        raise ConfigError(key, str(error)) from None


def _node_id(text: str) -> str:
    bare = text.strip()
    if _NODE_ID.fullmatch(bare):
        return bare.lower()
    if len(bare) == 128:
        raise ValueError(f"a node id has 128 hex digits, {short(bare)!r} has others")
    raise ValueError(f"a node id has 128 hex digits, {short(bare)!r} has {len(bare)} characters")
