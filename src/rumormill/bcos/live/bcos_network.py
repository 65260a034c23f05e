"""What a node and an SDK have in common: one message for all subscribers, or for one that answers.

answer = await network.unicast("time", b"what time is it?")
receipt = await network.multicast("weather", b"rain at noon")
network.respond("time", lambda message: b"noon")
"""

from __future__ import annotations

import asyncio
import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final, Literal, NamedTuple

from rumormill.bcos.effects import (
    BcosInput,
    Forget,
    Request,
    Respond,
    SetResponder,
    Unicast,
    UnicastEnded,
)
from rumormill.bcos.errors import AmopError
from rumormill.bcos.live.responders import ResponderFunction, Responders
from rumormill.bcos.wire.channel_packet import HEADER_SIZE, Result
from rumormill.bcos.wire.topic_body import LONGEST_TOPIC
from rumormill.core import trace
from rumormill.core.addresses import HostPort
from rumormill.core.errors import LocalProtocolError, NotReadyError
from rumormill.core.machine import Check, Checked, Hold, Verdict
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities, check_topic
from rumormill.live.checks.checker import Subject
from rumormill.live.configuration.parameters import LiveParameters
from rumormill.live.driver import Driver
from rumormill.live.network import Network, as_bytes
from rumormill.live.waiting.answers import Waiting
from rumormill.live.waiting.dials import Dials

Mode = Literal["multicast", "unicast"]

ADDRESSES: Final = HostPort()

UNICAST_TIMEOUT: Final = 10.0
"""Seconds: enough for a node to try a second subscriber, when the first says nothing."""

AGAIN: Final = 0.25
"""Seconds until a unicast is tried again that found nobody."""

NOBODY: Final = (Result.UNREACHABLE, Result.NO_NODE)
"""Results with which it is worth to wait for somebody."""


class Answer(NamedTuple):
    """What a subscriber has answered to a unicast message."""

    data: bytes
    id: bytes
    """Of the message."""
    node: str | None
    """The node that it went by, as far as we know."""


