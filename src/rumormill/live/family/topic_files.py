"""Topics that have a file: what is wished for one, and what comes out of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol


class TopicWish(NamedTuple):
    """A topic with a file to be made: for ``rumormill topic create``."""

    name: str
    out: Path
    auth: str = "none"
    """Who may publish, in a word of the family's."""
    publishers: tuple[str, ...] = ()
    """Ids of those who may, or key files of theirs."""
    encryption: str = "none"
    """Who can read, in a word of the family's."""
    keys: int = 1
    """Shared keys to be made: one is used, the others are for later."""


class TrustWish(NamedTuple):
    """A word on a peer to be signed: for ``rumormill topic trust``."""

    topic_file: Path
    key_file: Path
    peer: str
    until: float | None = None
    """Seconds since the epoch; None takes trust back."""


class DescribedTopic(Protocol):
    """A topic out of a file: networks of its family take it in place of the topic's text."""

    @property
    def topic_id(self) -> str:
        """The topic's text."""
        ...
