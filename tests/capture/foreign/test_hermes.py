"""Events of Hermes, as JSON lines and as Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.foreign.detect import examine
from rumormill.capture.foreign.errors import TraceImportError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.hermes import Rfc3339
from rumormill.capture.foreign.rows import Row
from tests.helpers.capture.foreign_traces import VECTORS, read_rows

EVENTS = VECTORS.parent / "hermes" / "events.ndjson"
LINES = EVENTS.read_bytes()

NODE = "16Uiu2HAm1ATNkfCZ4NehfCW2akHjrvMcSpUVTHPLXyiTBPWDkDst"
A = "16Uiu2HAkyzjKF4NhyqWd4n2LgQ6MbPc2nwCfSjURLuJ2mBdKfkrQ"
B = "12D3KooWBuMTxLwfrjr8y5g3tpJSxmCZ4hS8q3UPVCPCwgH1aYJA"
BLOCKS = "/eth2/6a95a1a9/beacon_block/ssz_snappy"
EXITS = "/eth2/6a95a1a9/voluntary_exit/ssz_snappy"
FIRST, SECOND = "9a3c5e7f00112233445566778899aabbccddeeff", "00ff" * 10
BEGIN = 1_718_877_600_000_000_000
"""2024-06-20T10:00:00Z in nanoseconds."""

LEFT_OUT = {"VALIDATE_MESSAGE": 1, "HANDLE_MESSAGE": 1, "PEERSCORE": 1, "THROTTLE_PEER": 1,
            "HANDLE_STATUS": 1}  # fmt: skip


def row(time: float, event: str, topic: str | None = None, message_id: str | None = None,
        peer: str | None = None, *, size: int | None = None, count: int | None = None,
        reason: str | None = None, **fields: Any) -> Row:  # fmt: skip
    raw = bytes.fromhex(message_id) if message_id else None
    text = json.dumps(fields, separators=(",", ":")) if fields else None
    nanoseconds = BEGIN + round(time * 1_000_000_000)
    return (nanoseconds, NODE, event, topic, raw, peer, size, count, reason, None, text)


OUT, IN = "/ip4/192.0.2.7/tcp/9000", "/ip4/192.0.2.8/udp/9001/quic-v1"
EXPECTED = [
    row(0.000000001, "connection_opened", peer=A, address=OUT, outbound=True),
    row(0.1, "connection_opened", peer=B, address=IN, outbound=False),
    row(0.2, "peer_joined", peer=A, protocol="/meshsub/1.1.0"),
    row(0.3, "subscribed", BLOCKS),
    row(0.4, "packet_received", peer=A, subscriptions=2),
    row(0.4, "peer_subscribed", BLOCKS, peer=A),
    row(0.4, "peer_unsubscribed", EXITS, peer=A),
    row(0.5, "packet_sent", peer=A, graft=1),
    row(0.500000001, "grafted", BLOCKS, peer=A),
    row(1.0, "packet_received", peer=B, ihave=1),
    row(1.1, "packet_sent", peer=B, iwant=1),
    row(1.1, "asked", None, FIRST, B),
    row(1.1, "asked", None, SECOND, B),
    row(1.2, "packet_received", peer=A, messages=1),
    row(1.22, "delivered", BLOCKS, FIRST, A, size=1234),
    row(1.24, "packet_sent", peer=B, messages=1, idontwant=1),
    row(1.3, "duplicate", BLOCKS, FIRST, B, size=1234),
    row(1.4, "rejected", BLOCKS, SECOND, B, size=1234, reason="validation failed"),
    row(1.5, "ignored", BLOCKS, SECOND, A, size=1234, reason="validation ignored"),
    row(1.6, "dropped", BLOCKS, FIRST, A, count=1, reason="subscription_full", what="delivery"),
    row(2.0, "published", EXITS, SECOND),
    row(2.1, "dropped", peer=B, count=1, reason="queue_full", what="packet", messages=1),
    row(2.2, "packet_received", peer=A, prune=1),
    row(2.3, "pruned", BLOCKS, peer=A),
    row(3.0, "unsubscribed", BLOCKS),
    row(3.1, "peer_left", peer=A),
    row(3.2, "connection_closed", peer=A, address=OUT),
]


def test_every_event_becomes_what_it_should() -> None:
    rows, findings = read_rows("hermes-json", LINES, 333)
    assert rows == EXPECTED
    assert findings.left_out == LEFT_OUT
    assert (findings.events, findings.problems) == (LINES.count(b"\n"), [])
    assert findings.unknown_fields == 0


def test_lines_of_hermes_are_recognised() -> None:
    file = examine(EVENTS)
    assert (file.format, file.first) == ("hermes-json", EXPECTED[0])


BASE = {"Type": "JOIN", "Topic": "", "PeerID": NODE, "Timestamp": "2024-06-20T10:00:00Z",
        "Data": {"Topic": "a"}}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [{"Timestamp": "yesterday"}, {"Timestamp": "0001-01-01T00:00:00Z"}, {"Timestamp": 7},
     {"Timestamp": "2024-02-30T10:00:00Z"}, {"PeerID": ""}, {"PeerID": 7}, {"PeerID": "é"},
     {"Data": None}, {"Data": {}}, {"Data": {"Topic": 7}}, {"Type": 7},
     {"Type": "DELIVER_MESSAGE", "Data": {"PeerID": A, "Topic": "a", "MsgID": "no hex"}},
     {"Type": "DELIVER_MESSAGE", "Data": {"PeerID": A, "Topic": "a", "MsgID": "00",
                                          "MsgSize": "big"}}],
)  # fmt: skip
def test_a_line_that_is_no_event_is_left_out(changed: dict[str, Any]) -> None:
    good, bad = (json.dumps({**BASE, **more}).encode() + b"\n" for more in ({}, changed))
    rows, findings = read_rows("hermes-json", good + bad + good)
    assert rows == [row(0, "subscribed", "a")] * 2
    assert (findings.bad_events, findings.problems[0].line) == (1, 2)


def test_a_peer_that_go_could_not_name_is_unknown() -> None:
    line = json.dumps({**BASE, "Type": "RECV_RPC", "Data": {"PeerID": ""}})
    assert read_rows("hermes-json", line.encode())[0] == [row(0, "packet_received")]


@given(st.datetimes(), st.integers(0, 999_999_999), st.sampled_from(["Z", "+05:30", "-11:00"]))
def test_times_are_read_to_the_nanosecond(moment: Any, fraction: int, zone: str) -> None:
    import datetime

    text = f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0")
    whole = datetime.datetime.fromisoformat(text + zone.replace("Z", "+00:00"))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    seconds = (whole - epoch) // datetime.timedelta(seconds=1)
    read = Rfc3339().nanoseconds
    assert read(text + zone) == seconds * 10**9
    assert read(f"{text}.{fraction:09d}{zone}") == seconds * 10**9 + fraction
    assert read(f"{text}.5{zone}") == seconds * 10**9 + 500_000_000


@given(st.binary(max_size=300), st.integers(0, 50))
def test_any_bytes_are_counted_and_never_raise(data: bytes, piece: int) -> None:
    rows, findings = read_rows("hermes-json", data, piece)
    assert findings.rows == len(rows)
    assert findings.cut_bytes <= len(data) + 1
    assert bool(data.strip()) == bool(findings.events or findings.problems)


# ---- Parquet

STRING, LIST = pa.string(), pa.list_(pa.string())
BASE_COLUMNS = {"timestamp": pa.int64(), "type": STRING, "producer_id": STRING}
RPC_COLUMNS = {**BASE_COLUMNS, "is_og": pa.bool_(), "direction": STRING, "remote_peer_id": STRING}
FAMILIES: dict[str, dict[str, pa.DataType]] = {
    "add_remove": {**BASE_COLUMNS, "sub_type": STRING, "remote_peer_id": STRING},
    "graft_prune": {**BASE_COLUMNS, "sub_type": STRING, "remote_peer_id": STRING, "topic": STRING},
    "control_rpc": {**RPC_COLUMNS, "ihaves": pa.int32(), "iwants": pa.int32(),
                    "idontwants": pa.int32(), "sent_msgs": pa.int32()},
    "ihave": {**RPC_COLUMNS, "topic": STRING, "msg_ids": LIST, "msgs": pa.int64()},
    "iwant": {**RPC_COLUMNS, "msg_ids": LIST, "msgs": pa.int64()},
    "idontwant": {**RPC_COLUMNS, "msg_ids": LIST, "msgs": pa.int64()},
    "peer_exchange": {**RPC_COLUMNS, "topic": STRING, "px_peers": LIST},
    "sent_msg": {**RPC_COLUMNS, "msg_id": STRING, "topic": STRING},
    "msg_arrival": {**BASE_COLUMNS, "sub_type": STRING, "remote_peer_id": STRING, "topic": STRING,
                    "msg_id": STRING, "local": pa.bool_(), "msg_size": pa.int64(),
                    "seq_no": STRING},
    "join_leave": {**BASE_COLUMNS, "sub_type": STRING, "topic": STRING},
    "connect_disconnect": {**BASE_COLUMNS, "sub_type": STRING, "remote_peer_id": STRING,
                           "remote_peer_maddrs": STRING, "agent_version": STRING,
                           "direction": STRING, "opened": pa.int64(), "limited": pa.bool_()},
    "generic": {**BASE_COLUMNS, "topic": STRING, "payload": STRING},
}  # fmt: skip
"""The columns of each family, as in Hermes' parquet_traces.go."""


