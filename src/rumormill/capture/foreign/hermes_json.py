"""The JSON lines of Hermes: Type, Topic, PeerID, Timestamp, and Data that depends on the type."""

from __future__ import annotations

from collections.abc import Iterator

from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.hermes import HermesEvents, Json, Rfc3339
from rumormill.capture.foreign.json_lines import JsonLines
from rumormill.capture.foreign.rows import Row
from rumormill.capture.foreign.source import ByteSource

KEYS = frozenset(("Type", "Topic", "PeerID", "Timestamp", "Data"))


class HermesJsonReader:
    """Reads one file."""

    def __init__(self, source: ByteSource, findings: Findings) -> None:
        self._lines = JsonLines(source, findings, self._handle)
        self._findings = findings
        self._events = HermesEvents(findings)
        self._times = Rfc3339()

    def read(self) -> Iterator[list[Row]]:
        """The rows of each block of the file."""
        for _ in self._lines.read():
            yield self._events.translator.take()

    def _handle(self, event: Json) -> None:
        time = self._times.nanoseconds(event["Timestamp"])
        self._events.handle(event["Type"], time, event["PeerID"], event["Data"])
        if len(event) > len(KEYS):
            self._findings.unknown_fields += len(event) - len(KEYS)
