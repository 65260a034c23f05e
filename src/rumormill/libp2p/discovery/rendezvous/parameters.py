"""Parameters of rendezvous."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from rumormill.core.errors import LocalProtocolError
from rumormill.core.parameters import Parameters
from rumormill.libp2p.discovery.rendezvous.records import RecordForm
from rumormill.libp2p.stack.multiaddr import Multiaddr


class RendezvousParameters(Parameters):
    """Where to register, and whether others may register here.

    >>> RendezvousParameters(rendezvous="/ip4/192.0.2.7/tcp/4001")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: rendezvous: '/ip4/192.0.2.7/tcp/4001' must end with /p2p/ \
and a peer id (got '/ip4/192.0.2.7/tcp/4001')
    """

    rendezvous: tuple[str, ...] = ()
    """Addresses of the meeting points to register at and to ask, each with its peer id."""
    rendezvous_server: bool = False
    """Whether we are a meeting point ourselves."""
    rendezvous_ttl: int = Field(default=7200, ge=7200, le=259_200)
    """Seconds that a registration of ours holds, unless it is renewed: from two hours to three
    days. It is renewed after three quarters of it."""
    rendezvous_record: RecordForm = "rust"
    """How our registrations are signed: ``rust`` as rust-libp2p does it and takes it, ``standard``
    as RFC 0003 says. Both are read."""

    @field_validator("rendezvous", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("rendezvous")
    @classmethod
    def _points(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            try:
                parsed = Multiaddr.parse(address)
            except LocalProtocolError as error:
                raise ValueError(str(error)) from None
            if parsed.peer is None:
                raise ValueError(f"{address!r} must end with /p2p/ and a peer id")
        return value
