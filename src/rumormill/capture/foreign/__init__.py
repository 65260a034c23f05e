"""Traces of other implementations, read as if they were ours.

``go-libp2p-pubsub`` writes JSON lines, delimited protobuf and batches of protobuf; Hermes writes
JSON lines and Parquet. :func:`import_traces` turns any of them into the trace events of
:mod:`rumormill.core.trace`, in a spool. What each foreign event becomes is in
:mod:`rumormill.capture.foreign.translate`, and in ``docs/traces.md``.
"""

from __future__ import annotations

from rumormill.capture.foreign.errors import TraceImportError
from rumormill.capture.foreign.importer import Progress, SpoolImport, import_traces

__all__ = ["Progress", "SpoolImport", "TraceImportError", "import_traces"]
