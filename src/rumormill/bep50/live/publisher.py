"""Publishing on bep50: hands a value to the machine, and waits until somebody has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rumormill.bep50.effects import CasMismatch, Publish
from rumormill.bep50.live.acknowledgements import Acknowledgements, Publication
from rumormill.bep50.overlay.node import Node
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.topics import TopicName, parse_topic
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Input, Published
from rumormill.core.receipt import Receipt

ATTEMPTS = 3
"""How often a value is published, each time with a higher number, when others knew of a newer."""

Wait = Callable[[Callable[[], bool], float], Awaitable[bool]]
"""Waits for a condition, so many seconds at most."""


class Publisher:
    """Publishes on the topics of one node.

    ``happened`` is called when an answer to a publication has come, ``shared`` with each item that
    was published and the number that it was to replace.
    """

    def __init__(
        self,
        node: Node,
        feed: Callable[[Input], None],
        wait: Wait,
        happened: Callable[[], None],
        shared: Callable[[Item, int | None], None],
    ) -> None:
        self._node = node
        self._feed = feed
        self._wait = wait
        self._shared = shared
        self._receipt: Receipt | None = None
        self._acknowledgements = Acknowledgements(happened)
        self.handlers: dict[type, Callable[[Any], None]] = {
            Published: self._published,
            **self._acknowledgements.handlers,
        }

    def own_topic(self, topic: str | Sequence[str]) -> TopicName:
        """The topic, if it is one and we have its key; else :class:`LocalProtocolError`."""
        if not isinstance(topic, str):
            raise LocalProtocolError("bep50 publishes on one topic at a time")
        name = parse_topic(topic)
        keys = self._node.keys
        if name.public_key not in keys:
            have = ", ".join(key.hex() for key in keys)
            held = f"key_file has the one of {have}" if have else "there is no key_file"
            raise LocalProtocolError(f"only its own key can publish on {name.text}, but {held}")
        return name

    async def publish(
        self, name: TopicName, value: bytes, cas: int | None, timeout: float
    ) -> Receipt:
        """Publish a bencoded value on a topic that we take part in."""
        for _ in range(ATTEMPTS):
            publication = self._hand_over(name, value, cas)
            try:
                await self._settle(publication, timeout)
            finally:
                self._acknowledgements.forget(publication)
            if not self._overtaken(name, publication, cas):
                break
        return publication.receipt

    def _hand_over(self, name: TopicName, value: bytes, cas: int | None) -> Publication:
        """Let the machine publish; what becomes of it is waited for from now on."""
        self._receipt = None
        self._feed(Publish(name.text, value, cas))
        receipt, item = self._receipt, self._node.latest(name.text)
        if receipt is None or item is None:
            raise LocalProtocolError("publish was called from within an event of the network")
        self._shared(item, cas)
        return self._acknowledgements.expect(receipt, item.seq)

    def _published(self, effect: Published) -> None:
        self._receipt = effect.receipt

    async def _settle(self, publication: Publication, timeout: float) -> None:
        """Wait until somebody has it, or nobody is left who might take it.

        Who says that there is something newer is being asked for it already: that is awaited, too.
        """
        text, node = publication.topic, self._node
        await self._wait(lambda: publication.settled or not node.pending(text), timeout)
        if publication.outdated:
            await self._wait(
                lambda: self._seq(text) > publication.seq or node.joined(text), timeout
            )

    def _seq(self, topic: str) -> int:
        item = self._node.latest(topic)
        return -1 if item is None else item.seq

    def _overtaken(self, name: TopicName, publication: Publication, cas: int | None) -> bool:
        """Whether nobody took it because there is something newer; raises if ``cas`` was given.

        Somebody else with the key published at the same time, or we had not heard of it yet. A
        newer value of our own is meant to replace it.
        """
        topic = self._node.topic_nodes[name.target]
        newer = topic.seq > publication.seq and not topic.own
        if cas is not None and (
            publication.outdated or (newer and not publication.receipt.reached)
        ):
            raise CasMismatch(cas, topic.seq)
        return newer and not publication.receipt.reached
