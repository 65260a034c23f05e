"""gossipsub with all its features: measured, shown and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.gossip.crowd import Crowd
from bench.gossip.memory import Churn, Town
from bench.gossip.messages import PLAIN, SCORED, VARIANTS, Listener
from bench.gossip.tables import gossip_goals, gossip_tables

ROOT = Path(__file__).parents[2]


def cost(name: str, best: float, median: float | None = None) -> dict[str, Any]:
    return {"name": name, "us": {"best": best, "median": median or best}, "delivered": 100}


def part(**changes: Any) -> dict[str, Any]:
    heartbeat = {
        "name": "quiet", "peers": 1000, "topics": 100, "messages": 0, "packets": 0,
        "ms": {"best": 2.0, "median": 2.5},
    }  # fmt: skip
    hour = {
        "peers": 100, "topics": 10, "messages_per_second": 2, "minutes": 60, "settling": 10,
        "moved": 600, "bytes": [1024 * 1024] * 60, "early_bytes": 1024 * 1024,
        "late_bytes": 1024 * 1024, "sizes": {"peers": 100},
    }  # fmt: skip
    figures: dict[str, Any] = {
        "heartbeats": [heartbeat],
        "messages": [cost(name, 20.0) for name in VARIANTS],
        "message_size": 1024,
        "batch": 16,
        "memory": [{"what": "a peer", "count": 1000, "bytes": 2000.0}],
        "hour": hour,
    }
    return figures | changes


@pytest.mark.timeout(300)
def test_a_quick_run_delivers_everything_and_writes_its_tables(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "gossip", "--quick", "--json", "--output"]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["gossip"]
    quiet, some, everyone = measured["heartbeats"]
    assert quiet["packets"] == 0 < some["packets"] < everyone["packets"] <= 40
    assert [row["name"] for row in measured["messages"]] == list(VARIANTS)
    assert {row["delivered"] for row in measured["messages"]} == {3 * 4 * 16}
    assert all(row["bytes"] > 0 for row in measured["memory"])
    assert len(measured["hour"]["bytes"]) == 6
    assert measured["hour"]["moved"] == 6
    page = (tmp_path / "latest.md").read_text()
    assert "A heartbeat with 40 peers and 10 topics" in page and "Goals: gossip" in page


def test_the_price_of_the_score_is_held_against_the_same_node_without_it() -> None:
    costs = [cost(name, 20.0) for name in VARIANTS if name != SCORED]
    goals = gossip_goals(part(messages=[*costs, cost(SCORED, 21.0, median=23.0)]))
    (goal,) = [goal for goal in goals if goal.subject == f"a message, {SCORED}"]
    assert goal.limit.words == f"1.1 x {PLAIN}"
    assert goal.verdict == "reached by the best only, 4.5% below"


def test_a_heartbeat_and_an_hour_have_their_limits() -> None:
    whole = part()
    whole["heartbeats"][0]["ms"]["best"] = 11.0
    whole["hour"]["late_bytes"] = 1024 * 1024 * 1.1
    heartbeat, *_, flat = gossip_goals(whole)
    assert heartbeat.verdict == "reached by the median only, 10.0% above"
    assert flat.verdict == "not reached, 4.8% above"


def test_an_hour_is_shown_every_ten_minutes() -> None:
    *_, hour = gossip_tables(part())
    assert [line[0] for line in hour.lines] == [f"minute {at}" for at in range(10, 70, 10)]


def test_the_crowd_listens_and_has_meshes() -> None:
    crowd = Crowd(peers=30, topics=4, topics_of_each=2)
    sizes = crowd.sizes()
    assert (sizes["peers"], sizes["topics"], sizes["peer_topics"]) == (30, 4, 60)
    assert all(crowd.pubsub.mesh(topic) for topic in crowd.topics)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_message_of_a_variant_is_delivered_once_and_its_copy_is_not(name: str) -> None:
    listener = Listener(VARIANTS[name]())
    for _ in range(3):
        listener.take(list(listener.packets()))
    assert listener.delivered == 3 * 16


def test_in_town_there_are_always_as_many_peers_and_half_of_who_comes_is_new() -> None:
    town = Town(Churn(peers=20, topics=3, topics_of_each=2))
    before = set(town.peers)
    for _ in range(5 * 60):
        town.second()
    assert town.moved == 10
    assert town.sizes()["peers"] == len(set(town.peers)) == 20
    assert len([peer for peer in town.peers if "newcomer" in peer]) <= 5
    assert town.delivered == 2 * 5 * 60
    assert set(town.peers) != before
