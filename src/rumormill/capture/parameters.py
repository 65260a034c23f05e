"""The settings of a spool: the same keys in Python and in the table ``[spool]`` of a node."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from rumormill.core.parameters import Parameters

Compression = Literal["none", "lz4", "zstd"]


class SpoolParameters(Parameters):
    """How a spool is written and how long it is kept.

    >>> SpoolParameters(fsync="batch", retention_bytes=10_000_000_000).fsync
    'batch'
    >>> SpoolParameters(fsync="sometimes")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: fsync: must be never, batch, or seconds (got 'sometimes')
    """

    records: tuple[Literal["messages", "trace"], ...] = ("messages", "trace")
    """What is kept: delivered messages, trace events, or both."""
    fsync: Literal["never", "batch"] | float = 1.0
    """When records are forced to the disk: after every ``batch``, after so many seconds at the
    latest, or ``never`` by us. Killing the process loses nothing of what was written; this is about
    power cuts."""
    linger: float = Field(default=0.02, ge=0, allow_inf_nan=False)
    """Seconds that a record waits for others, to be written in one batch with them."""
    batch_records: int = Field(default=2048, ge=1)
    """A batch has no more records than this..."""
    batch_bytes: int = Field(default=2 * 1024 * 1024, ge=1)
    """... nor takes more bytes in memory, unless a single record does."""
    buffer_records: int = Field(default=100_000, ge=1)
    """Records of each kind that may wait for the disk; more are dropped, counted and traced."""
    buffer_bytes: int = Field(default=64 * 1024 * 1024, ge=1)
    """The same in bytes of memory."""
    segment_bytes: int = Field(default=64 * 1024 * 1024, ge=4096)
    """A new segment begins when one has so many bytes..."""
    segment_age: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    """... or is so many seconds old."""
    retention_bytes: int | Literal["all"] | None = None
    """Of each kind, keep so many bytes, or ``all``; the oldest segments go first. Not set: on a
    node 5 GiB, or a quarter of what its disk has free if that is less; in programs that make their
    own records all."""
    retention_age: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Keep segments whose last record was written at most so many seconds ago. None: all."""
    message_compression: Compression = "none"
    """How messages are compressed; applications often have compressed or encrypted them already."""
    trace_compression: Compression = "lz4"
    """How trace events are compressed."""

    @field_validator("fsync", mode="before")
    @classmethod
    def _policy(cls, value: Any) -> Any:
        if value in ("never", "batch"):
            return value
        try:
            seconds = float(value)
        except (TypeError, ValueError):
            seconds = -1.0
        if isinstance(value, bool) or not 0 < seconds < float("inf"):
            raise ValueError("must be never, batch, or seconds")
        return seconds

    @field_validator("retention_bytes", mode="before")
    @classmethod
    def _bound(cls, value: Any) -> Any:
        if value is None or value == "all":
            return value
        if isinstance(value, bool) or not isinstance(value, int) or value < 16_384:
            raise ValueError("must be all, or bytes: a whole number, at least 16384")
        return value

    @property
    def most_bytes(self) -> int | None:
        """Bytes that are kept of each kind; None: all."""
        return self.retention_bytes if isinstance(self.retention_bytes, int) else None

    @property
    def segment_limit(self) -> int:
        """Bytes of a segment: small enough that several of them fit into what is kept."""
        if self.most_bytes is None:
            return self.segment_bytes
        return min(self.segment_bytes, max(4096, self.most_bytes // 4))

    def compression(self, kind: str) -> str | None:
        """The codec of one kind of records."""
        name = self.message_compression if kind == "messages" else self.trace_compression
        return None if name == "none" else name
