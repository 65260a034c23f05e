"""Topics and prefixes as text and as names: reading one takes longer than looking it up."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri

LONGEST_KEPT: Final = 512
"""Bytes of a name that is remembered: strangers choose names, too."""


class Names:
    """Texts by name and names by text, so many of each; then the oldest is forgotten.

    >>> names = Names(most=100)
    >>> names.text(names.topic("/weather"))
    '/weather'
    """

    __slots__ = ("_most", "_names", "_texts")

    def __init__(self, most: int) -> None:
        self._most = most
        # Not dicts: to find their first key, those walk over all places that were emptied.
        self._names: OrderedDict[str, Name] = OrderedDict()
        self._texts: OrderedDict[Name, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._names) + len(self._texts)

    def topic(self, text: str) -> Name:
        """The name of a topic; raises :class:`LocalProtocolError` if it cannot be one."""
        name = self._names.get(text)
        if name is None:
            name = name_from_uri(text)
            if not name:
                raise LocalProtocolError("the root / cannot be a topic")
            if len(name) <= LONGEST_KEPT:
                if len(self._names) >= self._most:
                    self._names.popitem(last=False)
                self._names[text] = name
        return name

    def text(self, name: Name) -> str:
        """The text of a name."""
        text = self._texts.get(name)
        if text is None:
            text = name_to_uri(name)
            if len(name) <= LONGEST_KEPT:
                if len(self._texts) >= self._most:
                    self._texts.popitem(last=False)
                self._texts[name] = text
        return text
