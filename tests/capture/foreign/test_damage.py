"""Files that are cut short, damaged or packed oddly: what is whole is read, the rest is counted."""

from __future__ import annotations

import gzip
import os
import random
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.foreign import json_lines, protobuf, source
from rumormill.capture.foreign.detect import READERS, examine
from rumormill.capture.foreign.errors import TraceImportError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.rows import Row
from tests.helpers.capture.foreign_traces import VECTORS, read_rows

JSON = gzip.decompress((VECTORS / "node15.json.gz").read_bytes())
PROTOBUF = gzip.decompress((VECTORS / "node15.pb.gz").read_bytes())
DATA = {"go-json": JSON, "go-protobuf": PROTOBUF}
ROWS = read_rows("go-json", JSON)[0]
EVENTS = JSON.count(b"\n")

FORMS = pytest.mark.parametrize("form", DATA)


def read_file(path: Path, form: str) -> tuple[list[Row], Findings]:
    findings = Findings(path.name)
    reader = READERS[form](source.ByteSource(path), findings)
    return [row for block in reader.read() for row in block], findings


def is_beginning(rows: list[Row]) -> bool:
    return rows == ROWS[: len(rows)]


# ---- tails


@FORMS
@given(cut=st.integers(1, 5000))
def test_a_tail_that_is_cut_off_costs_the_last_event_alone(form: str, cut: int) -> None:
    data = DATA[form][:-cut]
    rows, findings = read_rows(form, data, 1000)
    assert is_beginning(rows)
    if not findings.problems:  # it was cut between two events
        assert (findings.cut_bytes, findings.bad_events) == (0, 0)
        return
    (problem,) = findings.problems
    assert problem.what in ("the last line is cut short", "the last event is cut short")
    assert problem.byte + problem.bytes == len(data)
    assert problem.events == findings.events < EVENTS
    # All that came before is whole.
    assert read_rows(form, data[: problem.byte])[0] == rows
    assert findings.cut_bytes == problem.bytes < 2000


def test_a_last_line_without_an_end_is_taken_if_it_is_whole() -> None:
    rows, findings = read_rows("go-json", JSON.rstrip(b"\n"))
    assert (rows, findings.events, findings.problems) == (ROWS, EVENTS, [])


@FORMS
def test_zeros_behind_a_trace_are_cut_off(form: str) -> None:
    # What some file systems leave after a crash.
    rows, findings = read_rows(form, DATA[form] + bytes(4096), 700)
    assert rows == ROWS
    assert (findings.cut_bytes, findings.events) == (4096, EVENTS)


# ---- gzip


@FORMS
def test_gzip_of_several_members_with_padding_is_one_file(form: str, tmp_path: Path) -> None:
    data, file = DATA[form], tmp_path / "trace"
    members = [gzip.compress(data[at : at + 9999]) for at in range(0, len(data), 9999)]
    file.write_bytes(b"".join(members[:2]) + bytes(700) + b"".join(members[2:]) + bytes(99_999))
    rows, findings = read_file(file, form)
    assert (rows, findings.problems) == (ROWS, [])


@FORMS
def test_batches_that_were_flushed_one_by_one_are_one_file(form: str, tmp_path: Path) -> None:
    # As the remote tracer writes: its gzip stream is flushed after each batch, and may never end.
    file, packer = tmp_path / "trace", zlib.compressobj(wbits=31)
    data = DATA[form]
    packed = [
        packer.compress(data[at : at + 5000]) + packer.flush(zlib.Z_SYNC_FLUSH)
        for at in range(0, len(data), 5000)
    ]
    file.write_bytes(b"".join(packed))
    rows, findings = read_file(file, form)
    assert rows == ROWS
    (problem,) = findings.problems
    assert problem.what == "the gzip data is cut short"
    assert (problem.bytes, problem.byte, problem.events) == (0, len(data), EVENTS)
    file.write_bytes(b"".join([*packed, packer.flush()]))
    assert read_file(file, form)[1].problems == []


