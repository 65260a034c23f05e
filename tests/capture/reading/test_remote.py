from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

from rumormill.capture.files.folder import Marks, write_marks
from rumormill.capture.log import (
    CorruptSegmentError,
    DataLostError,
    Log,
    SpoolError,
    UnreadableError,
    read_what_is_left,
)
from rumormill.capture.open import open_log
from rumormill.capture.reading.node_client import NodeAwayError, NodeClient, NodeRefusedError
from rumormill.capture.reading.remote import RemoteLog
from rumormill.capture.schema import MESSAGE_SCHEMA
from rumormill.core.errors import ConfigError
from tests.helpers.capture.spools import BEGIN_US, TestSpool, make_spool
from tests.helpers.node.http_node import http_node

TOKEN = "a-long-random-token"


def rows(log: Log, start: int, end: int) -> list[tuple[int, int]]:
    """The offset and the number of each row."""
    found = []
    for offset, batch in log.read(start, end):
        values = batch.column("value").to_pylist()
        found += [(offset + place, int(value)) for place, value in enumerate(values)]
    return found


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    return make_spool(tmp_path / "spool", segment_bytes=4096)


def test_a_remote_log_reads_as_the_folder_does(spool: TestSpool) -> None:
    spool.messages(["weather"] * 95)
    with http_node(spool.folder) as node:
        remote, local = open_log(node.address, "messages"), open_log(spool.folder, "messages")
        assert isinstance(remote, RemoteLog)
        assert (remote.spool_id, remote.bounds()) == (local.spool_id, local.bounds())
        for start, end in ((0, 95), (0, 1), (13, 27), (94, 95), (50, 50)):
            assert rows(remote, start, end) == rows(local, start, end)
        for late in (0, 13_000, 94_000, 95_000):
            assert remote.offset_at(BEGIN_US + late) == local.offset_at(BEGIN_US + late)
        remote.close()


