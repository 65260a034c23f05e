"""A log that a node keeps, read over HTTP; see :mod:`rumormill.node` for the other end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa

from rumormill.capture.log import Bounds, CorruptSegmentError, DataLostError, Span, SpoolError
from rumormill.capture.reading.node_client import Answer, NodeClient, NodeRefusedError
from rumormill.capture.reading.wanted import Wanted
from rumormill.capture.schema import KINDS, conformed, is_known
from rumormill.core.errors import ConfigError


class _Offsets(NamedTuple):
    spool: str
    bounds: Bounds
    offset: int
    """Of the time that was asked for."""
    spans: list[Span] | None
    """Of the offsets that were asked for; an older node does not say."""


class RemoteLog:
    """One kind of records of the spool of one node.

    Not for several threads at once.
    """

    def __init__(
        self,
        address: str,
        kind: str,
        *,
        token: str | None = None,
        retry_seconds: float = 30.0,
    ) -> None:
        if kind not in KINDS:
            raise ConfigError("kind", f"must be one of {', '.join(KINDS)}, not {kind!r}")
        self._client = NodeClient(address, token=token, retry_seconds=retry_seconds)
        self.source = self._client.address
        self.kind = kind

    @cached_property
    def spool_id(self) -> str:
        """The spool's own name; asked for once."""
        return self._offsets().spool

    def bounds(self) -> Bounds:
        """Which offsets there are now."""
        return self._offsets().bounds

    def offset_at(self, time_us: int) -> int:
        """An offset before which every record is older than that; never too late."""
        return self._offsets(time_us=time_us).offset

    def spans(self, start: int, end: int) -> list[Span]:
        """The parts of [start, end) between which offsets were left out."""
        found = self._offsets(start=start, end=end).spans
        return [Span(start, end)] if found is None else found

    def read(
        self, start: int, end: int, wanted: Wanted | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The records with offsets in [start, end): batches, each with its first offset."""
        expected = self.spool_id
        position = start
        while position < end:
            answer = self._records(position, end, wanted)
            if answer.headers.get("Rumormill-Spool") != expected:
                raise SpoolError(
                    f"{self.source}: the node has another spool now, "
                    f"{answer.headers.get('Rumormill-Spool')} instead of {expected}"
                )
            after = _number(answer, "Rumormill-Next-Offset")
            if not position < after <= max(end, position + 1):
                raise SpoolError(f"{self.source}: asked for {position}, the node went to {after}")
            got = 0
            for first, batch in self._batches(answer):
                # Whole batches come; of the first and the last one, a part may be wanted.
                begin, stop = max(position, first), min(end, first + batch.num_rows)
                if begin < stop:
                    got += stop - begin
                    yield begin, batch.slice(begin - first, stop - begin)
            if wanted is not None and wanted.query():
                wanted.passed += after - position - got
            position = after

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _offsets(self, **query: int) -> _Offsets:
        answer = self._client.get(f"/v1/spool/{self.kind}/offsets", **query)
        try:
            found = answer.json()
            bounds = Bounds(int(found["earliest"]), int(found["latest"]))
            spans = found.get("spans")
            if spans is not None:
                spans = [Span(int(start), int(end)) for start, end in spans]
            return _Offsets(str(found["spool"]), bounds, int(found.get("offset", 0)), spans)
        except (ValueError, KeyError, TypeError):
            raise SpoolError(f"{self.source}: what answers there is no node") from None

    def _records(self, start: int, end: int, wanted: Wanted | None) -> Answer:
        query = {} if wanted is None else wanted.query()
        try:
            return self._client.get(f"/v1/spool/{self.kind}/records", start=start, end=end, **query)
        except NodeRefusedError as error:
            lost = error.details.get("unreadable")
            if not isinstance(lost, dict):
                raise
            if query and wanted is not None:
                wanted.passed += max(0, lost["start"] - start)
            kind = DataLostError if error.status == 410 else CorruptSegmentError
            raise kind(
                self.source, self.kind, lost["start"], lost["end"], lost["reason"], lost["file"]
            ) from None

    def _batches(self, answer: Answer) -> Iterator[tuple[int, pa.RecordBatch]]:
        first = _number(answer, "Rumormill-First-Offset")
        offsets = answer.headers.get("Rumormill-Batch-Offsets", "").split()
        try:
            with pa.ipc.open_stream(pa.py_buffer(answer.body)) as stream:
                if not is_known(self.kind, stream.schema):
                    raise SpoolError(
                        f"{self.source}: its {self.kind} have other columns than this rumormill "
                        "knows; is it of another version?"
                    )
                batches = list(stream)
        except (pa.ArrowException, OSError) as error:
            raise SpoolError(f"{self.source}: sent what are no records: {error}") from error
        for number, batch in enumerate(batches):
            if number < len(offsets) and offsets[number].isdecimal():
                first = int(offsets[number])  # some before it were passed over
            yield first, conformed(self.kind, batch)
            first += batch.num_rows


def _number(answer: Answer, header: str) -> int:
    text = answer.headers.get(header, "")
    return int(text) if text.isascii() and text.isdigit() else -1