@FORMS
@pytest.mark.parametrize("share", [0.001, 0.3, 0.9, 0.9999])
def test_gzip_that_is_cut_short_gives_all_that_can_be_unpacked(
    form: str, share: float, tmp_path: Path
) -> None:
    packed, file = gzip.compress(DATA[form]), tmp_path / "trace"
    file.write_bytes(packed[: int(len(packed) * share)])
    unpacker = zlib.decompressobj(wbits=31)
    whole = unpacker.decompress(file.read_bytes())
    rows, findings = read_file(file, form)
    assert rows == read_rows(form, whole)[0]
    (problem,) = findings.problems
    assert problem.what == "the gzip data is cut short"
    assert problem.byte + problem.bytes == len(whole)


@FORMS
def test_damaged_gzip_gives_what_comes_before_the_damage(form: str, tmp_path: Path) -> None:
    # Stored blocks with a wrong length in the middle: what is before them can be told exactly.
    packer = zlib.compressobj(0, wbits=31)
    packed = bytearray(packer.compress(DATA[form]) + packer.flush())
    # Of the second block: 10 bytes of header, 5 bytes and the data of the first.
    length = int.from_bytes(packed[11:13], "little")
    packed[10 + 5 + length + 1] ^= 0xFF
    file = tmp_path / "trace"
    file.write_bytes(packed)
    rows, findings = read_file(file, form)
    assert rows == read_rows(form, DATA[form][:length])[0]
    assert len(rows) > 100
    assert findings.problems[-1].what.startswith("the gzip data is damaged (invalid stored block")


@FORMS
def test_a_wrong_checksum_is_told_and_what_was_read_stays(form: str, tmp_path: Path) -> None:
    packed, file = bytearray(gzip.compress(DATA[form])), tmp_path / "trace"
    packed[-8] ^= 1
    file.write_bytes(packed)
    rows, findings = read_file(file, form)
    assert rows == ROWS
    (problem,) = findings.problems
    assert problem.what == "the gzip data is damaged (incorrect data check)"


@FORMS
def test_what_follows_gzip_and_is_none_is_told(form: str, tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_bytes(gzip.compress(DATA[form]) + b"no gzip")
    rows, findings = read_file(file, form)
    assert rows == ROWS
    (problem,) = findings.problems
    assert problem.what == "something that is no gzip follows the gzip data"


def test_unpacking_is_done_in_small_pieces_however_well_it_was_packed(tmp_path: Path) -> None:
    file = tmp_path / "bomb"
    file.write_bytes(gzip.compress(bytes(64 << 20)))
    assert max(map(len, source.ByteSource(file))) <= source.PIECE
    assert sum(map(len, source.ByteSource(file, 5000))) == 64 << 20
    assert max(map(len, source.ByteSource(file, 5000))) <= 5000


# ---- limits


def test_a_line_that_is_too_long_is_skipped_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 2000)
    first, _, rest = JSON.partition(b"\n")
    long = b'{"type":9,"peerID":"' + b"A" * 9000 + b'"}\n'
    rows, findings = read_rows("go-json", first + b"\n" + long + rest, 500)
    assert rows == ROWS
    (problem,) = findings.problems
    assert problem.what == "a line of more than 2000 bytes"
    assert (problem.line, problem.byte, problem.bytes) == (2, len(first) + 1, len(long))
    rows, findings = read_rows("go-json", JSON + long[:-1], 500)
    assert rows == ROWS
    assert findings.problems[0].bytes == len(long) - 1
    assert findings.problems[0].line == EVENTS + 1


def test_of_a_line_that_is_too_long_no_more_than_allowed_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 100_000)
    data = bytes(20_000_000)
    tracemalloc.start()
    try:
        read_rows("go-json", data, 10_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1_000_000


def test_an_event_that_is_too_long_ends_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf, "LONGEST_FRAME", 2000)
    rows, findings = read_rows("go-protobuf", PROTOBUF + b"\xd1\x0f" + bytes(9000), 500)
    assert rows == ROWS
    (problem,) = findings.problems
    assert problem.what == "an event of 2001 bytes, 2000 are allowed"
    assert (problem.byte, problem.bytes) == (len(PROTOBUF), 9002)


# ---- anything


@FORMS
@given(data=st.binary(max_size=400), piece=st.integers(0, 50))
def test_any_bytes_are_counted_and_never_raise(form: str, data: bytes, piece: int) -> None:
    _, findings = read_rows(form, data, piece)
    assert findings.cut_bytes <= len(data) + 1