def test_many_answers_make_one_log(spool: TestSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumormill.node.spool_routes.collect.__defaults__", (None, 1))
    spool.messages(["weather"] * 95)
    with http_node(spool.folder) as node:
        log = RemoteLog(node.address, "messages")
        assert rows(log, 7, 95) == [(number, number) for number in range(7, 95)]
        log.close()


def test_offsets_that_were_left_out_are_passed_over(spool: TestSpool) -> None:
    spool.messages(["weather"] * 20)
    write_marks(spool.folder / "messages", Marks(reserved=1000, closed=None))
    spool.messages(["weather"] * 20, first=20)
    with http_node(spool.folder) as node:
        log = RemoteLog(node.address, "messages")
        numbers = [*range(20), *range(1000, 1020)]
        assert rows(log, 0, 1020) == list(zip(numbers, range(40), strict=True))
        log.close()


def test_what_is_gone_and_what_is_corrupt_are_the_same_errors_as_in_a_folder(
    spool: TestSpool,
) -> None:
    for first in range(0, 100, 10):
        spool.messages(["weather"] * 10, first=first)
    segments = spool.segments()
    segments[0].with_suffix(".index").unlink()
    segments[0].unlink()
    content = bytearray(segments[-1].read_bytes())
    content[-100] ^= 0xFF
    segments[-1].write_bytes(content)
    local = open_log(spool.folder, "messages")
    with http_node(spool.folder) as node:
        remote = RemoteLog(node.address, "messages")
        for kind in (DataLostError, CorruptSegmentError):
            start = 0 if kind is DataLostError else 99
            with pytest.raises(kind) as there:
                rows(remote, start, 100)
            with pytest.raises(kind) as here:
                rows(local, start, 100)
            assert (there.value.start, there.value.end) == (here.value.start, here.value.end)
            assert there.value.reason == here.value.reason
            assert there.value.file == here.value.file
        lost: tuple[list[UnreadableError], list[UnreadableError]] = ([], [])
        assert list(read_what_is_left(remote, 0, 100, lost[0].append)) == list(
            read_what_is_left(local, 0, 100, lost[1].append)
        )
        assert [(each.start, each.end) for each in lost[0]] == [
            (each.start, each.end) for each in lost[1]
        ]
        remote.close()


def test_a_node_that_restarts_is_waited_for(spool: TestSpool) -> None:
    spool.messages(["weather"] * 50)
    with http_node(spool.folder) as node:
        log = RemoteLog(node.address, "messages")
        assert log.bounds().latest == 50
    finished = threading.Event()
    found: list[tuple[int, int]] = []

    def read() -> None:
        found.extend(rows(log, 0, 50))
        finished.set()

    reader = threading.Thread(target=read)
    reader.start()
    with http_node(spool.folder, port=node.port):
        assert finished.wait(30)
    reader.join()
    assert found == [(number, number) for number in range(50)]
    log.close()


def test_a_node_that_stays_away_is_named(spool: TestSpool) -> None:
    with http_node(spool.folder) as node:
        pass
    log = RemoteLog(node.address, "messages", retry_seconds=0.2)
    with pytest.raises(NodeAwayError, match=rf"{node.address}: the node is away \(connection ref"):
        log.bounds()


def test_a_node_that_never_answers_costs_no_more_than_the_patience() -> None:
    problems: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:  # dialled, and never answered
        log = RemoteLog(f"http://127.0.0.1:{silent.getsockname()[1]}", "messages", retry_seconds=1)

        def ask() -> None:
            try:
                log.bounds()
            except NodeAwayError as error:
                problems.append(str(error))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(30)
    assert problems == [f"{log.source}: the node is away (no answer); it was tried for 1 s"]
    log.close()


def test_an_answer_that_keeps_coming_is_read_beyond_the_patience() -> None:
    asked = 0

    def slowly(request: BaseHTTPRequestHandler) -> None:
        nonlocal asked
        asked += 1
        body = b'{"spool": "s", "earliest": 1, "latest": 2}'
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        for begin in range(0, len(body), 10):
            time.sleep(0.1)
            request.wfile.write(body[begin : begin + 10])

    with stranger(slowly) as address:
        log = RemoteLog(address, "messages", retry_seconds=0.2)
        assert log.bounds() == (1, 2)
        log.close()
    assert asked == 1


def test_another_spool_at_the_same_address_is_refused(tmp_path: Path) -> None:
    first, second = make_spool(tmp_path / "a"), make_spool(tmp_path / "b")
    first.messages(["weather"] * 10)
    second.messages(["weather"] * 10)
    with http_node(first.folder) as node:
        log = RemoteLog(node.address, "messages")
        assert log.spool_id == first.id
    with (
        http_node(second.folder, port=node.port),
        pytest.raises(SpoolError, match=f"another spool now, {second.id} instead of {first.id}"),
    ):
        rows(log, 0, 10)
    log.close()


def test_the_token_is_brought_and_its_want_is_told(spool: TestSpool) -> None:
    spool.messages(["weather"] * 10)
    with http_node(spool.folder, token=TOKEN) as node:
        log = open_log(node.address, "messages", token=TOKEN)
        assert log.bounds().latest == 10
        bare = open_log(node.address, "messages")
        with pytest.raises(NodeRefusedError, match=f"{node.address}: .*asks for its token"):
            bare.bounds()
        for each in (log, bare):
            assert isinstance(each, RemoteLog)
            each.close()


def test_a_node_without_a_spool_is_told(spool: TestSpool) -> None:
    with http_node() as node:
        log = RemoteLog(node.address, "messages")
        with pytest.raises(NodeRefusedError, match="keeps no spool"):
            log.bounds()
        log.close()


@pytest.mark.parametrize(
    "address", ["127.0.0.1:7700", "ftp://a", "http://", "http://a:b", "http://u@a"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"node: must be an address as http://"):
        NodeClient(address)


def test_only_kinds_that_there_are_can_be_asked_for() -> None:
    with pytest.raises(ConfigError, match="kind: must be one of messages, trace"):
        RemoteLog("http://127.0.0.1:1", "lies")


# ---- a server that is no node


Answers = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def stranger(answer: Answers) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(request: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body)


def test_a_busy_node_is_asked_again() -> None:
    good = b'{"spool": "s", "earliest": 1, "latest": 2}'
    answers = iter([(503, b'{"error": "busy"}'), (200, good)])
    with stranger(lambda request: send(request, *next(answers))) as address:
        log = RemoteLog(address, "messages")
        assert log.bounds() == (1, 2)
        log.close()


def test_a_redirect_is_not_followed_with_our_token() -> None:
    with stranger(lambda request: send(request, 302, b"", Location="http://127.0.0.1:1/")) as place:
        log = RemoteLog(place, "messages", token=TOKEN)
        with pytest.raises(NodeRefusedError, match="answered with status 302"):
            log.bounds()
        log.close()


def _stream(schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    pa.ipc.new_stream(sink, schema).close()
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("after", "body", "problem"),
    [
        ("10", b"no records", "what are no records"),
        ("10", b"", "what are no records"),
        ("10", _stream(pa.schema([("a", pa.int64())])), "other columns"),
        ("0", _stream(MESSAGE_SCHEMA), "asked for 0, the node went to 0"),
        ("11", _stream(MESSAGE_SCHEMA), "asked for 0, the node went to 11"),
        ("x", _stream(MESSAGE_SCHEMA), "asked for 0, the node went to -1"),
    ],
)
def test_nonsense_is_an_error_that_names_the_node(after: str, body: bytes, problem: str) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        if "offsets" in request.path:
            send(request, 200, b'{"spool": "s", "earliest": 0, "latest": 10}')
        else:
            send(
                request, 200, body, Rumormill_Spool="s", Rumormill_First_Offset="0",
                Rumormill_Next_Offset=after,
            )  # fmt: skip

    with stranger(answer) as address:
        log = RemoteLog(address, "messages", retry_seconds=0.1)
        with pytest.raises(SpoolError, match=f"{address}: .*{problem}"):
            rows(log, 0, 10)
        log.close()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"earliest": "x"}', b"\xff"])
def test_what_answers_like_no_node_is_an_error_that_names_the_address(body: bytes) -> None:
    with stranger(lambda request: send(request, 200, body)) as address:
        log = RemoteLog(address, "messages", retry_seconds=0.1)
        with pytest.raises(SpoolError, match=f"{address}: what answers there is no node"):
            log.bounds()
        log.close()
