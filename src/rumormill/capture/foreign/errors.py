"""What can be wrong with a foreign trace."""

from __future__ import annotations

from rumormill.core.errors import RumormillError


class TraceImportError(RumormillError):
    """A file cannot be imported at all; the sentence names it."""


class MalformedError(ValueError):
    """Bytes that are no protobuf: nothing behind them can be trusted. Caught by the readers."""


class BadEventError(ValueError):
    """An event that lacks what it must have, or has it wrong. Counted by the readers, left out."""
