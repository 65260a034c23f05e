"""What the traces of each family say is what its applications saw."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rumormill.capture.reading.local import LocalLog
from rumormill.core.agent import our_agent
from tests.helpers.traces.families import FAMILIES, MESSAGES, UNICASTS, FamilyTrace, run_family

Row = dict[str, Any]


def rows(folder: Path, kind: str) -> list[Row]:
    log = LocalLog(folder, kind)
    return [row for _, batch in log.read(*log.bounds()) for row in batch.to_pylist()]


def of_kind(events: list[Row], kind: str) -> list[Row]:
    return [row for row in events if row["event"] == kind]


@pytest.fixture(params=FAMILIES)
async def told(request: pytest.FixtureRequest, tmp_path: Path) -> FamilyTrace:
    return await run_family(request.param, tmp_path)


async def test_a_trace_of_each_family_says_what_its_applications_saw(told: FamilyTrace) -> None:
    published: list[Row] = []
    for node, spool in zip(told.nodes, told.spools, strict=True):
        events = rows(spool, "trace")
        assert {row["node"] for row in events} == {node}
        assert {row["network"] for row in events} == {told.network}
        check_opening(events, told)
        check_deliveries(events, rows(spool, "messages"), told.heard.get(node, []))
        check_peers(events, told)
        published += of_kind(events, "published")
    truth = {(each.node, each.message_id) for each in told.published}
    assert {(row["node"], row["message_id"]) for row in published} == truth
    assert len(published) == len(truth)
    check_promise(told)
    check_modes(published, told)


def check_opening(events: list[Row], told: FamilyTrace) -> None:
    assert events[0]["event"] == "network_opened"
    assert len(of_kind(events, "network_opened")) == 1
    assert json.loads(events[0]["fields"]) == {"agent": our_agent(), **told.promises}


def check_deliveries(events: list[Row], messages: list[Row], heard: list[bytes]) -> None:
    """Every message that the application got is delivered once in the trace, and kept once."""
    assert [row["value"] for row in messages] == heard
    delivered = of_kind(events, "delivered")
    assert Counter(row["message_id"] for row in delivered) == (
        Counter(row["message_id"] for row in messages)
    )


def check_peers(events: list[Row], told: FamilyTrace) -> None:
    """A peer is a node, by the name that it has in its own trace; who comes goes at the end."""
    assert {row["peer"] for row in events} <= {None, *told.nodes}
    come, gone = (Counter(row["peer"] for row in of_kind(events, kind))
                  for kind in ("peer_joined", "peer_left"))  # fmt: skip
    assert come == gone and sum(come.values()) > 0
    opened, closed = (len(of_kind(events, kind))
                      for kind in ("connection_opened", "connection_closed"))  # fmt: skip
    assert opened == closed


def check_promise(told: FamilyTrace) -> None:
    """What the network promises is what it kept."""
    everybody = [each for each in told.published if not each.to_one]
    for node, heard in told.heard.items():
        others = {each.data for each in everybody if each.node != node}
        if told.promises["every_message"]:
            assert others <= set(heard)
        elif others:
            assert set(told.newest.values()) == {told.published[-1].data}
    came = Counter(data for heard in told.heard.values() for data in heard)
    assert all(came[each.data] == 1 for each in told.published if each.to_one)
    if not told.promises["every_message"]:
        assert min(map(len, told.heard.values())) < MESSAGES  # somebody has skipped some


def check_modes(published: list[Row], told: FamilyTrace) -> None:
    """What is for one subscriber says so, whatever the network promises of others."""
    to_one = {each.message_id for each in told.published if each.to_one}
    unicast = {
        row["message_id"]
        for row in published
        if json.loads(row["fields"] or "{}").get("mode") == "unicast"
    }
    assert unicast == to_one
    assert len(to_one) == {"bcos": UNICASTS, "ndn-best-route": MESSAGES}.get(told.name, 0)
