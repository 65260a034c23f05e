"""Ends of TLS connections for tests, with certificates of authorities made on the spot."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

from rumormill.core.addresses import HostPort
from rumormill.core.transport import OpenTransport, TransportOpened
from rumormill.live.transports.client_hello import SECP256K1, Offer
from rumormill.live.transports.tls import Tls
from rumormill.live.transports.tls_session import ContextChoice
from tests.helpers.live.tls_certificates import authority, leaf
from tests.helpers.live.transport_ends import Ear


def server_context(kind: str = "ec") -> ssl.SSLContext:
    return authority(kind).context(leaf(kind, "server"), server=True)


def client_context(kind: str = "ec") -> ssl.SSLContext:
    return authority(kind).context(leaf(kind, "client"), server=False)


def always(context: ssl.SSLContext) -> ContextChoice:
    return lambda offer: context


def both_kinds() -> ContextChoice:
    """Serves clients of secp256k1 and those that know nothing of it."""
    contexts = {kind: server_context(kind) for kind in ("ec", "rsa")}

    def choose(offer: Offer) -> ssl.SSLContext:
        return contexts["ec" if SECP256K1 in offer.groups else "rsa"]

    return choose


class TlsEnd(Ear):
    """One end: its sockets, what they told the machine, and handshakes that failed."""

    def __init__(
        self,
        client: ssl.SSLContext | None = None,
        server: Mapping[str, ContextChoice] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.failed: list[tuple[str, str]] = []
        self.waits: list[float] = []
        self.tls = Tls(
            self.feed,
            HostPort(),
            server=server or {"": always(server_context())},
            client=client or client_context(),
            on_failed=self._failed,
            on_wait=lambda address, seconds: self.waits.append(seconds),
            **options,
        )

    def _failed(self, address: str, reason: str, detail: str) -> None:
        self.failed.append((reason, detail))
        self._news.set()

    async def failure(self) -> str:
        """The reason of the first handshake that failed of those that others dialed."""
        await self.until(lambda: self.failed)
        return self.failed[0][0]


@contextlib.asynccontextmanager
async def closing(*ends: TlsEnd) -> AsyncIterator[tuple[TlsEnd, ...]]:
    """Close them at the end, and see that nothing is left."""
    try:
        yield ends
    finally:
        await asyncio.gather(*(end.tls.close() for end in ends))
        for end in ends:
            sizes = end.tls.sizes()
            assert (sizes["connections"], sizes["handshakes"], sizes["dials"]) == (0, 0, 0)


async def connect(left: TlsEnd, right: TlsEnd, address: str = "127.0.0.1:0") -> tuple[int, int]:
    """Let the left end dial the right one; returns what they call the connection."""
    (listening,) = await right.tls.listen([address])
    left.tls.open(OpenTransport(7, listening))
    ours, theirs = await left.first(TransportOpened), await right.first(TransportOpened)
    assert (ours.address, ours.dial, theirs.dial) == (listening, 7, None)
    return ours.connection, theirs.connection


async def dial(left: TlsEnd, right: TlsEnd) -> str:
    """Let the left end dial the right one; returns where that listens."""
    (listening,) = await right.tls.listen(["127.0.0.1:0"])
    left.tls.open(OpenTransport(7, listening))
    return listening


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])
