from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from rumormill.capture.files.folder import Marks, write_marks
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.schema import MESSAGE_SCHEMA
from rumormill.node.spool_routes import collect
from tests.helpers.capture.spools import BEGIN_US, TestSpool, make_spool

Ask = Callable[..., httpx.AsyncClient]
RECORDS = "/v1/spool/messages/records"


def rows_of(answer: httpx.Response) -> list[int]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.schema.equals(MESSAGE_SCHEMA)
    return [int(value) for value in table.column("value").to_pylist()]


async def test_a_node_says_who_it_is_and_how_far_its_spool_reaches(
    ask: Ask, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 25)
    spool.events(["delivered"] * 3)
    found = (await ask(spool.folder).get("/v1/node")).json()
    assert found["network"] == "gossipsub" and found["id"].startswith("12D3Koo")
    assert found["spool"] == {
        "id": spool.id,
        "kinds": {
            "messages": {"earliest": 0, "latest": 25},
            "trace": {"earliest": 0, "latest": 3},
        },
    }


async def test_offsets_are_those_of_the_kind(ask: Ask, spool: TestSpool) -> None:
    spool.messages(["weather"] * 25)
    found = (await ask(spool.folder).get("/v1/spool/messages/offsets")).json()
    assert found == {"spool": spool.id, "earliest": 0, "latest": 25}
    found = (await ask(spool.folder).get("/v1/spool/trace/offsets")).json()
    assert found == {"spool": spool.id, "earliest": 0, "latest": 0}


async def test_an_offset_can_be_asked_for_by_time(ask: Ask, spool: TestSpool) -> None:
    spool.messages(["weather"] * 25)
    query = {"time_us": BEGIN_US + 12_000}
    found = (await ask(spool.folder).get("/v1/spool/messages/offsets", params=query)).json()
    assert 0 < found["offset"] <= 12


async def test_records_come_in_whole_stored_batches(ask: Ask, spool: TestSpool) -> None:
    spool.messages(["weather"] * 40)
    answer = await ask(spool.folder).get(RECORDS, params={"start": 13, "end": 25})
    assert rows_of(answer) == list(range(10, 30))
    assert answer.headers["rumormill-first-offset"] == "10"
    assert answer.headers["rumormill-next-offset"] == "25"
    assert answer.headers["rumormill-spool"] == spool.id


def test_an_answer_is_bounded_and_says_where_to_go_on(spool: TestSpool) -> None:
    spool.messages(["weather"] * 100)
    log = LocalLog(spool.folder, "messages")
    found = collect(log, 0, 100, most=1)
    assert (found.first, found.after) == (0, 10)
    one = sum(map(len, found.parts))
    found = collect(log, 30, 100, most=one * 2)
    assert (found.first, found.after) == (30, 50)


def test_an_answer_ends_where_offsets_were_left_out(spool: TestSpool) -> None:
    spool.messages(["weather"] * 20)
    # As after a writer that was killed: the next one goes on behind what may have been seen.
    write_marks(spool.folder / "messages", Marks(reserved=1000, closed=None))
    spool.messages(["weather"] * 20, first=20)
    log = LocalLog(spool.folder, "messages")
    assert log.bounds() == (0, 1020)
    before = collect(log, 0, 1020)
    assert (before.first, before.after) == (0, 20)
    behind = collect(log, 20, 1020)
    assert (behind.first, behind.after) == (1000, 1020)
    nothing = collect(log, 30, 40)
    assert (nothing.first, nothing.after) == (40, 40)
    assert pa.ipc.open_stream(b"".join(nothing.parts)).read_all().num_rows == 0


async def test_what_retention_removed_is_gone(ask: Ask, tmp_path: Path) -> None:
    spool = make_spool(tmp_path / "spool", segment_bytes=4096)
    for first in range(0, 100, 10):
        spool.messages(["weather"] * 10, first=first)
    for segment in spool.segments()[:2]:
        segment.with_suffix(".index").unlink()
        segment.unlink()
    earliest = LocalLog(spool.folder, "messages").bounds().earliest
    answer = await ask(spool.folder).get(RECORDS, params={"start": 0, "end": 100})
    assert answer.status_code == 410
    found = answer.json()
    assert "retention" in found["error"]
    assert (found["unreadable"]["start"], found["unreadable"]["end"]) == (0, earliest)


async def test_a_corrupt_segment_is_named(ask: Ask, spool: TestSpool) -> None:
    spool.messages(["weather"] * 30)
    (segment,) = spool.segments()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    client = ask(spool.folder)
    good = await client.get(RECORDS, params={"start": 0, "end": 30})
    assert good.headers["rumormill-next-offset"] == "10"  # what comes before it is answered
    answer = await client.get(RECORDS, params={"start": 10, "end": 30})
    assert answer.status_code == 422
    found = answer.json()
    assert segment.name in found["error"] and found["unreadable"]["file"] == str(segment)
    assert (found["unreadable"]["start"], found["unreadable"]["end"]) == (10, 20)


async def test_what_was_never_written_is_not_there(ask: Ask, spool: TestSpool) -> None:
    spool.messages(["weather"] * 10)
    answer = await ask(spool.folder).get(RECORDS, params={"start": 5, "end": 11})
    assert (answer.status_code, "none yet" in answer.json()["error"]) == (410, True)


@pytest.mark.parametrize(
    ("path", "status", "problem"),
    [
        ("/v1/spool/lies/offsets", 404, "no 'lies', only messages and trace"),
        (f"{RECORDS}?start=1", 400, "end is missing"),
        (f"{RECORDS}?start=x&end=2", 400, "start must be a whole number, not 'x'"),
        (f"{RECORDS}?start=-1&end=2", 400, "whole number"),
        (f"{RECORDS}?start=2&end=2", 400, "start must be before end"),
        (f"{RECORDS}?start=0&end={'9' * 20}", 400, "end must be a whole number"),
        ("/v1/spool/messages/offsets?time_us=noon", 400, "time_us must be a whole number"),
    ],
)
async def test_wrong_questions_are_told_in_words(
    ask: Ask, spool: TestSpool, path: str, status: int, problem: str
) -> None:
    answer = await ask(spool.folder).get(path)
    assert answer.status_code == status
    assert problem in answer.json()["error"]


async def test_a_node_without_a_spool_says_so(ask: Ask) -> None:
    client = ask()
    assert (await client.get("/v1/node")).json()["spool"] is None
    answer = await client.get("/v1/spool/messages/offsets")
    assert (answer.status_code, "--spool" in answer.json()["error"]) == (404, True)


async def test_a_folder_that_is_no_spool_any_more_is_told(ask: Ask, tmp_path: Path) -> None:
    answer = await ask(tmp_path).get("/v1/spool/messages/offsets")
    assert answer.status_code == 500
    assert "no spool in this folder" in answer.json()["error"]
