"""The sockets of one network: TCP, Unix and UDP, each for the addresses that are its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Never

from rumormill.core.errors import ConfigError, ConnectError
from rumormill.core.gate import Gatekeeper
from rumormill.core.machine import Received
from rumormill.core.transport import TransportInput
from rumormill.live.driver import Driver
from rumormill.live.transports.losses import Lost
from rumormill.live.transports.udp import EVERYWHERE, Udp, resolve_all
from rumormill.live.transports.unix import Streams
from rumormill.ndn.faces.addresses import TCP, UDP, canonical, is_local, read_address
from rumormill.ndn.wire.tlv import MOST_PACKET

LOOPBACK: Final = {4: "127.0.0.1", 6: "::1"}


class Sockets:
    """Listens, and knows what is to be dialed for an address that a user wrote."""

    def __init__(
        self,
        feed: Callable[[TransportInput | Received], None],
        *,
        gate: Gatekeeper,
        now: Callable[[], float],
        close_timeout: float,
        on_short: Callable[[], None],
        on_lost: Lost,
    ) -> None:
        self._streams = Streams(feed, TCP, close_timeout=close_timeout, on_short=on_short)
        self._udp = Udp(feed, UDP, on_lost, gate, now, largest=MOST_PACKET)
        self._only_here = False
        """Whether a UDP socket was opened that reaches nobody but this machine."""

    def attach(self, driver: Driver[Never]) -> None:
        """Carry out what the driver's machine wants of its transports."""
        self._streams.attach(driver)
        self._udp.attach(driver)

    def sizes(self) -> dict[str, int]:
        """See :meth:`Tcp.sizes`; and datagrams that the system has not taken yet."""
        return {**self._streams.sizes(), "datagrams": self._udp.waiting}

    async def listen(self, addresses: Iterable[str]) -> tuple[str, ...]:
        """Listen on each address; returns what others can dial, with the real ports."""
        found: list[str] = []
        for text in addresses:
            transport = self._udp if read_address(text).scheme == "udp" else self._streams
            found += await transport.listen([text])
        return tuple(found)

    async def target(self, text: str) -> str:
        """What the machine is to dial for an address: of UDP, an IP address that there is a socket
        for, and a socket is opened if there is none.

        Raises :class:`ConnectError` if it cannot be found or reached.
        """
        if read_address(text).scheme != "udp":
            return canonical(text)
        peers = await resolve_all(text, UDP)
        for peer in peers:
            if self._udp.has_family(peer):
                break
        else:
            peer = peers[0]
            await self._open_towards(peer)
        if self._only_here and not is_local(peer):
            raise ConnectError(
                f"could not reach {text}: our UDP socket reaches this machine alone; give one to "
                "listen on"
            )
        return peer

    async def _open_towards(self, peer: str) -> None:
        version = UDP.parse(peer).version or 4
        self._only_here = is_local(peer)
        host = LOOPBACK[version] if self._only_here else EVERYWHERE[version]
        try:
            await self._udp.listen([UDP.text(host, 0)])
        except ConfigError as error:
            raise ConnectError(f"could not reach {peer}: {error.problem}") from None

    async def close(self, timeout: float) -> None:
        """Close all of them; what could not be written within ``timeout`` seconds is lost."""
        await self._streams.close(timeout)
        self._udp.close()
