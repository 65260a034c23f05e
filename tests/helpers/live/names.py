"""A name server of the test's own: what the loop answers for names that the test made up."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import pytest

Found = tuple[int, int, int, str, tuple[Any, ...]]


class Names:
    """Answers for some names; all others are unknown."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[str, ...]] = {}

    def answer(self, name: str, *hosts: str) -> None:
        """From now on ``name`` has these addresses, in this order."""
        self._answers[name] = hosts

    async def getaddrinfo(
        self, host: str, port: int, *, family: int = 0, type: int = 0, **_: Any
    ) -> list[Found]:
        if host not in self._answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        found = [_found(each, port, type) for each in self._answers[host]]
        return [each for each in found if family in (socket.AF_UNSPEC, each[0])]


def _found(host: str, port: int, kind: int) -> Found:
    if ipaddress.ip_address(host).version == 4:
        return socket.AF_INET, kind, 0, "", (host, port)
    return socket.AF_INET6, kind, 0, "", (host, port, 0, 0)


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    server = Names()
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", server.getaddrinfo)
    return server


__all__ = ["Names", "names"]
