"""The spool over HTTP: which records there are, and the records themselves.

Disks are read on worker threads, a few at a time, and an answer is bounded in bytes, so neither
the event loop nor the memory of the node depends on who asks for how much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rumormill.capture.log import CorruptSegmentError, DataLostError, SpoolError, UnreadableError
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.reading.wanted import Wanted, read_query
from rumormill.capture.schema import KINDS
from rumormill.node.guard import ARROW, Refusal, whole_number

ANSWER_BYTES: Final = 4 << 20
"""No further batch is added past this."""

ANSWER_BATCHES: Final = 256
"""Nor past so many: a header says where each begins."""

READERS: Final = 4
"""Answers that are made at the same time."""

END_OF_STREAM: Final = b"\xff\xff\xff\xff\0\0\0\0"

T = TypeVar("T")


class Records(NamedTuple):
    """Whole stored batches without a gap between them."""

    spool: str
    first: int
    after: int
    offsets: list[int]
    """Where each batch begins."""
    parts: list[bytes]
    """Of an Arrow IPC stream."""


class PartsResponse(Response):
    """Sends parts one by one, as the caller takes them: megabytes are not copied together first."""

    def __init__(self, parts: list[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(media_type=ARROW, headers=headers)
        self.headers["content-length"] = str(sum(map(len, parts)))
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class SpoolRoutes:
    """Reads the spool of this node, if it has one."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._readers = asyncio.Semaphore(READERS)

    @property
    def routes(self) -> list[Route]:
        """What is answered here."""
        return [
            Route("/v1/spool/{kind}/offsets", self._offsets),
            Route("/v1/spool/{kind}/records", self._records),
        ]

    async def describe(self) -> dict[str, Any] | None:
        """The spool's id and how far each kind reaches; None if there is no spool."""
        folder = self._folder
        if folder is None:
            return None

        def look() -> dict[str, Any]:
            logs = [LocalLog(folder, kind) for kind in KINDS]
            kinds = {log.kind: log.bounds()._asdict() for log in logs}
            return {"id": logs[0].spool_id, "kinds": kinds}

        return await self._off_the_loop(look)

    async def _offsets(self, request: Request) -> Response:
        folder, kind = self._place(request)
        time_us = whole_number(request, "time_us", required=False)
        start = whole_number(request, "start", required=False)
        end = whole_number(request, "end", required=False)

        def look() -> dict[str, Any]:
            log = LocalLog(folder, kind)
            found: dict[str, Any] = {"spool": log.spool_id}
            if time_us is not None:
                found["offset"] = log.offset_at(time_us)
            if start is not None and end is not None:
                found["spans"] = log.spans(start, end)
            return {**found, **log.bounds()._asdict()}

        return JSONResponse(await self._off_the_loop(look))

    async def _records(self, request: Request) -> Response:
        folder, kind = self._place(request)
        start, end = whole_number(request, "start"), whole_number(request, "end")
        assert start is not None and end is not None
        if start >= end:
            raise Refusal(400, f"start must be before end, not {start} and {end}")
        try:
            wanted = read_query(dict(request.query_params))
        except ValueError as error:
            raise Refusal(400, f"what is wanted cannot be read: {error}") from None
        found = await self._off_the_loop(
            lambda: collect(LocalLog(folder, kind), start, end, wanted)
        )
        headers = {
            "Rumormill-Spool": found.spool,
            "Rumormill-First-Offset": str(found.first),
            "Rumormill-Next-Offset": str(found.after),
            "Rumormill-Batch-Offsets": " ".join(map(str, found.offsets)),
        }
        return PartsResponse(found.parts, headers)

    def _place(self, request: Request) -> tuple[Path, str]:
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise Refusal(404, f"there are no {kind[:40]!r}, only {' and '.join(KINDS)}")
        if self._folder is None:
            raise Refusal(404, "this node keeps no spool; start it with --spool DIR")
        return self._folder, kind

    async def _off_the_loop(self, work: Callable[[], T]) -> T:
        async with self._readers:
            try:
                return await asyncio.to_thread(work)
            except UnreadableError as error:
                raise _unreadable(error) from error
            except SpoolError as error:
                raise Refusal(500, str(error)) from error
            except OSError as error:
                raise Refusal(500, f"the spool cannot be read: {error.strerror}") from error


def collect(
    log: LocalLog, start: int, end: int, wanted: Wanted | None = None, most: int = ANSWER_BYTES
) -> Records:
    """The first stored batches of [start, end): as many as fit, and none behind a gap.

    Batches that hold nothing of what is ``wanted`` are left out.

    What cannot be read is an error only if it is the first; otherwise what comes before it is
    answered, and who asks for more gets the error then.
    """
    parts: list[bytes] = []
    offsets: list[int] = []
    wanted, schema = wanted or Wanted(), log.schema
    size, after, passed = 0, start, 0
    try:
        for stored in log.stored(start, end, wanted):
            gap = stored.first > after + wanted.passed - passed
            full = size + len(stored.data) > most or len(parts) == ANSWER_BATCHES
            if not parts:
                schema = stored.schema
            elif gap or full or not stored.schema.equals(schema):
                break
            parts.append(stored.data)
            offsets.append(stored.first)
            size += len(stored.data)
            after, passed = stored.end, wanted.passed
        else:
            after = end
    except UnreadableError:
        if not parts:
            raise
    stream = [schema.serialize().to_pybytes(), *parts, END_OF_STREAM]
    return Records(log.spool_id, offsets[0] if offsets else end, min(after, end), offsets, stream)


def _unreadable(error: UnreadableError) -> Refusal:
    """410 for what is gone, 422 for what was changed; with all that a reader needs to go on."""
    status = 422 if isinstance(error, CorruptSegmentError) else 410
    assert isinstance(error, CorruptSegmentError | DataLostError)
    details = {
        "start": error.start, "end": error.end, "reason": error.reason, "file": error.file,
    }  # fmt: skip
    return Refusal(status, str(error), unreadable=details)