class BcosNetwork(Network):
    """A node or an SDK of FISCO BCOS.

    ``mode`` is what :meth:`publish` does; ``largest_packet`` what a packet may have.
    """

    repeatable: ClassVar[frozenset[str]] = frozenset(("unanswered", "verification"))
    instead_of_relay: ClassVar[str] = "its nodes pass on what their settings say, of every topic"

    def __init__(
        self,
        *,
        name: str,
        id: str,
        driver: Driver[BcosInput],
        mode: Mode,
        largest_packet: int,
        live: LiveParameters,
    ) -> None:
        to_all = mode == "multicast"
        super().__init__(
            name=name,
            id=id,
            driver=driver,
            capabilities=Capabilities(
                largest_message=largest_packet - HEADER_SIZE - 1 - LONGEST_TOPIC,
                all_subscribers=to_all,
                acknowledged=not to_all,
                signed=False,
            ),
            subject=Subject(lambda message: True, self._judged),
            validator_concurrency=live.validator_concurrency,
            close_timeout=live.close_timeout,
            trace_each=live.trace_each,
        )
        self.mode: Mode = mode
        """Whether :meth:`publish` reaches all subscribers, or one that answers."""
        self._bcos: Driver[BcosInput] = driver
        self._tokens = itertools.count(1)
        self._unicasts: Waiting[UnicastEnded] = Waiting()
        self._dials = Dials(driver)
        self._responders = Responders(self._respond, self._unanswered)
        driver.on(Check, self._check)
        driver.on(UnicastEnded, self._unicast_ended)
        driver.on(Request, self._responders.request)

    # ---- what a node and an SDK do each in its own way

    @abstractmethod
    async def _multicast(self, topic: str, data: bytes, timeout: float) -> Receipt:
        """Hand a message for all subscribers to the machine."""

    @abstractmethod
    def _check_message(self, topic: str, data: bytes) -> None:
        """Raise :class:`LocalProtocolError` for what the machine would not take."""

    @contextmanager
    def _watching(self, topic: str) -> Iterator[None]:
        """Somebody waits within for subscribers of a topic."""
        yield

    # ---- publish

    async def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish ``data`` to all subscribers, or to one, as the setting ``mode`` says.

        With ``multicast``, see :meth:`multicast`. With ``unicast`` the receipt names the node of
        the subscriber that has answered, its answer is in ``fields``; it is empty if there is no
        subscriber. Other ends raise :class:`~rumormill.bcos.errors.AmopError`.
        """
        name = _one(topic)
        if self.mode == "multicast":
            return await self.multicast(name, data, ready=ready, timeout=timeout)
        try:
            answer = await self.unicast(name, data, ready=ready, timeout=timeout)
        except AmopError as error:
            if error.code != Result.NO_NODE:
                raise
            return Receipt(b"", name)
        reached = () if answer.node is None else (answer.node,)
        return Receipt(answer.id, name, reached, fields={"answer": answer.data})

    async def multicast(
        self, topic: str, data: bytes, *, ready: float | None = None, timeout: float = 5.0
    ) -> Receipt:
        """Send ``data`` to all subscribers of a topic; the receipt names the nodes that have some.
        An SDK that has not been told who they are names the node that it gave the message to.

        With ``ready``, wait up to so many seconds for the first (:class:`NotReadyError`). An SDK
        waits up to ``timeout`` seconds for its node to say that it has the message, and raises
        :class:`~rumormill.bcos.errors.AmopError` if it does not.
        """
        data = await self._checked(topic, data)
        if ready is not None and not self._has_targets((topic,)):
            await self._wait_ready((topic,), ready)
        self._check_open()
        return await self._multicast(topic, data, timeout)

    async def unicast(
        self,
        topic: str,
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = UNICAST_TIMEOUT,
        node: str | None = None,
    ) -> Answer:
        """Send ``data`` to one subscriber of a topic, whichever; return its answer.

        With ``ready``, wait up to so many seconds for one (:class:`NotReadyError`). ``timeout``
        seconds are what the answer may take. A node may name the ``node`` of the subscriber. Raises
        :class:`~rumormill.bcos.errors.AmopError` with the ``code`` that the protocol has for it;
        after 102 the message may have arrived, and it is up to you to send it again.
        """
        data = await self._checked(topic, data)
        loop = asyncio.get_running_loop()
        ready_by = loop.time() + (ready or 0.0)
        if ready is not None and not self._has_targets((topic,)):
            await self._wait_ready((topic,), ready)
        while True:
            ended = await self._unicast(topic, data, timeout, node)
            if ended.result == Result.OK:
                return Answer(ended.data, ended.id, ended.node)
            if ready is None or ended.result not in NOBODY:
                raise AmopError(ended.result, topic)
            if loop.time() + AGAIN > ready_by:
                raise NotReadyError(f"nobody listened to {topic!r} within {ready:g} s")
            await asyncio.sleep(AGAIN)

    async def _checked(self, topic: str, data: bytes) -> bytes:
        self._check_open()
        data = as_bytes(data)
        self._check_message(check_topic(topic), data)
        if self._validators:
            await self._judge_own((topic,), data)
        return data

    async def _unicast(
        self, topic: str, data: bytes, timeout: float, node: str | None
    ) -> UnicastEnded:
        self._check_open()
        token = next(self._tokens)
        ended = self._unicasts.begin(token)
        try:
            self._bcos.feed(Unicast(token, topic, data, timeout, node))
            return await ended
        finally:
            if self._unicasts.forget(token):  # cancelled, or refused
                self._bcos.feed(Forget(token))

    def _unicast_ended(self, effect: UnicastEnded) -> None:
        self._unicasts.done(effect.token, effect)

    async def _wait_ready(self, topics: tuple[str, ...], seconds: float) -> None:
        with self._watching(topics[0]):
            await super()._wait_ready(topics, seconds)

    async def wait_for_peers(
        self, topic: str, count: int = 1, timeout: float | None = None
    ) -> tuple[str, ...]:
        """See :meth:`Network.wait_for_peers`; peers are nodes that have subscribers."""
        self._check_open()
        with self._watching(check_topic(topic)):
            return await super().wait_for_peers(topic, count, timeout)

    # ---- answer

    def respond(
        self,
        topic: str,
        function: ResponderFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 64,
    ) -> Callable[[], None]:
        """Answer the unicast messages of a topic with what ``function`` returns, plain or
        ``async``; returns how to end that.

        An ``async`` function has ``timeout`` seconds, nodes wait no longer than 5, and at most
        ``concurrency`` of its calls are under way. Whoever fails, takes too long or is asked too
        much does not answer: the node asks another subscriber then.
        """
        self._check_open()
        check_topic(topic)
        self._responders.add(topic, function, timeout, concurrency)
        try:
            self._bcos.feed(SetResponder(topic, True))
        except BaseException:
            self._responders.remove(topic)
            raise

        def stop() -> None:
            if self._responders.remove(topic) and not self.closed:
                self._bcos.feed(SetResponder(topic, False))

        return stop

    def _respond(self, token: int, data: bytes) -> None:
        self._bcos.feed(Respond(token, data))

    def _unanswered(self, message: Message, reason: str) -> None:
        self._trace(trace.DROPPED, message.topic, message.id, what="answer", reason=reason, count=1)

    # ---- connect

    async def connect(self, address: str, keep: bool = False) -> str:
        """Connect to the node at ``address`` and return its id; see :class:`Network`."""
        self._check_open()
        ADDRESSES.parse(address)
        return await self._dials.dial(address, keep)

    def _hold(self, paused: bool) -> None:
        self._bcos.feed(Hold(paused))

    def _check(self, effect: Check) -> None:
        """Messages have no signatures: without validators there is nothing to look at."""
        if self._validators:
            self._checker.check(effect)
        else:
            self._bcos.feed(Checked(effect.token, Verdict.ACCEPT))

    def _judged(self, message: Message, peer: str | None) -> Iterable[Message]:
        """What validators see of a message."""
        return (message,)

    def sizes(self) -> dict[str, int]:
        """See :meth:`Network.sizes`; and unicast messages without an answer yet, on both sides."""
        return {
            **super().sizes(),
            "unicasts": len(self._unicasts),
            "responding": len(self._responders),
        }


def _one(topic: str | Sequence[str]) -> str:
    if isinstance(topic, str):
        return topic
    if len(topic) != 1:
        raise LocalProtocolError(f"a message of this network has one topic, not {len(topic)}")
    return topic[0]