def write(folder: Path, family: str, rows: Sequence[dict[str, Any]], **options: Any) -> Path:
    """A file of one family; what is not given is what Go writes for nothing."""
    schema = pa.schema(FAMILIES[family])
    nothing = {STRING: "", LIST: [], pa.bool_(): False}
    filled = [
        {name: nothing.get(kind, 0) for name, kind in FAMILIES[family].items()}
        | {"timestamp": BEGIN // 1_000_000, "type": family, "producer_id": NODE}
        | each
        for each in rows
    ]
    file = folder / f"{family}_1.parquet"
    table = pa.Table.from_pylist(filled, schema=schema)
    pq.write_table(table, file, compression="snappy", **options)
    return file


def read_parquet(path: Path) -> tuple[list[Row], Findings]:
    file = examine(path)
    assert file.format == "hermes-parquet"
    findings = Findings(path.name, file.format)
    rows = [found for block in file.reader(findings)[1].read() for found in block]
    return rows, findings


def at(milliseconds: int, **values: Any) -> dict[str, Any]:
    return {"timestamp": BEGIN // 1_000_000 + milliseconds, **values}


def arrival(milliseconds: int, kind: str, peer: str = A) -> dict[str, Any]:
    return at(milliseconds, sub_type=kind, remote_peer_id=peer, topic=BLOCKS, msg_id=FIRST,
              msg_size=1234)  # fmt: skip


def packet(direction: str, family: str = "", **values: Any) -> dict[str, Any]:
    return at(5, direction=direction, remote_peer_id=B, **values)


CASES: dict[str, tuple[str, list[dict[str, Any]], list[Row], dict[str, int]]] = {
    "peers": (
        "add_remove",
        [at(1, sub_type="add_peer", remote_peer_id=A), at(2, sub_type="remove_peer",
                                                         remote_peer_id=A)],
        [row(0.001, "peer_joined", peer=A), row(0.002, "peer_left", peer=A)],
        {},
    ),
    "mesh": (
        "graft_prune",
        [at(1, sub_type="graft", remote_peer_id=A, topic=BLOCKS),
         at(2, sub_type="prune", remote_peer_id=A, topic=BLOCKS)],
        [row(0.001, "grafted", BLOCKS, peer=A), row(0.002, "pruned", BLOCKS, peer=A)],
        {},
    ),
    "topics": (
        "join_leave",
        [at(1, sub_type="join_topic", topic=BLOCKS), at(2, sub_type="leave_topic", topic=BLOCKS)],
        [row(0.001, "subscribed", BLOCKS), row(0.002, "unsubscribed", BLOCKS)],
        {},
    ),
    "connections": (
        "connect_disconnect",
        [at(1, sub_type="connect_peer", remote_peer_id=A, remote_peer_maddrs=OUT,
            direction="Outbound"),
         at(2, sub_type="disconnect_peer", remote_peer_id=A, remote_peer_maddrs=OUT,
            direction="Outbound")],
        [row(0.001, "connection_opened", peer=A, address=OUT, outbound=True),
         row(0.002, "connection_closed", peer=A, address=OUT)],
        {},
    ),
    "messages": (
        "msg_arrival",
        [arrival(1, "deliver_msg"), arrival(2, "handle_msg"), arrival(3, "duplicated_msg", B),
         arrival(4, "reject_msg", B)],
        [row(0.001, "delivered", BLOCKS, FIRST, A, size=1234),
         row(0.003, "duplicate", BLOCKS, FIRST, B, size=1234),
         row(0.004, "rejected", BLOCKS, FIRST, B, size=1234)],
        {"handle_msg": 1},
    ),
    "packets": (
        "control_rpc",
        [packet("in", ihaves=2, idontwants=1), packet("out", iwants=1, sent_msgs=3),
         packet("drop", sent_msgs=1)],
        [row(0.005, "packet_received", peer=B, ihave=2, idontwant=1),
         row(0.005, "packet_sent", peer=B, messages=3, iwant=1),
         row(0.005, "dropped", peer=B, count=1, reason="queue_full", what="packet", messages=1)],
        {},
    ),
    "what was asked for": (
        "iwant",
        [packet("out", msg_ids=[FIRST, SECOND], msgs=2), packet("in", msg_ids=[FIRST], msgs=1)],
        [row(0.005, "asked", None, FIRST, B), row(0.005, "asked", None, SECOND, B)],
        {"iwant in": 1},
    ),
    "parts of packets": ("ihave", [packet("in", msg_ids=[FIRST])], [], {"ihave": 1}),
    "more parts": ("idontwant", [packet("in", msg_ids=[FIRST])], [], {"idontwant": 1}),
    "peers exchanged": ("peer_exchange", [packet("in", px_peers=[A])], [], {"peer_exchange": 1}),
    "messages sent": ("sent_msg", [packet("out", msg_id=FIRST)], [], {"sent_msg": 1}),
    "all others": (
        "generic",
        [at(1, type="PUBLISH_MESSAGE", payload='{"MsgID":"AP8A/wD/AP8A/wD/AP8A/wD/AP8=",'
                                               '"Topic":"' + EXITS + '"}'),
         at(2, type="PEERSCORE", payload='{"PeerID":"' + A + '"}'),
         at(3, type="UNDELIVERABLE_MESSAGE", payload=json.dumps(
             {"PeerID": A, "Topic": BLOCKS, "MsgID": FIRST, "Local": False}))],
        [row(0.001, "published", EXITS, SECOND),
         row(0.003, "dropped", BLOCKS, FIRST, A, count=1, reason="subscription_full",
             what="delivery")],
        {"PEERSCORE": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_family_of_parquet_becomes_what_it_should(name: str, tmp_path: Path) -> None:
    family, given_rows, expected, left_out = CASES[name]
    rows, findings = read_parquet(write(tmp_path, family, given_rows))
    assert rows == expected
    assert (findings.left_out, findings.problems) == (left_out, [])
    assert findings.events == len(given_rows)


def test_parquet_of_somebody_else_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"timestamp": [1], "type": ["join_leave"]}), file)
    with pytest.raises(TraceImportError, match=r"odd.parquet: .*not of Hermes.*producer_id"):
        examine(file)


def test_parquet_that_is_cut_short_is_refused_by_name(tmp_path: Path) -> None:
    file = write(tmp_path, "join_leave", [at(1, sub_type="join_topic", topic="a")])
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(TraceImportError, match=r"join_leave_1.parquet: .*cut short"):
        examine(file)


def test_a_row_group_that_is_damaged_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    topics = [f"topic {number:05d}" for number in range(300)]
    given_rows = [at(n, sub_type="join_topic", topic=topic) for n, topic in enumerate(topics)]
    file = write(tmp_path, "join_leave", given_rows, row_group_size=100, use_dictionary=False)
    content = bytearray(file.read_bytes())
    place = pq.ParquetFile(file).metadata.row_group(1).column(4)
    begin, size = place.data_page_offset, place.total_compressed_size
    content[begin : begin + size] = bytes(size)
    file.write_bytes(content)
    rows, findings = read_parquet(file)
    assert [found[3] for found in rows] == topics[:100] + topics[200:]
    (problem,) = findings.problems
    assert problem.what.startswith("row group 1 is damaged")
    assert problem.bytes > 0


def test_rows_of_parquet_that_are_no_events_are_left_out(tmp_path: Path) -> None:
    good = at(1, sub_type="join_topic", topic="a")
    rows, findings = read_parquet(
        write(tmp_path, "join_leave", [good, {**good, "timestamp": -1}, {**good, "producer_id": ""},
                                       {**good, "timestamp": 1 << 62}, good])
    )  # fmt: skip
    assert (len(rows), findings.events, findings.bad_events) == (2, 2, 3)
    assert "row 2" in findings.problems[0].what
