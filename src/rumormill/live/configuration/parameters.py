"""What may be set on a network of any family, beside what the family's own parts take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, field_validator

from rumormill.core.errors import LocalProtocolError
from rumormill.core.parameters import Parameters
from rumormill.live.tracing.summaries import EACH


class LiveParameters(Parameters):
    """What this room itself needs to know. A family derives from it and looks at addresses."""

    listen: tuple[str, ...] = ()
    """Addresses to listen on; none means that others cannot dial us."""
    bootstrap: tuple[str, ...] = ()
    """Addresses that are dialed at the start, and again whenever they are lost."""
    key_file: Path | None = None
    """Where our key is kept; without it, a new key for every run."""
    spool: Path | None = None
    """A folder in which delivered messages and trace events are kept; see docs/spool.md."""
    trace_each: int = Field(default=EACH, ge=0)
    """Trace events of one kind, peer and reason that are kept one by one in a second, where a peer
    can bring them about at will; further ones are summed up into one with their ``count``."""
    close_timeout: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds that closing may take before connections are cut."""
    validator_concurrency: int = Field(default=8192, ge=1)
    """Messages that ``async`` validators may look at at once, all topics together."""

    @classmethod
    def check_address(cls, address: str) -> None:
        """Raise :class:`LocalProtocolError` if the family cannot use the address."""

    @field_validator("listen", "bootstrap", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        if value is None:
            return ()
        return (value,) if isinstance(value, str) else value

    @field_validator("listen", "bootstrap")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            try:
                cls.check_address(address)
            except LocalProtocolError as error:
                raise ValueError(str(error)) from None
        return value


class PlainSettings(NamedTuple):
    """The settings of a family that has no others than these."""

    live: LiveParameters
