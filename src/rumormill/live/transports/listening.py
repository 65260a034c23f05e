"""Listening at addresses as a user writes them: the same for connections and datagrams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from rumormill.core.addresses import Addresses, Endpoint
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.live.transports.names import Place
from rumormill.live.transports.words import own_hosts, words_for

Open = Callable[[str, Endpoint], Awaitable[Iterable[Place]]]
"""Opens sockets at an address, given as text too, for what there is to say of it; returns where
they are bound."""


async def listen_at(texts: Sequence[str], addresses: Addresses, open: Open) -> tuple[str, ...]:
    """Open sockets at each address; returns what others can reach them by, with the real ports.

    Raises :class:`ConfigError` about the key ``listen``.
    """
    found: dict[str, None] = {}
    for text in texts:
        try:
            endpoint = addresses.parse(text)
        except LocalProtocolError as error:
            raise ConfigError("listen", str(error)) from None
        try:
            places = await open(text, endpoint)
        except (OSError, UnicodeError) as error:
            problem = words_for(error)
            raise ConfigError("listen", f"cannot listen on {text}: {problem}") from None
        for place in places:
            for host in own_hosts(place[0]):
                found[addresses.text(without_zone(host), place[1])] = None
    return tuple(found)


def without_zone(host: str) -> str:
    """An IP address without the name of a link, which means nothing to another machine.

    >>> without_zone("fe80::1%eth0"), without_zone("::1")
    ('fe80::1', '::1')
    """
    return host.partition("%")[0]
