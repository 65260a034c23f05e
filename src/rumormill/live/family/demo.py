"""What a family shows in ``rumormill demo``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING: Mapping[str, Any] = MappingProxyType({})


class DemoAct(NamedTuple):
    """What a family shows in ``rumormill demo``; the demo plays it with the public commands.

    Some nodes publish, the others subscribe, one of these is killed and comes back. What is counted
    then is what the network promises (:class:`~rumormill.core.topic.Capabilities`): every message,
    or the newest one.
    """

    network: str
    title: str
    also: tuple[str, ...] = ()
    """Other networks that play the same act, when ``--network`` asks for them."""
    topic: str = ""
    """Empty where a topic belongs to a key: then it is the one of the publisher's."""
    nodes: int = 10
    """At least three, those that publish included."""
    messages: int = 500
    rate: float = 20.0
    """Messages a second."""
    publishers: int = 3
    """At most so many, and at most a third of the nodes."""
    all_linked: bool = False
    """Whether each connects to all that are there before it, not to some of them: for networks
    whose messages go no further than to who is connected."""
    certified: bool = False
    """Whether every node needs an identity that was made for it, not only who is to come back."""
    settings: Mapping[str, str] = NOTHING
    """Settings of every node."""


class SecretScene(NamedTuple):
    """A private topic that the demo shows, with ``rumormill topic create``."""

    network: str
    name: str
    """The topic's."""
    options: tuple[str, ...]
    """What ``topic create`` is told, beside who may publish."""
    listen: str
    """Where its nodes listen."""