@FORMS
@given(seed=st.integers(0, 10_000))
def test_flipped_bytes_cost_no_more_than_what_lies_behind_them(form: str, seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(DATA[form][:20_000])
    at = dice.randrange(len(data))
    data[at] ^= 1 << dice.randrange(8)
    rows, findings = read_rows(form, bytes(data), 4096)
    whole = DATA[form][:at]
    if form == "go-json":
        whole = whole[: whole.rfind(b"\n") + 1]
    before, _ = read_rows(form, whole)
    assert rows[: len(before)] == before
    assert findings.cut_bytes <= len(data) + 1


# ---- what is no trace


@pytest.mark.parametrize(
    "data",
    [b"msg,node,topic\n1,2,3\n", b"hello", b"\x89PNG\r\n\x1a\n" + bytes(100), b'{"a": 1}\n',
     b"PK\x03\x04" + bytes(50), b"<html>", b'{"Records":[]}', b"\x00" * 100, b"\x05ab"],
)  # fmt: skip
def test_a_file_that_is_no_trace_is_refused_by_name(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "odd"
    for content in (data, gzip.compress(data)):
        file.write_bytes(content)
        with pytest.raises(TraceImportError, match=r"odd: not a trace of go-libp2p-pubsub"):
            examine(file)


def test_lines_that_look_right_but_are_no_events_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(b'{"type":"FeatureCollection","features":[]}\n' * 3)
    examine(file)  # a type that we do not know: other versions may have it
    file.write_bytes(b'{"type":9,"features":[]}\n' * 3)
    with pytest.raises(TraceImportError, match=r"odd.json: an event without timestamp \(line 1"):
        examine(file)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TraceImportError, match="pipe: not a file"):
        examine(tmp_path / "pipe")


@pytest.mark.parametrize("data", [b"", gzip.compress(b"", mtime=0), JSON[:50]])
def test_a_file_without_a_whole_event_is_a_trace_all_the_same(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "short.json"
    file.write_bytes(data)
    assert examine(file).first is None


def test_gzip_of_which_nothing_can_be_unpacked_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "odd.gz"
    file.write_bytes(b"\x1f\x8b\x08\xff" + bytes(50))
    with pytest.raises(TraceImportError, match=r"odd.gz: the gzip data is damaged .*nothing of it"):
        examine(file)


@pytest.mark.parametrize(
    ("name", "form"), [("node15.json.gz", "go-json"), ("node15.pb.gz", "go-protobuf")]
)
def test_a_format_is_told_by_the_bytes_and_not_by_the_name(
    name: str, form: str, tmp_path: Path
) -> None:
    packed, plain = tmp_path / "a", tmp_path / "b.parquet"
    packed.write_bytes((VECTORS / name).read_bytes())
    plain.write_bytes(DATA[form])
    assert [examine(file).format for file in (packed, plain)] == [form, form]
    assert examine(plain).first == ROWS[0]


def test_a_protobuf_trace_that_begins_like_json_is_none(tmp_path: Path) -> None:
    # The length of the first event is that of a brace.
    from tests.helpers.capture import trace_oracle as oracle

    event = oracle.TraceEvent(type=9, peerID=bytes(38), timestamp=1, join={"topic": ""})
    event.join.topic = "t" * (ord("{") - len(event.SerializeToString()))
    batch = oracle.TraceEventBatch(batch=[event])
    batch.batch[0].join.topic = event.join.topic[:-2]
    for message in (event, batch):
        data = oracle.delimited(message)
        assert data[:1] == b"{"
        file = tmp_path / "trace"
        file.write_bytes(data)
        assert examine(file).format == "go-protobuf"


def test_a_file_that_is_no_protobuf_in_the_midst_is_named_as_damage_of_the_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "node.pb"
    file.write_bytes(PROTOBUF + b"\x03\x0b\x00\x00" + PROTOBUF)
    rows, findings = read_file(file, "go-protobuf")
    assert rows == ROWS
    (problem,) = findings.problems
    # In words that do not blame a peer, of whom a file has none.
    assert (problem.what, problem.byte) == ("wire type 3", len(PROTOBUF) + 1)
