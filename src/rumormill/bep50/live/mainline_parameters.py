"""The settings of the main DHT at an overlay's side."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from rumormill.bep50.wire.addresses import parse_address
from rumormill.core.errors import LocalProtocolError
from rumormill.core.parameters import Parameters


class MainlineParameters(Parameters):
    """Whether and how the main DHT is used; see docs/bep50.md."""

    main_dht: bool = False
    """Find members of a topic on the main DHT, and put what is published there too."""
    main_dht_listen: str | None = None
    """HOST:PORT of our node on the main DHT; by default on the host that we listen on, any port."""
    main_dht_nodes: tuple[str, ...] = ()
    """HOST:PORT of nodes to join the main DHT by, and no others: a private one. By default the
    public one, by libtorrent's own list."""
    announce_interval: float = Field(default=1200.0, gt=0, allow_inf_nan=False)
    """Seconds between two announcements of a topic, at most; nodes forget them after 45 minutes."""
    republish_interval: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    """Seconds after which the newest value is put on the main DHT again; nodes forget it after two
    hours."""
    main_dht_pause: float = Field(default=5.0, ge=0, allow_inf_nan=False)
    """Seconds between two puts of one topic on the main DHT: of several values that are published
    meanwhile, the newest is put."""

    @field_validator("main_dht_nodes", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("main_dht_nodes", "main_dht_listen")
    @classmethod
    def _addresses(cls, value: Any) -> Any:
        for address in (value,) if isinstance(value, str) else value or ():
            try:
                parse_address(address)
            except LocalProtocolError as error:
                raise ValueError(str(error)) from None
        return value
