"""Names: every socket address that a host stands for, best first."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import Any, NamedTuple, TypeAlias

from rumormill.core.addresses import Endpoint

Place: TypeAlias = tuple[Any, ...]
"""A socket address as the system knows it."""

MOST_ANSWERS = 16
"""Addresses of one name that are looked at: what a name server says must not cost us more."""

FAMILIES = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}
"""By the version of IP."""


class Answer(NamedTuple):
    """One address of a host."""

    family: socket.AddressFamily
    place: Place


async def look_up(endpoint: Endpoint, kind: socket.SocketKind) -> list[Answer]:
    """All addresses of an endpoint in the order of the system; :class:`OSError` if there is none.

    A literal address is not looked up.
    """
    host, port, version = endpoint
    literal = _literal(host, port)
    if literal is not None:
        return [literal]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, family=FAMILIES[version], type=kind)
    answers = [Answer(socket.AddressFamily(family), place) for family, _, _, _, place in found]
    if not answers:
        raise OSError("the name has no address")
    return list(dict.fromkeys(answers))[:MOST_ANSWERS]


def interleaved(answers: Iterable[Answer]) -> list[Answer]:
    """The answers with the versions of IP in turn, so that none of them hides the other.

    As RFC 8305, section 4: the version of the first answer comes first.
    """
    by_family: dict[int, list[Answer]] = {}
    for answer in answers:
        by_family.setdefault(answer.family, []).append(answer)
    return [each for each in chain(*zip_longest(*by_family.values())) if each is not None]


def _literal(host: str, port: int) -> Answer | None:
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return None
    if version == 4:
        return Answer(socket.AF_INET, (host, port))
    if "%" in host:
        return None  # only the system knows the number of a link
    return Answer(socket.AF_INET6, (host, port, 0, 0))
