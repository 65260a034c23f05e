"""Traces of a real go network: both formats give the same, and agree with the applications.

Everybody has a part of them, in ``tests/vectors/go_traces``; the whole network's are used where
they are.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from rumormill.capture.foreign.detect import TraceFile, examine
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.rows import Row
from tests.helpers.capture.foreign_traces import SHARED, VECTORS

NODES = [f"node{number:02d}" for number in range(19)]
COUNTS = {
    "published": 60, "delivered": 600, "duplicate": 2227, "rejected": 235, "subscribed": 37,
    "peer_joined": 138, "grafted": 244, "packet_received": 4711, "packet_sent": 4573,
    "dropped": 224,
}  # fmt: skip
"""As in the README beside the vectors."""

WHOLE_COUNTS = {
    "published": 720, "delivered": 11297, "duplicate": 38213, "rejected": 2919, "subscribed": 39,
    "unsubscribed": 2, "peer_joined": 146, "peer_left": 13, "grafted": 268, "pruned": 38,
    "packet_received": 64357, "packet_sent": 64214, "dropped": 4694,
}  # fmt: skip
"""As in the README beside the whole network's traces."""

DERIVED = ("peer_subscribed", "peer_unsubscribed", "asked")

needs_all_traces = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the traces of the whole network are not here"
)


def read(file: TraceFile) -> tuple[list[Row], Findings]:
    findings = Findings(str(file.path), file.format)
    rows = [row for block in file.reader(findings)[1].read() for row in block]
    assert (findings.problems, findings.bad_events, findings.left_out) == ([], 0, {})
    assert findings.unknown_fields == 0
    return rows, findings


def read_all(folder: Path, suffix: str) -> list[Row]:
    files = sorted(folder.glob(f"node*.{suffix}.gz"))
    assert files
    return [row for file in files for row in read(examine(file))[0]]


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def check_against_truth(rows: list[Row], folder: Path, peers: dict[str, str]) -> None:
    """Which message came to which node: what the tracer says is what the applications say."""
    delivered = {
        (row[4], row[1], row[5]) for row in rows if row[2] == "delivered" and row[5] is not None
    }
    truth = table(folder, "truth_deliveries")
    assert delivered == {
        (bytes.fromhex(each["message_id"]), peers[each["node"]], peers[each["received_from"]])
        for each in truth
        if each["self"] == "false"
    }
    published = {(row[4], row[1], row[3]) for row in rows if row[2] == "published"}
    assert published == {
        (bytes.fromhex(each["message_id"]), peers[each["node"]], each["topic"])
        for each in table(folder, "truth_publications")
    }
    # A publisher's own message has no peer, also where the publisher is not subscribed.
    own = {row[4] for row in rows if row[2] == "delivered" and row[5] is None}
    assert own == {message_id for message_id, _, _ in published}


# ---- the part that everybody has


@pytest.mark.parametrize("node", NODES)
def test_json_and_protobuf_of_a_real_node_give_the_same_rows(node: str) -> None:
    from_json, counted = read(examine(VECTORS / f"{node}.json.gz"))
    from_protobuf, counted_too = read(examine(VECTORS / f"{node}.pb.gz"))
    assert from_json == from_protobuf
    assert counted.events == counted_too.events > 100


@pytest.mark.parametrize("suffix", ["json", "pb"])
def test_the_part_of_a_real_network_agrees_with_its_applications(suffix: str) -> None:
    rows = read_all(VECTORS, suffix)
    found = Counter(row[2] for row in rows)
    assert {event: count for event, count in found.items() if event not in DERIVED} == COUNTS
    assert found["peer_subscribed"] == 2 * COUNTS["peer_joined"] - 7  # node 16: alpha alone
    peers = json.loads((VECTORS / "peers.json").read_text())
    check_against_truth(rows, VECTORS, peers)
    assert {row[8] for row in rows if row[2] == "rejected"} == {"validation queue full"}
    assert {row[9] for row in rows if row[2] == "delivered"} == {peers["15"]}


# ---- all of them


@needs_all_traces
@pytest.mark.slow
def test_all_traces_of_a_real_network_agree_with_its_applications() -> None:
    rows = read_all(SHARED, "json")
    found = Counter(row[2] for row in rows)
    assert {event: n for event, n in found.items() if event not in DERIVED} == WHOLE_COUNTS
    summary = json.loads((SHARED / "truth_summary.json").read_text())
    peers = {str(node["node"]): node["peer_id"] for node in summary["nodes"]}
    check_against_truth(rows, SHARED, peers)
    # Counts of packets add up: a message that was sent was received, and none is counted twice.
    sent = _counted(rows, "packet_sent")
    received = _counted(rows, "packet_received")
    assert sent["messages"] == received["messages"] == 51709
    assert (sent["subscriptions"], received["subscriptions"]) == (20, 299)
    assert found["peer_subscribed"] + found["peer_unsubscribed"] == 299
    assert found["asked"] == 187


@needs_all_traces
@pytest.mark.slow
def test_all_traces_of_a_real_network_are_the_same_in_protobuf() -> None:
    for file in sorted(SHARED.glob("node*.json.gz")):
        twin = SHARED / file.name.replace(".json.", ".pb.")
        from_json, from_protobuf = read(examine(file))[0], read(examine(twin))[0]
        # Two tracers do not always get the events of two threads in the same order.
        assert sorted(from_json, key=repr) == sorted(from_protobuf, key=repr)


def _counted(rows: list[Row], event: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for row in rows:
        if row[2] == event and row[10] is not None:
            total.update(json.loads(row[10]))
    return total
