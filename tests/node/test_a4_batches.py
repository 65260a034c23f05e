"""A4 of the adversary's review: what a batch may become."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.node import arrow_body
from rumormill.node.arrow_body import MOST_PARTS, RECORDS, check_stream, parts_of
from rumormill.node.guard import Refusal
from rumormill.node.rows import BATCH_SCHEMA, MOST_HEADERS, MOST_ROWS, check_sizes, decode_rows

Ask = Callable[..., httpx.AsyncClient]
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}
ROW = {"topic": "weather", "value": b"rain"}


def stream(
    rows: list[dict[str, Any]],
    schema: pa.Schema = BATCH_SCHEMA,
    times: int = 1,
    compression: str | None = None,
) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        batch = pa.RecordBatch.from_pylist(rows, schema)
        for _ in range(times):
            writer.write_batch(batch)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
async def test_a4_compressed_buffers_are_refused_before_they_are_decompressed(
    ask: Ask, compression: str
) -> None:
    bomb = stream([{"topic": "t", "value": bytes(1 << 20)}] * 16, compression=compression)
    assert len(bomb) < 1 << 18
    before = pa.total_allocated_bytes(), pa.default_memory_pool().max_memory()
    answer = await ask().post("/v1/publish/batch", params={"key": "k"}, content=bomb, headers=ARROW)
    assert answer.status_code == 415
    assert answer.json()["error"] == "the batch has compressed buffers; send them as they are"
    # What was compressed before this test had 16 MB of its own; nothing came on top of it.
    assert (pa.total_allocated_bytes(), pa.default_memory_pool().max_memory()) == before


@pytest.mark.parametrize("path", ["/v1/publish", "/v1/publish/batch?key=k"])
@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br", "deflate", "gzip, identity", "x"])
async def test_a4_a_compressed_body_is_refused_whatever_is_in_it(
    ask: Ask, path: str, encoding: str
) -> None:
    kind = ARROW if "batch" in path else {"Content-Type": "application/json"}
    headers = {**kind, "Content-Encoding": encoding}
    answer = await ask().post(path, content=gzip.compress(stream([ROW])), headers=headers)
    assert answer.status_code == 415
    assert answer.json()["error"] == f"the body must not be compressed, and is by {encoding!r}"


async def test_a4_a_body_that_says_it_is_not_compressed_is_taken(ask: Ask) -> None:
    answer = await ask().post(
        "/v1/publish/batch",
        params={"key": "k", "ready": "0"},
        content=stream([ROW]),
        headers={**ARROW, "Content-Encoding": "identity"},
    )
    assert (answer.status_code, answer.json()["published"]) == (200, 1)


def dictionary_encoded() -> bytes:
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), ["x" * 100_000])
    batch = pa.RecordBatch.from_arrays([column], ["topic"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def run_ends() -> bytes:
    column = pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int32()), ["x" * 1000])
    batch = pa.RecordBatch.from_arrays([column], ["topic"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def refusal_of(body: bytes) -> tuple[int, str]:
    with pytest.raises(Refusal) as caught:
        decode_rows(body, 1 << 20)
    return caught.value.status, caught.value.sentence


def test_a4_columns_that_stand_for_more_than_they_bring_are_refused() -> None:
    assert refusal_of(dictionary_encoded()) == (
        415, "the batch has a dictionary; send its columns as they are",
    )  # fmt: skip
    status, sentence = refusal_of(run_ends())
    assert (status, "the columns must be" in sentence) == (400, True)


def test_a4_columns_that_share_their_bytes_are_refused() -> None:
    texts = pa.array([b"v" * 100_000], pa.binary())
    columns = [pa.array(["t"]), texts, texts, pa.array([None], BATCH_SCHEMA.field("headers").type)]
    batch = pa.RecordBatch.from_arrays(columns, schema=BATCH_SCHEMA)
    with pytest.raises(Refusal, match="the columns of the batch share their bytes") as caught:
        check_sizes([batch], sent=150_000)
    assert caught.value.status == 413
    check_sizes([batch], sent=250_000)


def test_a4_many_rows_headers_and_parts_are_refused_before_they_become_objects() -> None:
    headers = [{"key": "", "value": b""}] * (MOST_HEADERS // 2 + 1)
    assert refusal_of(stream([{**ROW, "headers": headers}] * 2)) == (
        413, f"{MOST_HEADERS + 2} headers, at most {MOST_HEADERS} go into one batch",
    )  # fmt: skip
    assert refusal_of(stream([{}] * (MOST_ROWS + 1))) == (
        413, f"{MOST_ROWS + 1} rows, at most {MOST_ROWS} go into one batch",
    )  # fmt: skip
    assert refusal_of(stream([], times=MOST_PARTS + 1)) == (
        413, f"the stream has more than {MOST_PARTS} parts",
    )  # fmt: skip


def test_a4_a_schema_without_end_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [pa.field(f"column {number}", pa.string()) for number in range(10_000)]
    body = stream([], pa.schema(fields))
    monkeypatch.setattr(pa.ipc, "open_stream", lambda *_: pytest.fail("it was read"))
    status, sentence = refusal_of(body)
    assert (status, "bytes of metadata" in sentence) == (400, True)


def test_the_parts_of_a_stream_are_seen_as_pyarrow_sees_them() -> None:
    body = stream([ROW] * 3, times=5)
    reader = pa.ipc.MessageReader.open_stream(body)
    sizes = [message.body.size if message.body else 0 for message in reader]
    parts = list(parts_of(body))
    assert [part.body_bytes for part in parts] == sizes
    assert [part.kind for part in parts[1:]] == [RECORDS] * 5
    assert not any(part.compressed for part in parts)
    assert all(part.compressed for part in list(parts_of(stream([ROW], compression="lz4")))[1:])


SMALL_BOMB = stream([{"topic": "t", "value": bytes(100_000)}], compression="zstd")


@given(st.integers(0, len(SMALL_BOMB) - 1), st.integers(0, 255))
def test_a4_no_changed_byte_hides_compressed_buffers(place: int, byte: int) -> None:
    changed = bytearray(SMALL_BOMB)
    changed[place] = byte
    try:
        check_stream(changed)
    except Refusal as refusal:
        assert refusal.status in (400, 413, 415)
        return
    # It was let through: then pyarrow finds nothing to decompress either.
    try:
        rows = decode_rows(bytes(changed), 1 << 20).rows
    except Refusal:
        return
    assert sum(len(row.data) for row in rows) <= len(changed)


@given(st.binary(max_size=200), st.integers(0, 4))
def test_any_metadata_is_read_or_refused(metadata: bytes, cut: int) -> None:
    body = struct.pack("<Ii", arrow_body.CONTINUATION, len(metadata)) + metadata
    try:
        check_stream(body[: len(body) - cut])
    except Refusal as refusal:
        assert refusal.status in (400, 413, 415)
