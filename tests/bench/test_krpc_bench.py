"""The benchmark of an overlay's node: what it counts, and that it notices what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bencode2 import bdecode, bencode

from bench.bep50 import krpc_crowd
from bench.bep50.krpc import PUT_CASES, QUERIES
from bench.bep50.krpc_crowd import Crowd, CrowdError, exchange
from bench.bep50.krpc_programs import Running
from bench.bep50.krpc_tables import krpc_goals, krpc_tables

ROOT = Path(__file__).parents[2]
PATIENCE = 240
"""Seconds for what takes ten on an idle machine."""

TOPIC = b"t" * 20


@pytest.mark.timeout(PATIENCE + 60)
def test_a_quick_run_loses_no_put_and_no_query_and_writes_its_tables(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "krpc", "--quick", "--json"]
    done = subprocess.run(
        [*command, "--output", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["krpc"]
    present = [name for name in ("ours", "native") if name not in part["missing"]]
    assert "ours" in present
    rows = {(row["contestant"], row["case"]): row for row in part["puts"]}
    for name in (*present, "bare"):
        for case in PUT_CASES:
            if name == "bare" and case.forward != "put":
                continue
            row = rows[name, case.name]
            assert row["failed_rounds"] == ""
            (sample,) = row["samples"]
            assert sample["count"] >= 100
            # Every value was verified and delivered, and each neighbour has the newest.
            assert sample["messages"] == 1.0
            assert sample["per_second"] > 0
            if case.forward == "put":
                assert sample["forwarded"] == 1.0
            else:
                assert 0 < sample["forwarded"] <= 1.0
    queries = {(row["contestant"], row["case"]): row for row in part["queries"]}
    for name in (*present, *({"libtorrent", "bittorrent-dht"} - part["missing"].keys())):
        for method in QUERIES:
            # No word on its CPU: the kernel counts that of another process by the tick, and a
            # quick run of the fastest fits between two ticks.
            assert queries[name, method]["failed_rounds"] == ""
            (sample,) = queries[name, method]["samples"]
            assert sample["count"] >= 100
            assert sample["per_second"] > 0
    assert queries["ours", "find_node"]["samples"][0]["nodes"] == 8
    page = (tmp_path / "latest.md").read_text()
    assert "| 100 B, 1 neighbour | ours (PyNaCl) |" in page
    assert "at most 2 x one PyNaCl verify" in page


# ---- the crowd


def sent_by(crowd: Crowd, packet: dict[bytes, Any]) -> None:
    """The crowd's first neighbour gets a packet, from the one who asks."""
    crowd.reach(crowd.neighbours[0].address)
    crowd.socket.send(bencode(packet))


def answer_to(packet: dict[bytes, Any]) -> tuple[Crowd, dict[bytes, Any]]:
    """What a neighbour answers."""
    with Crowd(2) as crowd:
        sent_by(crowd, packet)
        answers: list[bytes] = []
        while not answers:
            crowd.turn(1.0, answers.append)
        answer: dict[bytes, Any] = bdecode(answers[0])
        return crowd, answer


def test_a_neighbour_names_the_others_and_gives_a_token_in_the_same_topic() -> None:
    query = {b"a": {b"id": b"i" * 20}, b"c": TOPIC, b"q": b"get", b"t": b"aa", b"y": b"q"}
    crowd, answer = answer_to(query)
    assert (answer[b"t"], answer[b"y"], answer[b"c"]) == (b"aa", b"r", TOPIC)
    values = answer[b"r"]
    assert values[b"id"] == crowd.neighbours[0].id
    assert values[b"nodes"] == b"".join(each.compact for each in crowd.neighbours)
    assert values[b"token"]
    assert b"seq" not in values


def test_a_neighbour_counts_the_puts_and_remembers_the_newest() -> None:
    put = {b"a": {b"id": b"i" * 20, b"seq": 7}, b"c": TOPIC, b"q": b"put", b"t": b"aa", b"y": b"q"}
    crowd, answer = answer_to(put)
    assert answer[b"r"] == {b"id": crowd.neighbours[0].id}
    assert (crowd.neighbours[0].puts, crowd.neighbours[0].seq) == (1, 7)


def test_an_exchange_ends_when_every_packet_was_answered() -> None:
    with Crowd(1) as crowd:
        crowd.reach(crowd.neighbours[0].address)
        query = crowd.query("ping", {}, TOPIC)
        packets = [query + b"4:%04d1:y1:qe" % number for number in range(100)]
        assert exchange(crowd, packets, window=8) > 0


def test_an_error_of_the_node_ends_the_measurement() -> None:
    with Crowd(1) as crowd:
        crowd.reach(crowd.neighbours[0].address)
        neighbour = crowd.neighbours[0]
        refusal = bencode({b"e": [203, b"bad token"], b"t": b"aa", b"y": b"e"})
        neighbour._answer = lambda raw: refusal  # type: ignore[method-assign]
        with pytest.raises(CrowdError, match=r"203, b'bad token'"):
            exchange(crowd, [crowd.query("ping", {}, TOPIC) + b"4:aaaa1:y1:qe"], window=8)


def test_a_silent_node_ends_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krpc_crowd, "PATIENCE", 0.0)
    with Crowd(1) as crowd:
        crowd.reach(crowd.neighbours[0].address)
        crowd.neighbours[0]._answer = lambda raw: None  # type: ignore[method-assign]
        with pytest.raises(CrowdError, match="nothing was heard of the node"):
            exchange(crowd, [b"?"], window=8)


def test_a_node_that_ends_says_why() -> None:
    with (
        Running([sys.executable, "-c", "import sys; sys.exit('no room')"]) as node,
        Crowd(1) as crowd,
        pytest.raises(CrowdError, match="the node ended: no room"),
    ):
        crowd.wait_until(node.is_ready, "it is not ready")


# ---- tables and goals


def part_without_others() -> dict[str, Any]:
    costs = {"best": 50.0, "median": 55.0}
    measured = {"best": 90.0, "median": 120.0}

    def row(contestant: str, case: str, missing: str = "") -> dict[str, Any]:
        known = {"contestant": contestant, "case": case, "missing": missing, "size": 100}
        if missing:
            return known
        samples = [{"forwarded": 1.0, "us": 20.0, "per_second": 25_000.0}]
        return known | {"us": measured, "per_second": measured, "samples": samples}

    return {
        "rounds": 3,
        "window": 32,
        "signatures": {"100": {"pynacl_verify": costs}},
        "puts": [row("ours", "100 B, 1 neighbour"), row("native", "100 B, 1 neighbour", "none")],
        "queries": [
            row("ours", "ping"),
            row("libtorrent", "ping", "none"),
            row("bittorrent-dht", "ping", "no Node"),
        ],
    }


def test_who_is_missing_is_said_in_the_tables_and_the_goals() -> None:
    part = part_without_others()
    puts, queries = krpc_tables(part)
    assert puts.lines[0][5:8] == ["120", "50.0", "1.80"]
    assert puts.lines[1][2] == "missing: none"
    assert queries.lines[0][-1] == "0.50"  # of a core: the rate is not the node's limit
    assert queries.lines[2][2] == "missing: no Node"
    assert {len(line) for line in queries.lines} == {len(queries.headings)}
    assert {len(line) for line in puts.lines} == {len(puts.headings)}
    verdicts = [goal.verdict for goal in krpc_goals(part)]
    assert verdicts[0] == "reached by the best only, 10.0% below"
    assert verdicts[1].startswith("cannot be said: ")
    assert verdicts[2] == "cannot be said: bittorrent-dht: no Node"
