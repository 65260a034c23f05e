"""An SDK on asyncio: TLS connections to nodes, and an application that talks through them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, TypeVar

from rumormill.bcos.effects import Forget, Multicast, MulticastEnded, SdkInput, Watch
from rumormill.bcos.errors import AmopError
from rumormill.bcos.live.bcos_network import ADDRESSES, BcosNetwork
from rumormill.bcos.live.certificate_set import CertificateFolder
from rumormill.bcos.live.settings import BcosSettings
from rumormill.bcos.live.tls_contexts import sdk_client, shown_by_sdk
from rumormill.bcos.sdk.challenges.dialects import DIALECTS
from rumormill.bcos.sdk.holders import SUBSCRIBERS_UNKNOWN
from rumormill.bcos.sdk.machine import SdkMachine
from rumormill.bcos.sdk.private_topics import TopicKeys
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey
from rumormill.bcos.sdk.verifying import BAD_PROOF, VERIFICATION
from rumormill.bcos.wire.channel_packet import Result
from rumormill.core.errors import ConfigError, LocalProtocolError, NotReadyError
from rumormill.core.machine import Shutdown
from rumormill.core.receipt import Receipt
from rumormill.core.trace import CONNECTION_REFUSED
from rumormill.core.transport import Dial
from rumormill.live.driver import Driver
from rumormill.live.family_part import SHIFTS
from rumormill.live.topics.message_filter import MessageFilter
from rumormill.live.topics.subscription import Subscription, WhenFull
from rumormill.live.transports.tls import Tls
from rumormill.live.waiting.answers import Waiting

Key = TypeVar("Key", TopicPrivateKey, TopicPublicKey)


class BcosSdkNetwork(BcosNetwork):
    """An SDK; its peers are the nodes that it is connected to."""

    shifts: ClassVar[frozenset[str]] = SHIFTS | {SUBSCRIBERS_UNKNOWN}

    def __init__(self, name: str, settings: BcosSettings, folder: CertificateFolder) -> None:
        live = settings.live
        rsa = live.channel_profile == "rsa"
        id = shown_by_sdk(folder, rsa=rsa).identity.called  # as nodes call it
        self._settings = settings
        self._machine = SdkMachine(
            name=id,
            network=name,
            parameters=settings.sdk,
            # Of the system: what a publisher asks readers to sign must not be foreseen.
            random=random.SystemRandom(),
            keys=_topic_keys(settings),
        )
        self._sdk: Driver[SdkInput] = Driver(self._machine)
        super().__init__(
            name=name,
            id=id,
            driver=self._sdk,
            mode=live.mode,
            largest_packet=settings.sdk.largest_sdk_packet,
            live=live,
        )
        self._multicasts: Waiting[MulticastEnded] = Waiting()
        self._sdk.on(MulticastEnded, self._multicast_ended)
        self._tls = Tls(
            self._sdk.feed,
            ADDRESSES,
            server={},
            client=sdk_client(folder, rsa=rsa),
            handshake_timeout=live.handshake_timeout,
            close_timeout=live.close_timeout,
            on_short=lambda: self.emit(CONNECTION_REFUSED, reason="too_many_open_files"),
        )
        self._tls.attach(self._sdk)

    # ---- what there is

    @property
    def addresses(self) -> tuple[str, ...]:
        """None: an SDK is reached by its nodes alone."""
        return ()

    @property
    def peers(self) -> tuple[str, ...]:
        """The nodes that we are connected to."""
        return self._machine.peers()

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Nodes that have subscribers of the topic, as far as our nodes tell."""
        return self._machine.holders(topic) or ()

    def sizes(self) -> dict[str, int]:
        """See :meth:`Network.sizes`; and what the machine and its connections keep."""
        return {
            **super().sizes(),
            **self._machine.sizes(),
            **self._tls.sizes(),
            "multicasts": len(self._multicasts),
        }

    # ---- subscribe and publish

    def subscribe(
        self,
        topic: str,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """See :meth:`Network.subscribe`; of a private topic, if we have its key."""
        self._check_open()
        self._machine.check_readable(topic)
        return super().subscribe(
            topic, buffer=buffer, when_full=when_full, buffer_bytes=buffer_bytes, only=only
        )

    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        return all(self._machine.has_targets(topic) for topic in topics)

    def _check_message(self, topic: str, data: bytes) -> None:
        self._machine.check_message(topic, len(data))

    @contextmanager
    def _watching(self, topic: str) -> Iterator[None]:
        self._sdk.feed(Watch(topic, True))
        try:
            yield
        finally:
            self._sdk.feed(Watch(topic, False))

    async def _wait_ready(self, topics: tuple[str, ...], seconds: float) -> None:
        try:
            await super()._wait_ready(topics, seconds)
        except NotReadyError:
            if not self.counters[f"{VERIFICATION}.{BAD_PROOF}"]:
                raise
            who = f"nobody with one of the public_keys listened to {topics[0]!r}"
            raise NotReadyError(f"{who} within {seconds:g} s") from None

    async def _multicast(self, topic: str, data: bytes, timeout: float) -> Receipt:
        token = next(self._tokens)
        answer = self._multicasts.begin(token)
        try:
            self._sdk.feed(Multicast(token, topic, data, timeout))
            ended = await answer
        finally:
            if self._multicasts.forget(token):  # cancelled, or refused
                self._sdk.feed(Forget(token))
        if ended.result != Result.OK:
            raise AmopError(ended.result, topic)
        return ended.receipt

    def _multicast_ended(self, effect: MulticastEnded) -> None:
        self._multicasts.done(effect.token, effect)

    # ---- come and go

    async def _start(self) -> None:
        for address in self._settings.live.bootstrap:
            self._sdk.feed(Dial(address, keep=True))

    async def _leave(self) -> None:
        await self._responders.close()
        self._sdk.feed(Shutdown())
        self._sdk.wake()
        left = self._close_by - asyncio.get_running_loop().time()
        await self._tls.close(max(0.0, left))


def _topic_keys(settings: BcosSettings) -> TopicKeys:
    """The keys of private topics, from their files."""
    live = settings.live
    private_key = None
    if live.private_key is not None:
        private_key = _key("private_key", live.private_key, TopicPrivateKey)
    public_keys = tuple(_key("public_keys", path, TopicPublicKey) for path in live.public_keys)
    if live.private_topics and private_key is None and not public_keys:
        raise ConfigError("private_topics", "there is neither a private_key nor public_keys")
    return TopicKeys(
        live.private_topics, private_key, public_keys, DIALECTS[settings.sdk.challenge]
    )


def _key(setting: str, path: Path, kind: type[Key]) -> Key:
    try:
        return kind.from_pem(path.read_bytes())
    except OSError as error:
        raise ConfigError(setting, f"{path} cannot be read: {error.strerror}") from None
    except LocalProtocolError as error:
        raise ConfigError(setting, f"{path}: {error}") from None
